package intake

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/reason"
)

// How much a Job in a queue may carry. The guards in the API server look at each
// of it, and take a time that grows with the square. The chart says the same
// numbers, and refuses more; what gets into a queue all the same waits.
const (
	KeysMax   = 1000 // labels or annotations, of the Job or of its template
	OwnersMax = 100  // owner references
)

// crowded is what the Job has too much of, nil if nothing.
func crowded(job *batchv1.Job) *reason.Reason {
	pod := &job.Spec.Template
	for _, of := range []struct {
		path      string
		has, most int
	}{
		{"metadata.labels", len(job.Labels), KeysMax},
		{"metadata.annotations", len(job.Annotations), KeysMax},
		{"spec.template.metadata.labels", len(pod.Labels), KeysMax},
		{"spec.template.metadata.annotations", len(pod.Annotations), KeysMax},
		{"metadata.ownerReferences", len(job.OwnerReferences), OwnersMax},
	} {
		if of.has > of.most {
			problem := reason.Crowded(of.path, of.has, of.most)
			return &problem
		}
	}
	return nil
}
