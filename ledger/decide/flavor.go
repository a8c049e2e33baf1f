package decide

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// nodeNameField is the one field of a node that pods can ask for.
const nodeNameField = "metadata.name"

// agrees tells whether pods may run on the machines that a flavor describes:
// what they select must not contradict its labels, and its taints must be
// tolerated. It says nothing about labels that the flavor does not name: those
// are looked up on the nodes.
func agrees(name string, f policies.Flavor, place demand.Place) *reason.Reason {
	for _, key := range slices.Sorted(maps.Keys(f.NodeLabels)) {
		if want, set := place.NodeSelector[key]; set && want != f.NodeLabels[key] {
			r := reason.OtherLabel(name, key, f.NodeLabels[key], want)
			return &r
		}
	}
	if len(f.NodeLabels) > 0 {
		if place.Affinity != nil {
			if r := termsAgree(name, f, place.Affinity, otherLabel); r != nil {
				return r
			}
		}
		for i := range place.Pins {
			if r := termsAgree(name, f, place.Pins[i].Terms, elsewhere(&place.Pins[i])); r != nil {
				return r
			}
		}
	}
	for _, taint := range f.Taints {
		hard := taint.Effect == "NoSchedule" || taint.Effect == "NoExecute"
		if hard && !demand.Tolerates(place.Tolerations, taint) && !demand.Tolerates(f.Tolerations, taint) {
			r := reason.NotTolerated(name, taint.Key+":"+taint.Effect)
			return &r
		}
	}
	return nil
}

// clashing says that a flavor's label is not what a requirement asks for.
type clashing func(flavor, has string, r demand.NodeRequirement) reason.Reason

func otherLabel(flavor, has string, r demand.NodeRequirement) reason.Reason {
	return reason.OtherLabel(flavor, r.Key, has, r.Wish())
}

func elsewhere(pin *demand.Pin) clashing {
	return func(flavor, has string, r demand.NodeRequirement) reason.Reason {
		return reason.PinnedElsewhere(flavor, r.Key, has, pin.Is)
	}
}

// termsAgree: some term has nothing against the flavor's labels.
func termsAgree(name string, f policies.Flavor, terms []demand.NodeTerm, clashes clashing) *reason.Reason {
	var clash *reason.Reason
	for _, term := range terms {
		r := termAgrees(name, f, term, clashes)
		if r == nil {
			return nil
		}
		if clash == nil {
			clash = r
		}
	}
	if clash == nil { // no terms at all match nothing
		r := reason.OtherLabel(name, "its nodes", "any", "none (empty required affinity)")
		clash = &r
	}
	return clash
}

func termAgrees(name string, f policies.Flavor, term demand.NodeTerm, clashes clashing) *reason.Reason {
	for _, req := range term.Labels {
		value, named := f.NodeLabels[req.Key]
		if named && !fit.Meets(req, value, true) {
			r := clashes(name, value, req)
			return &r
		}
	}
	return nil
}

// namedNode is the one node that every term of the required affinity asks for by
// its name; a Job's nodeName reads like that, too.
func namedNode(place demand.Place) string {
	name := ""
	for _, term := range place.Affinity {
		at := slices.IndexFunc(term.Fields, func(r demand.NodeRequirement) bool {
			return r.Key == nodeNameField && r.Operator == "In" && len(r.Values) == 1
		})
		if at < 0 || name != "" && name != term.Fields[at].Values[0] {
			return ""
		}
		name = term.Fields[at].Values[0]
	}
	return name
}

// injection is what a flavor adds to pods: never a selector key that the user
// set, no toleration that the pods have already.
func injection(f policies.Flavor, place demand.Place) (map[string]string, []policies.Toleration) {
	var selector map[string]string
	for key, value := range f.NodeLabels {
		if _, set := place.NodeSelector[key]; set {
			continue
		}
		if selector == nil {
			selector = map[string]string{}
		}
		selector[key] = value
	}
	var tolerations []policies.Toleration
	for _, t := range f.Tolerations {
		if !slices.ContainsFunc(place.Tolerations, func(own policies.Toleration) bool { return covers(own, t) }) {
			tolerations = append(tolerations, t)
		}
	}
	return selector, tolerations
}

// covers: whatever t tolerates, own does too, and for as long.
func covers(own, t policies.Toleration) bool {
	if own.TolerationSeconds != nil && (t.TolerationSeconds == nil || *own.TolerationSeconds < *t.TolerationSeconds) {
		return false
	}
	if own.Effect != "" && own.Effect != t.Effect {
		return false
	}
	exists := own.Operator == "Exists"
	if own.Key == "" {
		return exists
	}
	return own.Key == t.Key && (exists || (t.Operator != "Exists" && own.Value == t.Value))
}
