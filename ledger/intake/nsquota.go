package intake

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/nsquota"
	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// NamespaceQuota reads a ResourceQuota, as far as it limits pods and what comes with
// them; nil if it does not. What counts is its status: that is what the API server goes
// by; of what was lowered, that is so in a moment.
func NamespaceQuota(object *corev1.ResourceQuota, classes Classes) *nsquota.Quota {
	q := &nsquota.Quota{Namespace: object.Namespace, Name: object.Name, Scopes: scopes(&object.Spec)}
	hard := corev1.ResourceList{}
	maps.Copy(hard, object.Spec.Hard)
	for name, now := range object.Status.Hard {
		if asked, still := hard[name]; !still || now.Cmp(asked) < 0 {
			hard[name] = now
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		row, counts := quotaRow(string(name), classes)
		if !counts {
			continue
		}
		row.Hard, row.Used = countable(row.Resource, hard[name]), nsquota.Unknown
		if used, known := object.Status.Used[name]; known {
			row.Used = countable(row.Resource, used)
		}
		q.Rows = append(q.Rows, row)
	}
	if len(q.Rows) == 0 {
		return nil
	}
	return q
}

func scopes(spec *corev1.ResourceQuotaSpec) []nsquota.Scope {
	var all []nsquota.Scope
	for _, s := range spec.Scopes {
		all = append(all, nsquota.Scope{Name: string(s)})
	}
	if spec.ScopeSelector != nil {
		for _, s := range spec.ScopeSelector.MatchExpressions {
			all = append(all, nsquota.Scope{Name: string(s.ScopeName), Operator: string(s.Operator), Values: s.Values})
		}
	}
	return all
}

// What limits claims: how many of them, and the devices of a class by its name.
const (
	countClaims = "count/resourceclaims.resource.k8s.io"
	perClass    = ".deviceclass.resource.k8s.io/devices"
)

// quotaRow is what a name in a ResourceQuota counts of pods, if anything.
func quotaRow(name string, classes Classes) (nsquota.Row, bool) {
	row := nsquota.Row{Name: name, Resource: name}
	switch name {
	case "pods":
		row.Of = nsquota.Pods
		return row, true
	case "count/pods":
		row.Of = nsquota.Objects
		return row, true
	case countClaims:
		row.Of, row.Drawn = nsquota.Claims, slices.Sorted(maps.Keys(classes.By))
		return row, true
	case "cpu", "requests.cpu":
		row.Resource, row.Needs = "cpu", demand.RequestsCPU
		return row, true
	case "memory", "requests.memory":
		row.Resource, row.Needs = "memory", demand.RequestsMemory
		return row, true
	case "limits.cpu":
		row.Of, row.Resource, row.Needs = nsquota.Limits, "cpu", demand.LimitsCPU
		return row, true
	case "limits.memory":
		row.Of, row.Resource, row.Needs = nsquota.Limits, "memory", demand.LimitsMemory
		return row, true
	case "ephemeral-storage":
		return row, true
	}
	if of, perClass := strings.CutSuffix(name, perClass); perClass {
		row.Of, row.Classes = nsquota.Devices, []string{of}
		row.Drawn = append(classes.drawn(of), resourceapi.ResourceDeviceClassPrefix+of)
		return row, true
	}
	if of, limited := strings.CutPrefix(name, "limits."); limited {
		row.Of, row.Resource = nsquota.Limits, of
		return row, of == "ephemeral-storage"
	}
	of, requested := strings.CutPrefix(name, "requests.")
	row.Resource = of
	if requested && strings.Contains(of, "/") {
		// The API server counts what is written, whatever it is charged as here. Of such a
		// resource, limits are the requests.
		row.Of = nsquota.Limits
		row.Classes, row.Drawn = classes.beside(of)
		return row, true
	}
	huge := strings.HasPrefix(of, corev1.ResourceHugePagesPrefix)
	return row, huge || requested && of == "ephemeral-storage"
}

// Classes is the DeviceClasses, and the one of which nodes give devices for each resource:
// see ExtendedBy.
type Classes struct {
	All map[string]*resourceapi.DeviceClass
	By  map[string]string
}

// extended is the resource that a class names as its own; empty: none.
func (c Classes) extended(class string) string {
	if of := c.All[class]; of != nil && of.Spec.ExtendedResourceName != nil {
		return *of.Spec.ExtendedResourceName
	}
	return ""
}

// drawn is the resource that containers get out of devices of a class, where a node has no
// plugin for it.
func (c Classes) drawn(class string) []string {
	if name := c.extended(class); name != "" && c.By[name] == class {
		return []string{name}
	}
	return nil
}

// beside is what counts as a resource besides what containers ask for by that name: claims
// of the classes that have it, and what is got out of their devices by another name.
func (c Classes) beside(name string) (of, drawn []string) {
	if class, implied := strings.CutPrefix(name, resourceapi.ResourceDeviceClassPrefix); implied {
		if c.extended(class) == "" {
			return nil, nil
		}
		return []string{class}, c.drawn(class)
	}
	for _, class := range slices.Sorted(maps.Keys(c.All)) {
		if c.extended(class) == name {
			of, drawn = append(of, class), append(drawn, resourceapi.ResourceDeviceClassPrefix+class)
		}
	}
	return of, drawn
}

func countable(name string, q resource.Quantity) int64 {
	amount, err := policies.Amount(name, q)
	if err != nil {
		amount = limitOf(q)
	}
	return min(amount, amounts.Limit)
}
