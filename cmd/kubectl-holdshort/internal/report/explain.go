package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// Evidence is what was read about one Job. All but the Job may be missing.
type Evidence struct {
	Job        *batchv1.Job
	Queue      *v1alpha1.Queue
	Events     []corev1.Event
	Pods       []corev1.Pod  // of the Job; of a waiting one, those of its queue
	Neighbours []batchv1.Job // labelled Jobs of the same queue
	Everywhere bool          // neighbours and pods are those of all namespaces
	// Others are the Jobs among which those are that made room for this one, or that
	// it made room for, as far as they may be read; OthersEverywhere: of all namespaces.
	Others           []batchv1.Job
	OthersEverywhere bool
	Unread           []string // what could not be read
}

// Explain says why a Job waits, or what it was given.
func Explain(e Evidence) JobExplanation {
	row, d := newJob(e.Job, e.Queue)
	row.Kind = Kind{APIVersion, "JobExplanation"}
	x := JobExplanation{
		Job:    row,
		Asks:   asks(d, row.State),
		Events: events(e.Events),
		Unread: e.Unread,
	}
	if e.Queue != nil {
		x.Revision = e.Queue.Status.Revision
	}
	switch {
	case row.Waits():
		x.wait(e)
		x.nodes(e)
		x.room(d, e)
	case row.State == StateUnmanaged:
		x.Suspended = d.Suspended && condition(e.Job, batchv1.JobComplete) == nil && condition(e.Job, batchv1.JobFailed) == nil
		x.Misspelt = misspelt(e.Job)
	default:
		x.run(e)
	}
	if holds(row.State) && d.Reservation != nil {
		x.Admitted = admission(d.Reservation)
		x.Revision = d.Reservation.Revision
	}
	return x
}

// run fills in what only a Job that was started has.
func (x *JobExplanation) run(e Evidence) {
	if x.State == StateBypassed {
		x.Bypass = e.Job.Annotations[policies.AnnotationBypass]
	}
	if e.Pods != nil {
		x.Pods, x.Failing = countPods(e.Pods), failing(e.Pods)
	}
	if e.Job.Status.Failed > 0 {
		x.FailedPods = &FailedPods{
			Count: int64(e.Job.Status.Failed), Limit: e.Job.Spec.BackoffLimit, Again: x.State != StateComplete && x.State != StateFailed,
		}
	}
}

// wait fills in what only a waiting Job has.
func (x *JobExplanation) wait(e Evidence) {
	x.Advice = advice(x.Code, x.State)
	if text := unwritable(e.Events); x.Code == "" && text != "" {
		x.Advice.Text = text
	}
	if e.Queue == nil {
		return
	}
	x.Pending, x.InLine = e.Queue.Status.Pending, inLine(e.Queue)
	x.QueueHeld, x.QueueDrained = e.Queue.Spec.Hold.Holds(), e.Queue.Spec.Hold == v1alpha1.HoldDrain
	if x.WaitsForShare() {
		x.holding(e, x.short(usage(e.Queue)))
	}
	x.moved(e.Queue.Status.Head)
}

// moved fills in what its reason would say by now, as far as the head of its queue tells:
// what is said of that is written anew as numbers move.
func (x *JobExplanation) moved(head *v1alpha1.QueueHead) {
	if head == nil || head.Reason != x.Code || len(x.Now) > 0 {
		return
	}
	now := ""
	switch {
	case x.Position == 1:
		now = head.Message
	case x.Code == string(reason.WaitingForNamespaceQuota) && head.Namespace == x.Namespace:
		now = reason.UsedNow(x.Message, head.Message)
	}
	if now != x.Message {
		x.Moved = now
	}
}

// short is the rows that the Job waits for: the one that its message is about,
// whose numbers of now stand beside it; else, if the message is in words of
// another version, all that it asks for.
func (x *JobExplanation) short(rows []QueueUsage) []QueueUsage {
	var asked []QueueUsage
	for _, u := range rows {
		row := reason.Quota{
			Queue: x.Queue, Flavor: u.Flavor, Resource: u.Resource, Used: u.Used, Nominal: u.Limit, Asked: u.askedBy(x.Asks), Left: u.Available,
		}
		if row.About(x.Message) {
			x.Now = append(x.Now, u)
			if now := reason.NoQuota(row).Message; beforeAsked(now) != beforeAsked(x.Message) {
				x.Moved = now
			}
		}
		if row.Asked > 0 {
			asked = append(asked, u)
		}
	}
	if len(x.Now) > 0 {
		return x.Now
	}
	return asked
}

// beforeAsked is what a message says of the queue. What is asked comes after it,
// and is known to the ledger better.
func beforeAsked(message string) string {
	used, _, _ := strings.Cut(message, ";")
	return used
}

// asks is what the Job wants now. Once it is over it wants nothing; what it was
// made for is then told by its reservation.
func asks(d *demand.Job, state string) []Ask {
	if d.Reservation != nil && (state == StateAdmitted || state == StateComplete || state == StateFailed) {
		list := make([]Ask, 0, len(d.Reservation.PodSets))
		for _, set := range d.Reservation.PodSets {
			list = append(list, Ask{PodSet: set.Name, Pods: set.Count, Requests: set.Requests, Shared: set.Shared, Unverified: unverified(d, &set)})
		}
		return list
	}
	list := make([]Ask, 0, len(d.PodSets))
	for _, set := range d.PodSets {
		ask := Ask{PodSet: set.Name, Pods: set.Pods(), Requests: set.Requests, Unverified: set.Place.Unverified}
		if set.Together > 0 {
			ask.Requests, _ = set.Each()
			ask.Shared = set.Place.Claimed
		}
		list = append(list, ask)
	}
	return list
}

// unverified is what was left to the scheduler when the Job was admitted; a reservation of
// before that was recorded leaves what can be read off the Job itself.
func unverified(d *demand.Job, reserved *demand.ReservedPodSet) []string {
	for _, set := range d.PodSets {
		if set.Name == reserved.Name && reserved.Unverified == nil {
			return set.Place.Unverified
		}
	}
	return reserved.Unverified
}

// askedBy is what all pods together want of the row.
func (u *QueueUsage) askedBy(asks []Ask) int64 {
	total := int64(0)
	for _, a := range asks {
		total = resource.Add(total, resource.Add(resource.Mul(u.chargedFor(a.Requests), a.Pods), u.chargedFor(a.Shared)))
	}
	return total
}

func admission(r *demand.Reservation) *Admission {
	a := &Admission{Since: time.Unix(0, r.Time).UTC(), Revision: r.Revision, Machines: r.Machines}
	for _, set := range r.PodSets {
		a.Flavors = append(a.Flavors, AdmittedFlavors{
			PodSet: set.Name, Pods: set.Count, Requests: set.Requests, Shared: set.Shared, Flavors: set.Flavors, Domains: set.Domains,
		})
	}
	for node, pods := range r.Plan {
		a.Plan = append(a.Plan, PlannedNode{Node: node, Pods: pods})
	}
	slices.SortFunc(a.Plan, func(a, b PlannedNode) int { return cmp.Compare(a.Node, b.Node) })
	return a
}
