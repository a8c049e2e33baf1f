package report

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// arrivalKey is a Job's place by arrival, for sorting.
type arrivalKey struct{ effective, stamp int64 }

// Jobs makes the rows of the Jobs, by queue and arrival. The queues tell who is
// at the head; they may be missing.
func Jobs(list *batchv1.JobList, queues map[string]*v1alpha1.Queue) JobList {
	rows := JobList{Kind: Kind{APIVersion, "JobList"}, Items: make([]Job, 0, len(list.Items))}
	for i := range list.Items {
		job := &list.Items[i]
		rows.Items = append(rows.Items, NewJob(job, queues[job.Labels[policies.LabelQueue]]))
	}
	slices.SortFunc(rows.Items, func(a, b Job) int {
		return cmp.Or(
			cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.key.effective, b.key.effective),
			cmp.Compare(a.key.stamp, b.key.stamp),
			cmp.Compare(a.UID, b.UID),
		)
	})
	return rows
}

// NewJob makes the row of one Job; queue may be nil.
func NewJob(job *batchv1.Job, queue *v1alpha1.Queue) Job {
	row, _ := newJob(job, queue)
	return row
}

func newJob(job *batchv1.Job, queue *v1alpha1.Queue) (Job, *demand.Job) {
	d := intake.Job(job, blind())
	row := Job{
		Kind:      Kind{APIVersion, "Job"},
		Namespace: job.Namespace,
		Name:      job.Name,
		UID:       string(job.UID),
		Queue:     queueOf(job, d),
		State:     state(job, d),
		Reserved:  resource.List{},
		Arrival:   time.Unix(0, d.Arrival.Effective).UTC(),
		Created:   job.CreationTimestamp.UTC(),
		key:       arrivalKey{d.Arrival.Effective, d.Arrival.Stamp},
	}
	row.Since = since(job, d, row)
	if holds(row.State) {
		row.Reserved = charged(d.Reservation)
	}
	if row.Waits() {
		code, sentence := reason.SplitLine(job.Annotations[policies.AnnotationMessage])
		row.Code, row.Message = string(code), sentence
		row.Position = position(row, queue)
	}
	return row, d
}

// queueOf an admitted Job is the one that it was admitted to; else the label's,
// which is empty or "auto" where the policy fills it in.
func queueOf(job *batchv1.Job, d *demand.Job) string {
	if d.Reservation != nil {
		return d.Reservation.Queue
	}
	return job.Labels[policies.LabelQueue]
}

// blind is what the plugin knows of the cluster beside the Job: nothing. So the
// defaults of LimitRanges and the overhead of a RuntimeClass are missing from
// what a waiting Job asks; an admitted one has the exact numbers on it.
func blind() intake.Env {
	return intake.Env{
		RuntimeClass:  func(string) *nodev1.RuntimeClass { return &nodev1.RuntimeClass{} },
		PriorityClass: func(string) *schedulingv1.PriorityClass { return &schedulingv1.PriorityClass{} },
	}
}

// Waits tells whether the Job is in line, or kept out of it.
func (j Job) Waits() bool {
	return j.State == StateWaiting || j.State == StateHeld || j.State == StateRejected
}

func holds(state string) bool { return state == StateAdmitted || state == StateDeleting }

func state(job *batchv1.Job, d *demand.Job) string {
	switch {
	case !intake.Managed(job, policies.Namespace{Name: job.Namespace}, intake.Scope{}):
		return StateUnmanaged
	case condition(job, batchv1.JobComplete) != nil:
		return StateComplete
	case condition(job, batchv1.JobFailed) != nil:
		return StateFailed
	case d.Deleting:
		return StateDeleting
	case d.Admitted():
		return StateAdmitted
	case !d.Suspended && d.Bypass:
		return StateBypassed
	case !d.Suspended:
		return StateUncharged
	case d.HeldByOwner, d.State == policies.StateHeld:
		return StateHeld
	case d.State == policies.StateRejected:
		return StateRejected
	}
	return StateWaiting
}

// since when the Job is in its state. A waiting one waits since it arrived.
func since(job *batchv1.Job, d *demand.Job, row Job) time.Time {
	switch row.State {
	case StateWaiting, StateHeld, StateRejected:
		return row.Arrival
	case StateAdmitted:
		return time.Unix(0, d.Reservation.Time).UTC()
	case StateComplete:
		return condition(job, batchv1.JobComplete).LastTransitionTime.UTC()
	case StateFailed:
		return condition(job, batchv1.JobFailed).LastTransitionTime.UTC()
	case StateDeleting:
		return job.DeletionTimestamp.UTC()
	}
	if job.Status.StartTime != nil {
		return job.Status.StartTime.UTC()
	}
	return row.Created
}

func condition(job *batchv1.Job, want batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range job.Status.Conditions {
		if c.Type == want && c.Status == corev1.ConditionTrue {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// charged is what the reservation takes of the queue, all pods together.
func charged(r *demand.Reservation) resource.List {
	total := resource.List{}
	if r == nil {
		return total
	}
	for _, set := range r.PodSets {
		for name, amount := range set.Requests {
			if _, ok := set.Flavors[name]; ok {
				total[name] = resource.Add(total[name], resource.Mul(amount, set.Count))
			}
		}
	}
	return total
}

// position in the queue, 0 if nothing that may be read tells it: only the head
// is published.
func position(row Job, queue *v1alpha1.Queue) int64 {
	if queue == nil || queue.Status.Head == nil {
		return 0
	}
	if head := queue.Status.Head; head.Namespace == row.Namespace && head.Name == row.Name {
		return 1
	}
	return 0
}
