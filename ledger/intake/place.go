package intake

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// place says where a pod of this spec may run. own are the pod's labels and
// namespace, to tell whether an anti-affinity keeps it from its own siblings; volumes
// those of which nobody knows where they tie it to.
func place(spec *corev1.PodSpec, own siblings, volumes []string) demand.Place {
	p := demand.Place{
		NodeSelector: spec.NodeSelector,
		Affinity:     required(spec),
		Tolerations:  tolerations(spec.Tolerations),
		Once:         hostPorts(spec),
		Features:     features(spec),
	}
	unverified := set{}
	podAffinity(spec.Affinity, own, &p, unverified)
	for _, spread := range spec.TopologySpreadConstraints {
		if spread.WhenUnsatisfiable == corev1.DoNotSchedule {
			unverified.add("topologySpreadConstraints")
		}
	}
	for _, name := range volumes {
		unverified.add("volume " + name)
	}
	if len(spec.SchedulingGates) > 0 {
		unverified.add("schedulingGates")
	}
	if spec.SchedulerName != "" && spec.SchedulerName != corev1.DefaultSchedulerName {
		unverified.add("schedulerName " + spec.SchedulerName)
	}
	p.Unverified = unverified.sorted()
	return p
}

// required node affinity; nil if there is none. A pod that names its node gets
// there past the scheduler, and the kubelet still holds it to its affinity.
func required(spec *corev1.PodSpec) []demand.NodeTerm {
	var terms []demand.NodeTerm
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		if selector := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; selector != nil {
			terms = nodeTerms(selector.NodeSelectorTerms)
		}
	}
	if spec.NodeName == "" {
		return terms
	}
	there := demand.NodeRequirement{
		Key: metav1.ObjectNameField, Operator: string(corev1.NodeSelectorOpIn), Values: []string{spec.NodeName},
	}
	if terms == nil {
		terms = []demand.NodeTerm{{}}
	}
	for i := range terms {
		terms[i].Fields = append(terms[i].Fields, there)
	}
	return terms
}

// nodeTerms leaves out terms with nothing in them: they match no node.
func nodeTerms(from []corev1.NodeSelectorTerm) []demand.NodeTerm {
	terms := make([]demand.NodeTerm, 0, len(from))
	for _, t := range from {
		if len(t.MatchExpressions)+len(t.MatchFields) > 0 {
			terms = append(terms, demand.NodeTerm{
				Labels: nodeRequirements(t.MatchExpressions),
				Fields: nodeRequirements(t.MatchFields),
			})
		}
	}
	return terms
}

func nodeRequirements(from []corev1.NodeSelectorRequirement) []demand.NodeRequirement {
	var requirements []demand.NodeRequirement
	for _, r := range from {
		requirements = append(requirements, demand.NodeRequirement{Key: r.Key, Operator: string(r.Operator), Values: r.Values})
	}
	return requirements
}

// tolerations with the empty operator spelled out, each once: "" and Equal are
// the same, and the API server refuses to store duplicates.
func tolerations(from []corev1.Toleration) []policies.Toleration {
	var all []policies.Toleration
	for _, t := range from {
		if t.Operator == "" {
			t.Operator = corev1.TolerationOpEqual
		}
		one := policies.Toleration{
			Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect),
			TolerationSeconds: t.TolerationSeconds,
		}
		if !slices.ContainsFunc(all, func(t policies.Toleration) bool { return sameToleration(t, one) }) {
			all = append(all, one)
		}
	}
	return all
}

func sameToleration(a, b policies.Toleration) bool {
	same := (a.TolerationSeconds == nil) == (b.TolerationSeconds == nil)
	if same && a.TolerationSeconds != nil {
		same = *a.TolerationSeconds == *b.TolerationSeconds
	}
	a.TolerationSeconds, b.TolerationSeconds = nil, nil
	return same && a == b
}

// set collects names, to list them sorted.
type set map[string]struct{}

func (s set) add(name string) { s[name] = struct{}{} }

func (s set) sorted() []string {
	var names []string
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
