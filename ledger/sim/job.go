package sim

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
)

// job is a workload on its way.
type job struct {
	*Workload
	is    *demand.Job // as it is written
	left  []int64     // pods that each set has to complete
	given []int64     // pods that each set may run at once
	ended int64       // pods that completed
	lost  int64       // pods that failed
	pods  []*pod      // that are there
	waits reason.Reason
	gone  bool // deleted; pods may be left
}

func (r *run) change(c *Change) {
	switch {
	case c.Arrive != nil:
		r.arrive(c.Arrive)
	case c.Delete != "":
		r.delete(c.Delete)
	case c.Prioritize != nil:
		r.prioritize(*c.Prioritize)
	case c.Node != nil:
		r.nodes[c.Node.Name] = c.Node
		r.book.SetNode(c.Node)
	case c.NodeGone != "":
		r.loseNode(c.NodeGone)
	case c.Catalog != nil:
		r.Catalog = c.Catalog
		r.book.Follow(c.Catalog)
	}
}

func (r *run) arrive(w *Workload) {
	own := *w
	j := &job{Workload: &own}
	for _, set := range w.PodSets {
		j.left, j.given = append(j.left, set.Count), append(j.given, set.Count)
	}
	r.seq++
	j.is = &demand.Job{
		UID: w.UID, Namespace: w.Namespace, Name: w.Name, Queue: w.Verdict.Queue, Created: r.now, Suspended: true,
		Arrival: demand.Arrival{Effective: r.now, Stamp: r.seq, Stamped: true}, Policy: w.Policy,
	}
	r.jobs[w.UID] = j
	r.judge(j)
	r.write(j, func(*demand.Job) {})
	r.record(Record{Kind: Arrived, UID: w.UID})
}

func (r *run) judge(j *job) {
	r.verdicts[j.UID] = decide.Outcome{Verdict: j.Verdict}
	if r.Rules.Judge != nil {
		r.verdicts[j.UID] = r.Rules.Judge(j.Workload, r.now)
	}
}

func (r *run) prioritize(p Priority) {
	if j := r.jobs[p.UID]; j != nil && !j.gone {
		j.Verdict.Priority = p.Priority
		r.judge(j)
		r.write(j, func(*demand.Job) {})
	}
}

// delete takes a Job away; its pods follow.
func (r *run) delete(uid string) {
	j := r.jobs[uid]
	if j == nil || j.gone {
		return
	}
	r.record(Record{Kind: Deleted, UID: uid})
	r.write(j, func(is *demand.Job) { is.Deleting = true })
	j.gone = true
	delete(r.verdicts, uid)
	delete(r.busy, uid)
	r.book.DeleteJob(uid)
	r.after(r.Delays.React, func() { r.react(j) })
}

// write makes another version of a Job, with what is known of its pods.
func (r *run) write(j *job, change func(*demand.Job)) {
	next := *j.is
	next.PodSets = slices.Clone(j.PodSets)
	for i := range next.PodSets {
		next.PodSets[i].Count = min(j.given[i], j.left[i])
	}
	next.Ended, next.Succeeded, next.Active, next.Terminating = j.ended+j.lost, j.ended, 0, 0
	for _, p := range j.pods {
		if p.is.Deleting {
			next.Terminating++
		} else {
			next.Active++
		}
	}
	change(&next)
	j.is = &next
	if !j.gone {
		r.book.SetJob(j.is)
	}
}

// admit lifts the suspension, unless the Job is another by then.
func (r *run) admit(a effect.Admit) {
	j := r.jobs[a.Job.UID]
	r.book.Assume(a.Job, a.Reservation)
	r.fly(j, a.Job, func() {
		for i, set := range a.Reservation.PodSets {
			j.given[i] = set.Count
		}
		r.write(j, func(is *demand.Job) {
			is.Suspended, is.Started, is.Reservation, is.Preempted = false, true, &a.Reservation, nil
		})
		j.waits = reason.Reason{}
		r.record(Record{Kind: Admitted, UID: j.UID, Given: &a.Reservation})
	})
}

// suspend takes a Job back.
func (r *run) suspend(s effect.Suspend) {
	j := r.jobs[s.Job.UID]
	if s.Preempted != nil {
		r.book.Evict(*s.Preempted)
	} else {
		r.book.Stop(s.Job.UID)
	}
	r.fly(j, s.Job, func() {
		for i, set := range j.PodSets {
			j.given[i] = set.Count
		}
		r.write(j, func(is *demand.Job) {
			is.Suspended, is.Reservation, is.Preempted, is.Ran = true, nil, s.Preempted, s.Ran
			if s.Backoff != nil {
				is.Backoff = *s.Backoff
			}
		})
		rec := Record{Kind: Evicted, UID: j.UID, Code: s.Reason.Code, Reason: s.Reason}
		if s.Preempted != nil {
			rec.By = s.Preempted.By
		}
		r.record(rec)
	})
}

// fly makes a write that holds only for the version that was decided on.
func (r *run) fly(j *job, on *demand.Job, write func()) {
	r.busy[j.UID] = true
	land := func() {
		delete(r.busy, j.UID)
		if j.gone {
			return
		}
		if j.is == on {
			write()
			r.after(r.Delays.React, func() { r.react(j) })
		}
		r.book.Settle(j.UID)
	}
	if r.Delays.Write == 0 {
		land()
		return
	}
	r.after(r.Delays.Write, land)
}

// react is what the Job controller does: it makes pods that are wanted, and
// deletes those that are not.
func (r *run) react(j *job) {
	if j.is.Admitted() {
		for i := range j.is.PodSets {
			for n := j.running(i); n < j.is.PodSets[i].Count; n++ {
				r.makePod(j, i)
			}
		}
		r.write(j, func(*demand.Job) {})
		return
	}
	for _, p := range slices.Clone(j.pods) {
		r.deletePod(p)
	}
	if j.is.Suspended {
		r.write(j, func(is *demand.Job) { is.Started = false })
	}
}

// running is how many pods a set has that nobody deletes.
func (j *job) running(set int) int64 {
	n := int64(0)
	for _, p := range j.pods {
		if p.set == set && !p.is.Deleting {
			n++
		}
	}
	return n
}

// completed counts a pod that ran to its end.
func (r *run) completed(j *job, set int) {
	j.ended++
	j.left[set]--
	over := !slices.ContainsFunc(j.left, func(n int64) bool { return n > 0 })
	r.write(j, func(is *demand.Job) { is.Finished = over })
	if over {
		r.record(Record{Kind: Ended, UID: j.UID})
		return
	}
	r.after(r.Delays.React, func() { r.react(j) })
}

// loseNode takes a node away, with the pods on it.
func (r *run) loseNode(name string) {
	delete(r.nodes, name)
	r.book.DeleteNode(name)
	for _, uid := range sorted(r.jobs) {
		j := r.jobs[uid]
		for _, p := range slices.Clone(j.pods) {
			if p.is.Node == name {
				if j.is.Admitted() {
					j.lost++ // those of one that is suspended are not counted
				}
				r.gone(p)
			}
		}
	}
}

// fits tells whether the scheduler would bind a pod to a node.
func (r *run) fits(p *supply.Pod, n *supply.Node) bool {
	return n.Takes(p, r.held[n.Name])
}
