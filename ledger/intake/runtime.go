package intake

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// maxRuntime is how many seconds its user lets the Job run in all, 0 for as many as
// it likes.
func maxRuntime(job *batchv1.Job) int64 {
	seconds, err := strconv.ParseInt(job.Annotations[policies.AnnotationMaxRuntime], 10, 64)
	if err != nil {
		return 0
	}
	return max(0, seconds)
}

// badMaxRuntime is what is wrong with the annotation, nil if nothing or if it is
// not there.
func badMaxRuntime(job *batchv1.Job) *reason.Reason {
	text, there := job.Annotations[policies.AnnotationMaxRuntime]
	if !there || maxRuntime(job) > 0 {
		return nil
	}
	problem := reason.BadMaxRuntime(policies.AnnotationMaxRuntime, text)
	return &problem
}

// ran is how long the Job's admissions lasted in all, but for the one that it has
// now. One that somebody else ended has left its reservation there, and lasted
// until the Job controller saw that.
func ran(job *batchv1.Job) int64 {
	var before demand.Ran
	if !record(job, policies.AnnotationRan, &before) || before.UID != string(job.UID) {
		before = demand.Ran{}
	}
	total := max(0, before.Nanoseconds)
	var last demand.Reservation
	if suspended(job) && record(job, policies.AnnotationReservation, &last) && last.UID == string(job.UID) && last.Time > 0 {
		total = resource.Add(total, max(0, stopped(job)-last.Time))
	}
	return total
}

// stopped is when the Job controller saw the last suspension, 0 if it did not yet.
func stopped(job *batchv1.Job) int64 {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue {
			return nanoseconds(c.LastTransitionTime)
		}
	}
	return 0
}
