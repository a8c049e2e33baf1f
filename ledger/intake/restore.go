package intake

import (
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// Scheduling is the template's scheduling fields as the user wrote them: what
// an earlier admission put aside if there is such a record of this very Job,
// else what the template says.
func Scheduling(job *batchv1.Job) (demand.Restore, error) {
	if own, ok := restore(job); ok {
		return own, nil
	}
	spec := &job.Spec.Template.Spec
	own := demand.Restore{UID: string(job.UID), NodeSelector: spec.NodeSelector}
	if err := convert(spec.Tolerations, &own.Tolerations); err != nil {
		return demand.Restore{}, fmt.Errorf("copying spec.template.spec.tolerations: %w", err)
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		preferred := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		if err := convert(preferred, &own.PreferredNodes); err != nil {
			return demand.Restore{}, fmt.Errorf("copying the preferred node affinity: %w", err)
		}
	}
	return own, nil
}

// restore is the record of the user's own fields, if it is of this UID and can
// be read.
func restore(job *batchv1.Job) (demand.Restore, bool) {
	var own demand.Restore
	ok := record(job, policies.AnnotationRestore, &own) && own.UID == string(job.UID)
	return own, ok
}

// ownSpec is the template's pod spec without what an admission injected.
func ownSpec(job *batchv1.Job) corev1.PodSpec {
	spec := job.Spec.Template.Spec
	own, ok := restore(job)
	if !ok {
		return spec
	}
	var tolerations []corev1.Toleration
	if convert(own.Tolerations, &tolerations) != nil {
		return spec
	}
	spec.NodeSelector, spec.Tolerations = own.NodeSelector, tolerations
	return spec
}

// convert goes by JSON between typed and raw values; nothing stays nothing.
func convert[From, To any](from []From, to *[]To) error {
	if len(from) == 0 {
		return nil
	}
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
