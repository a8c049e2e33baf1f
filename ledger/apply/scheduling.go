package apply

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
)

// scheduling is the part of the merge patch that sets where the pods may run:
// what the user wrote, then the flavor.
func scheduling(job *batchv1.Job, own intake.Own, admit effect.Admit) object {
	spec := job.Spec.Template.Spec
	patch := object{"nodeSelector": nodeSelector(spec.NodeSelector, own, admit.NodeSelector)}
	if tolerations := tolerations(own, admit); len(tolerations) > 0 || len(spec.Tolerations) > 0 {
		patch["tolerations"] = tolerations
	}
	if preferred := preferredNodes(own, admit); len(preferred) > 0 || hasPreferred(spec.Affinity) {
		patch["affinity"] = object{"nodeAffinity": object{
			"preferredDuringSchedulingIgnoredDuringExecution": preferred,
		}}
	}
	return patch
}

// nodeSelector never overwrites a key of the user's, and deletes those of an
// earlier flavor.
func nodeSelector(now map[string]string, own intake.Own, add map[string]string) object {
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

func tolerations(own intake.Own, admit effect.Admit) []any {
	all := append([]any{}, own.Tolerations...)
	for _, t := range admit.Tolerations {
		all = append(all, t)
	}
	return all
}

// preferredNodes are the user's own preferences, then the planned domains and nodes.
func preferredNodes(own intake.Own, admit effect.Admit) []any {
	all := append([]any{}, own.PreferredNodes...)
	for _, term := range intake.Preferred(admit.PreferNodes, admit.PreferDomains) {
		all = append(all, term)
	}
	return all
}

func hasPreferred(a *corev1.Affinity) bool {
	return a != nil && a.NodeAffinity != nil &&
		len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}
