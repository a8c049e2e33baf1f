package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// lasts tells whether a claim would keep what it takes. One that borrows may displace
// so much of a queue that one of those who had to go can take back what is the queue's
// own: then both would displace each other for ever, and neither would ever end.
func (p *planner) lasts(c *claim, found []target) bool {
	own := c.item.line.node
	for _, t := range found {
		p.tree.remove(t.victim)
	}
	p.tree.addAll(own, c.uses)
	back := slices.ContainsFunc(found, func(t target) bool {
		return t.node != own && p.owes(own, t.victim) && p.reclaims(t.victim, c.item)
	})
	p.tree.removeAll(own, c.uses)
	for _, t := range found {
		p.tree.restore(t.victim)
	}
	return !back
}

// owes tells whether a queue, and each of its cohorts that another is not below, uses
// more than its own of something that a Job of the other asks for.
func (p *planner) owes(n quota.NodeID, to *victim) bool {
	for ; n != quota.None && !p.tree.Below(to.node, n); n = p.tree.Parent(n) {
		if !slices.ContainsFunc(to.uses, func(u use) bool { return !p.tree.Within(n, u.pair, 0) }) {
			return false
		}
	}
	return true
}

// reclaims tells whether a Job that had to go may displace another, as what it starts
// with at least is its queue's own, or that of a cohort which the other is not below.
func (p *planner) reclaims(v *victim, from *item) bool {
	rights := p.Catalog.Queues[p.base.Name(v.node)].Preemption
	if !displaces(rights.ReclaimWithinCohort, v.priority, v.entry.Job(), from.verdict.Priority, from.job) {
		return false
	}
	least, of := v.least()
	rest := slices.Clone(v.uses)
	for i := range rest {
		rest[i].amount = resource.Mul(rest[i].amount/of, least)
	}
	for n := v.node; n != quota.None && !p.tree.Below(from.line.node, n); n = p.tree.Parent(n) {
		if p.ownEnough(n, rest) {
			return true
		}
	}
	return false
}

// least is how many pods of those that it has it starts with, if there is no room for
// more.
func (v *victim) least() (pods, of int64) {
	job, r := v.entry.Job(), v.entry.Reservation()
	if len(r.PodSets) != 1 || len(job.PodSets) != 1 || job.PodSets[0].MinCount <= 0 || r.PodSets[0].Count <= 0 {
		return 1, 1
	}
	return min(job.PodSets[0].MinCount, r.PodSets[0].Count), r.PodSets[0].Count
}

// displaces tells whether a policy lets a Job displace another.
func displaces(which policies.Victims, priority int64, job *demand.Job, victims int64, victim *demand.Job) bool {
	switch which {
	case policies.VictimsAny:
		return true
	case policies.VictimsLowerPriority:
		return priority > victims
	case policies.VictimsLowerOrNewerEqual:
		return priority > victims || priority == victims && demand.CompareArrival(job, victim) < 0
	}
	return false
}
