package apply

import (
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// object is a JSON object under construction; a nil value deletes the key.
type object = map[string]any

// AdmitPatch is the JSON merge patch that admits a Job: scheduling fields,
// reservation, labels and suspend in one write, with the resourceVersion the
// decision was made on as precondition.
//
// The template is made from what the user wrote and what the policy's mutate
// changes of that, without what an earlier admission injected or another policy
// changed, so admitting twice adds nothing twice.
func AdmitPatch(job *batchv1.Job, admit effect.Admit) ([]byte, error) {
	wanted := intake.WithMutated(intake.AsWritten(job), admit.Job.Mutated)
	own, err := intake.Scheduling(wanted)
	if err != nil {
		return nil, fmt.Errorf("reading the scheduling fields of %s/%s: %w", job.Namespace, job.Name, err)
	}
	reduced := reduce(wanted, admit)
	injected, err := text(demand.Injected{
		UID: string(job.UID), NodeSelector: admit.NodeSelector, Tolerations: admit.Tolerations, PreferNodes: admit.PreferNodes,
		PreferDomains: admit.PreferDomains, Parallelism: reduced,
	})
	if err != nil {
		return nil, err
	}
	mutated, err := mutatedAnnotation(admit.Job.Mutated)
	if err != nil {
		return nil, err
	}
	reservation, err := text(admit.Reservation)
	if err != nil {
		return nil, err
	}
	flavors, err := text(podFlavors(admit.Reservation))
	if err != nil {
		return nil, err
	}
	meta := metadata(job, policies.StateAdmitted, with(texts(job.Annotations, wanted.Annotations), object{
		policies.AnnotationReservation: reservation,
		policies.AnnotationInjected:    injected,
		policies.AnnotationMutated:     mutated,
		policies.AnnotationMessage:     nil,
		policies.AnnotationNodes:       nil,
		policies.AnnotationInQueue:     nil, // the reservation names it
		policies.AnnotationBackoff:     backoffAnnotation(job, admit.Job),
		policies.AnnotationPreempted:   nil,
		policies.AnnotationRan:         ranAnnotation(job, admit.Job.Ran),
		policies.AnnotationArrival:     fmt.Sprint(admit.Job.Arrival.Stamp),
	}))
	meta["labels"] = with(texts(job.Labels, wanted.Labels), object{policies.LabelState: policies.StateAdmitted})
	return json.Marshal(object{
		"metadata": meta,
		"spec": with(durations(&job.Spec, &wanted.Spec), pods(job, wanted, reduced), object{
			"suspend": false,
			// A pod that is going still holds its share, so its successor waits.
			"podReplacementPolicy": batchv1.Failed,
			"template": object{
				"metadata": object{
					"labels": with(texts(job.Spec.Template.Labels, wanted.Spec.Template.Labels),
						object{policies.LabelQueue: admit.Reservation.Queue}),
					"annotations": with(texts(job.Spec.Template.Annotations, wanted.Spec.Template.Annotations),
						object{policies.AnnotationFlavors: flavors}),
				},
				"spec": scheduling(job, own, admit),
			},
		}),
	})
}

// SuspendPatch takes a Job back. The template keeps its flavor: it is immutable
// until the Job controller has seen the suspension, so the next admission
// replaces it. What was cut of its parallelism it gets back, and is its user's to
// change.
func SuspendPatch(job *batchv1.Job, suspend effect.Suspend) ([]byte, error) {
	annotations := object{
		policies.AnnotationReservation: nil,
		policies.AnnotationPreempted:   nil,
		policies.AnnotationMessage:     suspend.Reason.Line(),
		policies.AnnotationNodes:       nil,
		policies.AnnotationRan:         ranAnnotation(job, suspend.Ran),
		policies.AnnotationArrival:     fmt.Sprint(suspend.Job.Arrival.Stamp),
	}
	if suspend.Silent {
		annotations[policies.AnnotationMessage] = nil
	}
	if suspend.Preempted != nil {
		preempted, err := text(suspend.Preempted)
		if err != nil {
			return nil, err
		}
		annotations[policies.AnnotationPreempted] = preempted
	}
	if suspend.Backoff != nil {
		record := *suspend.Backoff
		record.Of = intake.Tried(job)
		backoff, err := text(record)
		if err != nil {
			return nil, err
		}
		annotations[policies.AnnotationBackoff] = backoff
	}
	spec, err := restorePods(job, annotations)
	if err != nil {
		return nil, err
	}
	return json.Marshal(object{
		"metadata": metadata(job, effect.StateOf(suspend.Reason.Code), annotations),
		"spec":     with(spec, object{"suspend": true}),
	})
}

// UnstartPatch is a patch of the status: it removes the time of the last start.
func UnstartPatch(job *batchv1.Job) []byte {
	return fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"status":{"startTime":null}}`, job.UID, job.ResourceVersion)
}

// ExplainPatch writes why a Job waits and in which queue, and its arrival if the
// webhook never stamped it. What went wrong before is forgiven a Job that its owner
// holds.
func ExplainPatch(job *batchv1.Job, explain effect.Explain) ([]byte, error) {
	var elsewhere any
	if queue := explain.Job.Elsewhere(explain.Queue); queue != "" {
		elsewhere = queue
	}
	annotations := object{
		policies.AnnotationMessage: explain.Reason.Line(),
		policies.AnnotationNodes:   nil,
		policies.AnnotationInQueue: elsewhere,
		policies.AnnotationArrival: fmt.Sprint(explain.Job.Arrival.Stamp),
	}
	if explain.Nodes != nil {
		nodes, err := text(explain.Nodes)
		if err != nil {
			return nil, err
		}
		annotations[policies.AnnotationNodes] = nodes
	}
	if _, failed := job.Annotations[policies.AnnotationBackoff]; failed && explain.Reason.Code == reason.HeldByOwner {
		annotations[policies.AnnotationBackoff] = nil
	}
	return json.Marshal(object{"metadata": metadata(job, explain.State, annotations)})
}

// metadata keeps an arrival that is already there: it is stamped once.
func metadata(job *batchv1.Job, state string, annotations object) object {
	if _, stamped := job.Annotations[policies.AnnotationArrival]; stamped {
		delete(annotations, policies.AnnotationArrival)
	}
	return object{
		"uid":             string(job.UID),
		"resourceVersion": job.ResourceVersion,
		"labels":          object{policies.LabelState: state},
		"annotations":     annotations,
	}
}

// backoffAnnotation keeps the count of an earlier taking back, so that the next
// one waits longer, unless it was of something else.
func backoffAnnotation(job *batchv1.Job, as *demand.Job) any {
	if value, ok := job.Annotations[policies.AnnotationBackoff]; ok && as.Backoff.Count > 0 {
		return value
	}
	return nil
}

// ranAnnotation is how long the Job's admissions lasted up to now; nothing where
// that is nothing.
func ranAnnotation(job *batchv1.Job, nanoseconds int64) any {
	if nanoseconds <= 0 {
		return nil
	}
	return fmt.Sprintf(`{"uid":%q,"nanoseconds":%d}`, job.UID, nanoseconds)
}

// podFlavors is what the pods carry: resource → flavor.
func podFlavors(r demand.Reservation) map[string]string {
	if len(r.PodSets) == 0 {
		return map[string]string{}
	}
	return r.PodSets[0].Flavors // a batch/v1 Job has one pod set
}

func text(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
