package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
)

// eventsMax is how many of the latest events an explanation carries.
const eventsMax = 5

// Evidence is what was read about one Job. All but the Job may be missing.
type Evidence struct {
	Job        *batchv1.Job
	Queue      *v1alpha1.Queue
	Events     []corev1.Event
	Pods       []corev1.Pod
	Neighbours []batchv1.Job // labelled Jobs of the same queue and namespace
	Unread     []string      // what could not be read
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
	if row.Waits() {
		x.wait(e)
	}
	if holds(row.State) && d.Reservation != nil {
		x.Admitted = admission(d.Reservation)
		x.Revision = d.Reservation.Revision
	}
	if row.State != StateUnmanaged && !row.Waits() && e.Pods != nil {
		x.Pods = countPods(e.Pods)
	}
	return x
}

// wait fills in what only a waiting Job has.
func (x *JobExplanation) wait(e Evidence) {
	x.Advice = advice(x.Code, x.State)
	if e.Queue == nil {
		return
	}
	x.Pending = e.Queue.Status.Pending
	if !aboutShare(x.Code) {
		return
	}
	for _, u := range usage(e.Queue) {
		if asksFor(x.Asks, u.Resource) {
			x.Now = append(x.Now, u)
		}
	}
	x.Holding = holders(e.Neighbours, e.Job, x.Now)
	x.HeldElsewhere = elsewhere(x.Now, x.Holding)
}

// elsewhere is what is used and held by none of the holders.
func elsewhere(short []QueueUsage, holding []Holder) resource.List {
	rest := resource.List{}
	for _, u := range short {
		rest[u.Resource] = resource.Add(rest[u.Resource], u.Used)
	}
	for _, h := range holding {
		rest.AddTo(h.Reserved, -1)
	}
	maps.DeleteFunc(rest, func(_ string, amount int64) bool { return amount <= 0 })
	return rest
}

// asks is what the Job wants now. Once it is over it wants nothing; what it was
// made for is then told by its reservation.
func asks(d *demand.Job, state string) []Ask {
	if d.Reservation != nil && (state == StateAdmitted || state == StateComplete || state == StateFailed) {
		list := make([]Ask, 0, len(d.Reservation.PodSets))
		for _, set := range d.Reservation.PodSets {
			list = append(list, Ask{PodSet: set.Name, Pods: set.Count, Requests: set.Requests})
		}
		return list
	}
	list := make([]Ask, 0, len(d.PodSets))
	for _, set := range d.PodSets {
		list = append(list, Ask{PodSet: set.Name, Pods: set.Count, Requests: set.Requests})
	}
	return list
}

func asksFor(asks []Ask, name string) bool {
	return slices.ContainsFunc(asks, func(a Ask) bool { return a.Requests[name] > 0 })
}

// holders are the admitted neighbours that hold something of what is short,
// the oldest first.
func holders(neighbours []batchv1.Job, self *batchv1.Job, short []QueueUsage) []Holder {
	var list []Holder
	for i := range neighbours {
		row := NewJob(&neighbours[i], nil)
		if row.UID == string(self.UID) || !holds(row.State) {
			continue
		}
		held := resource.List{}
		for _, u := range short {
			if amount := row.Reserved[u.Resource]; amount > 0 {
				held[u.Resource] = amount
			}
		}
		if len(held) > 0 {
			list = append(list, Holder{Namespace: row.Namespace, Name: row.Name, Reserved: held, Since: row.Since})
		}
	}
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func admission(r *demand.Reservation) *Admission {
	a := &Admission{Since: time.Unix(0, r.Time).UTC(), Revision: r.Revision}
	for _, set := range r.PodSets {
		a.Flavors = append(a.Flavors, AdmittedFlavors{
			PodSet: set.Name, Pods: set.Count, Requests: set.Requests, Flavors: set.Flavors,
		})
	}
	for node, pods := range r.Plan {
		a.Plan = append(a.Plan, PlannedNode{Node: node, Pods: pods})
	}
	slices.SortFunc(a.Plan, func(a, b PlannedNode) int { return cmp.Compare(a.Node, b.Node) })
	return a
}

// countPods counts pods by what they do. A terminating one still holds what it
// has, whatever its phase.
func countPods(pods []corev1.Pod) *PodCounts {
	counts := &PodCounts{}
	for i := range pods {
		switch phase := pods[i].Status.Phase; {
		case phase == corev1.PodSucceeded:
			counts.Succeeded++
		case phase == corev1.PodFailed:
			counts.Failed++
		case pods[i].DeletionTimestamp != nil:
			counts.Terminating++
		case phase == corev1.PodRunning:
			counts.Running++
		default:
			counts.Pending++
		}
	}
	return counts
}

// events are the latest, oldest first. Many are dated to the second only; within
// one, the order in which the API server stored them counts.
func events(list []corev1.Event) []Event {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b corev1.Event) int {
		return cmp.Or(
			second(&a).Compare(second(&b)),
			cmp.Compare(len(a.ResourceVersion), len(b.ResourceVersion)), // numbers: the longer is the later
			cmp.Compare(a.ResourceVersion, b.ResourceVersion),
			cmp.Compare(a.Name, b.Name),
		)
	})
	sorted = sorted[max(0, len(sorted)-eventsMax):]
	rows := make([]Event, 0, len(sorted))
	for i := range sorted {
		rows = append(rows, newEvent(&sorted[i]))
	}
	return rows
}

func second(e *corev1.Event) time.Time { return newEvent(e).Time.Truncate(time.Second) }

// newEvent reads an event of either API: the newer one leaves the old fields
// for time and count empty.
func newEvent(e *corev1.Event) Event {
	row := Event{Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(1, int64(e.Count))}
	switch {
	case e.Series != nil:
		row.Time, row.Count = e.Series.LastObservedTime.UTC(), int64(e.Series.Count)
	case !e.LastTimestamp.IsZero():
		row.Time = e.LastTimestamp.UTC()
	case !e.EventTime.IsZero():
		row.Time = e.EventTime.UTC()
	default:
		row.Time = e.CreationTimestamp.UTC()
	}
	return row
}
