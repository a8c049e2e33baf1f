package apply

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
)

// preferWeight of the planned nodes: the most there is, so that the scheduler
// follows the plan unless the user's own preferences say otherwise.
const preferWeight = 100

// scheduling is the part of the merge patch that sets where the pods may run:
// what the user wrote, then the flavor.
func scheduling(job *batchv1.Job, own demand.Restore, admit effect.Admit) object {
	spec := job.Spec.Template.Spec
	patch := object{"nodeSelector": nodeSelector(spec.NodeSelector, own, admit.NodeSelector)}
	if tolerations := tolerations(own, admit); len(tolerations) > 0 || len(spec.Tolerations) > 0 {
		patch["tolerations"] = tolerations
	}
	if preferred := preferredNodes(own, admit.PreferNodes); len(preferred) > 0 || hasPreferred(spec.Affinity) {
		patch["affinity"] = object{"nodeAffinity": object{
			"preferredDuringSchedulingIgnoredDuringExecution": preferred,
		}}
	}
	return patch
}

// nodeSelector never overwrites a key of the user's, and deletes those of an
// earlier flavor.
func nodeSelector(now map[string]string, own demand.Restore, add map[string]string) object {
	want := maps.Clone(add)
	if want == nil {
		want = map[string]string{}
	}
	maps.Copy(want, own.NodeSelector)
	patch := object{}
	for key, value := range want {
		patch[key] = value
	}
	for key := range now {
		if _, keep := want[key]; !keep {
			patch[key] = nil
		}
	}
	return patch
}

func tolerations(own demand.Restore, admit effect.Admit) []any {
	all := append([]any{}, own.Tolerations...)
	for _, t := range admit.Tolerations {
		all = append(all, t)
	}
	return all
}

// preferredNodes are the user's own preferences, then the planned nodes.
func preferredNodes(own demand.Restore, nodes []string) []any {
	all := append([]any{}, own.PreferredNodes...)
	if len(nodes) == 0 {
		return all
	}
	return append(all, corev1.PreferredSchedulingTerm{
		Weight: preferWeight,
		Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: nodes,
		}}},
	})
}

func hasPreferred(a *corev1.Affinity) bool {
	return a != nil && a.NodeAffinity != nil &&
		len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}
