package apply

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// reduce is how the parallelism has to change for the pods that were reserved, nil
// if there is room for all that the Job asks for.
func reduce(wanted *batchv1.Job, admit effect.Admit) *demand.Change[int32] {
	given, asked := int64(0), int64(0)
	for _, set := range admit.Reservation.PodSets {
		given += set.Count
	}
	for _, set := range admit.Job.PodSets {
		asked += set.Pods()
	}
	if given < 1 || given >= asked || wanted.Spec.Parallelism == nil {
		return nil
	}
	return &demand.Change[int32]{To: int32(given), From: wanted.Spec.Parallelism}
}

// pods is the part of a merge patch that sets the parallelism: what the user
// wrote, or less.
func pods(job, wanted *batchv1.Job, reduced *demand.Change[int32]) object {
	patch, to := object{}, wanted.Spec.Parallelism
	if reduced != nil {
		to = &reduced.To
	}
	number(patch, "parallelism", job.Spec.Parallelism, to)
	return patch
}

// restorePods is the part of a merge patch that gives back what was cut of the
// parallelism. The record of it goes in the same write: else a user who asks for
// just so many pods later would get the old number instead.
func restorePods(job *batchv1.Job, annotations object) (object, error) {
	patch, added := object{}, intake.Injected(job)
	if reduced := intake.Reduced(job); reduced != nil {
		patch["parallelism"] = *reduced.From
	}
	if added.Parallelism == nil {
		return patch, nil
	}
	added.Parallelism = nil
	record, err := text(added)
	annotations[policies.AnnotationInjected] = record
	return patch, err
}
