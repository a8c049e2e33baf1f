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

// Evidence is what was read about one Job. All but the Job may be missing.
type Evidence struct {
	Job        *batchv1.Job
	Queue      *v1alpha1.Queue
	Events     []corev1.Event
	Pods       []corev1.Pod  // of the Job; of a waiting one, those of its queue and namespace
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
	if row.State == StateUnmanaged {
		x.Suspended = d.Suspended && condition(e.Job, batchv1.JobComplete) == nil && condition(e.Job, batchv1.JobFailed) == nil
		x.Misspelt = misspelt(e.Job)
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
	x.Remains = remains(e, x.Now)
	x.HeldElsewhere = elsewhere(x.Now, x.Holding, x.Remains)
}

// elsewhere is what is used and held by nobody who is named.
func elsewhere(short []QueueUsage, holding []Holder, left []Remains) resource.List {
	rest := resource.List{}
	for _, u := range short {
		rest[u.Resource] = resource.Add(rest[u.Resource], u.Used)
	}
	for _, h := range holding {
		rest.AddTo(h.Reserved, -1)
	}
	for _, r := range left {
		rest.AddTo(r.Held, -1)
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
		if held := ofShort(row.Reserved, short); len(held) > 0 {
			list = append(list, Holder{Namespace: row.Namespace, Name: row.Name, Reserved: held, Since: row.Since,
				Ending: row.State == StateDeleting})
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
