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
// by; of what was lowered, that is so in a moment. A DeviceClass by name tells what its devices are charged as; nil is none. For
// perDevice, see Env.
func NamespaceQuota(object *corev1.ResourceQuota, class func(name string) *resourceapi.DeviceClass, perDevice map[string]string) *nsquota.Quota {
	q := &nsquota.Quota{Namespace: object.Namespace, Name: object.Name, Scopes: scopes(&object.Spec)}
	hard := corev1.ResourceList{}
	maps.Copy(hard, object.Spec.Hard)
	for name, now := range object.Status.Hard {
		if asked, still := hard[name]; !still || now.Cmp(asked) < 0 {
			hard[name] = now
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		row, counts := quotaRow(string(name), class)
		if !counts {
			continue
		}
		if _, each := perDevice[row.Resource]; each && row.Of == nsquota.Requests {
			// The API server knows nothing of devices: it counts what is written. Limits
			// are not multiplied, and of such a resource they are the requests.
			row.Of = nsquota.Limits
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

// perClass is how the devices of a class are limited by its name.
const perClass = ".deviceclass.resource.k8s.io/devices"

// quotaRow is what a name in a ResourceQuota counts of pods, if anything.
func quotaRow(name string, class func(string) *resourceapi.DeviceClass) (nsquota.Row, bool) {
	row := nsquota.Row{Name: name, Resource: name}
	switch name {
	case "pods":
		row.Of = nsquota.Pods
		return row, true
	case "count/pods":
		row.Of = nsquota.Objects
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
		row.Resource = resourceapi.ResourceDeviceClassPrefix + of
		if c := class(of); c != nil {
			row.Resource = ChargedAs(c)
		}
		return row, true
	}
	if of, limited := strings.CutPrefix(name, "limits."); limited {
		row.Of, row.Resource = nsquota.Limits, of
		return row, of == "ephemeral-storage"
	}
	of, requested := strings.CutPrefix(name, "requests.")
	row.Resource = of
	huge := strings.HasPrefix(of, corev1.ResourceHugePagesPrefix)
	return row, huge || requested && (of == "ephemeral-storage" || strings.Contains(of, "/"))
}

func countable(name string, q resource.Quantity) int64 {
	amount, err := policies.Amount(name, q)
	if err != nil {
		amount = limitOf(q)
	}
	return min(amount, amounts.Limit)
}
