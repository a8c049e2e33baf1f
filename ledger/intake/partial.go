package intake

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// least is how few pods the Job starts with of those that it asks for, 0 if it
// needs them all: also where fewer are left than it would do with.
func least(job *batchv1.Job, count int64) int64 {
	few, fine := leastWritten(job)
	if !fine || few >= count {
		return 0
	}
	return few
}

// badLeast is what is wrong with the annotation, nil if nothing or if it is not
// there.
func badLeast(job *batchv1.Job) *reason.Reason {
	text, there := job.Annotations[policies.AnnotationLeast]
	if _, fine := leastWritten(job); !there || fine {
		return nil
	}
	problem := reason.BadLeast(policies.AnnotationLeast, text, written(job))
	return &problem
}

// leastWritten is the annotation's value where it is one that there can be. A Job
// that asks for no pods has nothing to do with fewer.
func leastWritten(job *batchv1.Job) (int64, bool) {
	few, err := strconv.ParseInt(job.Annotations[policies.AnnotationLeast], 10, 32)
	return few, err == nil && few >= 1 && few <= max(1, written(job))
}

// Reduced is by how much an admission cut the parallelism, nil if it did not or if
// somebody has changed it since: then it is the user's again.
func Reduced(job *batchv1.Job) *demand.Change[int32] {
	if !strings.Contains(job.Annotations[policies.AnnotationInjected], `"parallelism"`) {
		return nil // most Jobs: nothing to read
	}
	c := Injected(job).Parallelism
	if c == nil || c.From == nil || c.To < 1 || *c.From <= c.To {
		return nil
	}
	if now := job.Spec.Parallelism; now == nil || *now != c.To {
		return nil
	}
	return c
}

// ownParallelism is the parallelism that its user wrote.
func ownParallelism(job *batchv1.Job) *int32 {
	if c := Reduced(job); c != nil {
		return c.From
	}
	return job.Spec.Parallelism
}
