package fit

import (
	"slices"
	"strconv"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const taintUnschedulable = "node.kubernetes.io/unschedulable"

// allows tells whether a pod may run on a node by the scheduler's rules for
// selector, required affinity, volumes, features and taints. Taints that pass is true for don't
// count.
func allows(place demand.Place, node *supply.Node, pass func(policies.Taint) bool) bool {
	if place.Existing && node.Coming {
		return false
	}
	if !hasLabels(node.Labels, place.NodeSelector) || place.Affinity != nil && !anyMatches(place.Affinity, node) {
		return false
	}
	if unmet(place.Pins, node) != nil || lacking(place.Features, node) != "" {
		return false
	}
	for _, taint := range node.Taints {
		if taint.Effect == "PreferNoSchedule" || (pass != nil && pass(taint)) {
			continue
		}
		if !demand.Tolerates(place.Tolerations, taint) {
			return false
		}
	}
	return true
}

// unmet is the first pin that ties a pod to other nodes; nil: none does.
func unmet(pins []demand.Pin, node *supply.Node) *demand.Pin {
	for i := range pins {
		if !anyMatches(pins[i].Terms, node) {
			return &pins[i]
		}
	}
	return nil
}

// lacking is the first feature that a node does not declare; empty: it declares all.
func lacking(features []string, node *supply.Node) string {
	for _, name := range features {
		if !slices.Contains(node.Features, name) {
			return name
		}
	}
	return ""
}

func anyMatches(terms []demand.NodeTerm, node *supply.Node) bool {
	return slices.ContainsFunc(terms, func(t demand.NodeTerm) bool { return termMatches(t, node) })
}

func hasLabels(have, want map[string]string) bool {
	for key, value := range want {
		if got, there := have[key]; !there || got != value {
			return false
		}
	}
	return true
}

// termMatches: all requirements of a term must hold; a term without any
// matches nothing.
func termMatches(term demand.NodeTerm, node *supply.Node) bool {
	if len(term.Labels) == 0 && len(term.Fields) == 0 {
		return false
	}
	for _, r := range term.Labels {
		value, there := node.Labels[r.Key]
		if !Meets(r, value, there) {
			return false
		}
	}
	for _, r := range term.Fields {
		if r.Key != "metadata.name" || !Meets(r, node.Name, true) {
			return false
		}
	}
	return true
}

// Meets tells whether a value, there or not, meets a requirement. What the API
// server would not have let through meets nothing.
func Meets(r demand.NodeRequirement, value string, there bool) bool {
	switch r.Operator {
	case "In":
		return there && slices.Contains(r.Values, value)
	case "NotIn":
		return !there || !slices.Contains(r.Values, value)
	case "Exists":
		return there
	case "DoesNotExist":
		return !there
	case "Gt", "Lt":
		return there && len(r.Values) == 1 && compares(r.Operator, value, r.Values[0])
	}
	return false
}

func compares(operator, value, bound string) bool {
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	b, err := strconv.ParseInt(bound, 10, 64)
	if err != nil {
		return false
	}
	if operator == "Gt" {
		return v > b
	}
	return v < b
}
