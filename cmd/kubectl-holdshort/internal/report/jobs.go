package report

import (
	"cmp"
	"fmt"
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

// The orders that a list of Jobs can have.
const (
	ByPosition = "position"
	ByAge      = "age"
	ByName     = "name"
)

// Orders are all of them.
func Orders() []string { return []string{ByPosition, ByAge, ByName} }

// Jobs makes the rows of the Jobs, by queue and then as they stand in it. The
// queues tell who is at the head; they may be missing.
func Jobs(list []batchv1.Job, queues map[string]*v1alpha1.Queue) JobList {
	rows := JobList{Kind: Kind{APIVersion, "JobList"}, Items: make([]Job, 0, len(list))}
	heads := headsOf(queues)
	for i := range list {
		row := NewJob(&list[i], nil)
		if row.Waits() && heads[[2]string{row.Namespace, row.Name}] {
			row.Position = 1
		}
		row.Start = startOf(row, queues[row.Queue])
		rows.Items = append(rows.Items, row)
	}
	rows.Sort(ByPosition)
	return rows
}

// headsOf is the first Job in line of each queue, by namespace and name.
func headsOf(queues map[string]*v1alpha1.Queue) map[[2]string]bool {
	heads := make(map[[2]string]bool, len(queues))
	for _, q := range queues {
		if head := q.Status.Head; head != nil {
			heads[[2]string{head.Namespace, head.Name}] = true
		}
	}
	return heads
}

// Sort puts the rows into one of the orders.
func (l JobList) Sort(order string) {
	slices.SortFunc(l.Items, func(a, b Job) int {
		last := cmp.Or(
			cmp.Compare(a.key.effective, b.key.effective), cmp.Compare(a.key.stamp, b.key.stamp), cmp.Compare(a.UID, b.UID))
		switch order {
		case ByAge:
			return cmp.Or(a.Created.Compare(b.Created), last)
		case ByName:
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), last)
		}
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.place(), b.place()), last)
	})
}

// place in the list of a queue: what has run, what runs, then the line with its
// head first, then who is not in line. Between two of the line only the arrival
// is known, not what else the policy ranks by.
func (j Job) place() int {
	switch {
	case j.Over():
		return 0
	case !j.Waits():
		return 1
	case j.Position == 1:
		return 2
	case j.State == StateWaiting && (j.Code == "" || reason.Of(reason.Code(j.Code)).Group.InLine()):
		return 3
	case j.State == StateWaiting:
		return 4
	}
	return 5
}

// Over tells whether the Job has ended.
func (j Job) Over() bool { return j.State == StateComplete || j.State == StateFailed }

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
		Queue:     queueOf(d),
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
	if c := intake.Reduced(job); c != nil && row.State == StateAdmitted {
		row.Message = fmt.Sprintf("runs %d of %d pods (min-parallelism %s)", c.To, *c.From, job.Annotations[policies.AnnotationLeast])
	}
	if until := stopsAt(d); until > 0 && row.State == StateAdmitted {
		row.Message = joined(row.Message, fmt.Sprintf("is stopped at %s if it still runs then (max-runtime-seconds)",
			time.Unix(0, until).UTC().Format(time.RFC3339)))
	}
	if row.Waits() {
		code, sentence := reason.SplitLine(job.Annotations[policies.AnnotationMessage])
		row.Code, row.Message = string(code), sentence
		if sentence, until := reason.SplitUntil(sentence); code == reason.HeldByPolicy && !until.IsZero() {
			row.Message, row.Until = sentence, &until
		}
		row.Position, row.Start = position(row, queue), startOf(row, queue)
	}
	if failed := condition(job, batchv1.JobFailed); failed != nil && row.State == StateFailed {
		row.Code, row.Message = failed.Reason, failed.Message
	}
	return row, d
}

// stopsAt is when an admitted Job has run for as long as it may; 0: never.
func stopsAt(d *demand.Job) int64 {
	if d.Reservation == nil {
		return 0
	}
	return d.EndsBy(demand.Shorter(d.Reservation.MaxRuntimeSec, d.MaxRuntimeSec), d.Reservation.Time)
}

func joined(first, then string) string {
	if first == "" {
		return then
	}
	return first + "; " + then
}

// queueOf an admitted Job is the one that it was admitted to; else the one that
// the policy put it in, if that is written on it, and the label's otherwise, which
// may be empty or "auto" until the ledger has seen the Job.
func queueOf(d *demand.Job) string {
	if d.Reservation != nil {
		return d.Reservation.Queue
	}
	return cmp.Or(d.InQueue, d.Queue)
}

// blind is what the plugin knows of the cluster beside the Job: nothing. So the
// defaults of LimitRanges and the overhead of a RuntimeClass are missing from
// what a waiting Job asks; an admitted one has the exact numbers on it. Where volumes are
// is known to the ledger only.
func blind() intake.Env {
	return intake.Env{
		Mounted:       func(*batchv1.Job) intake.Mounted { return intake.Mounted{} },
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
		for name, amount := range set.Total() {
			if _, ok := set.Flavors[name]; ok {
				total[name] = resource.Add(total[name], amount)
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
