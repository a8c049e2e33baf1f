package decide

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// claim is what a Job wants, and of which pairs others would have to go for it.
type claim struct {
	item  *item
	uses  []use
	needs []quota.PairID
	sets  []chosen // that machines must have room for; nil: not looked at
	trial *machines
}

// enough tells whether machines have room, once those have gone who are chosen.
func (c *claim) enough() bool {
	if unsettle(c.sets); c.trial == nil || c.trial.allow(c.sets) {
		return true
	}
	c.item.class.lacksMachines()
	return false
}

// victim is an admitted Job that may have to go.
type victim struct {
	entry    *book.Entry
	node     quota.NodeID
	uses     []use
	priority int64
	admitted int64 // unix nanoseconds
	gone     bool  // is taken back by this plan
}

// target is a victim, and by what right.
type target struct {
	*victim
	right demand.Right
}

// shares is the tree of quotas with whole Jobs put in and taken out.
type shares struct{ *quota.Tree }

func (s shares) remove(v *victim) { s.removeAll(v.node, v.uses) }

func (s shares) restore(v *victim) { s.addAll(v.node, v.uses) }

func (s shares) addAll(n quota.NodeID, uses []use) {
	for _, u := range uses {
		s.Add(n, u.pair, u.amount)
	}
}

func (s shares) removeAll(n quota.NodeID, uses []use) {
	for _, u := range uses {
		s.Remove(n, u.pair, u.amount)
	}
}

// fits tells whether a queue may use so much more of everything.
func (s shares) fits(n quota.NodeID, uses []use) bool {
	for _, u := range uses {
		if !s.Fits(n, u.pair, u.amount) {
			return false
		}
	}
	return true
}

// within tells whether a node is within its own on all these pairs.
func (s shares) within(n quota.NodeID, pairs []quota.PairID) bool {
	for _, p := range pairs {
		if !s.Within(n, p, 0) {
			return false
		}
	}
	return true
}

// targets is whom a claim would displace: as few and as cheap as its rules find;
// none if that would not be enough. The tree is as before afterwards.
func (p *planner) targets(c *claim) []target {
	l := c.item.line
	if !l.displaces {
		return nil
	}
	if lowest, runs := p.lowest(l.root); !runs || !l.above(c.item.verdict.Priority, lowest) {
		return nil
	}
	search := p.classicalTargets
	if p.Catalog.FairSharing.Enabled {
		search = p.fairTargets
	}
	found := search(c)
	if len(found) > 0 && !p.AnybodysRoom && !p.lasts(c, found) {
		return nil
	}
	return found
}

// above tells whether Jobs of one priority might displace any of another.
func (l *line) above(priority, victims int64) bool {
	for _, which := range []policies.Victims{l.queue.Preemption.WithinQueue, l.queue.Preemption.ReclaimWithinCohort} {
		if which == policies.VictimsAny || priority > victims || which == policies.VictimsLowerOrNewerEqual && priority == victims {
			return true
		}
	}
	return false
}

// lowest is the least priority of all who run in a tree of quotas, false if none do.
func (p *planner) lowest(r *root) (int64, bool) {
	if r.lowestOf == p.tally {
		return r.lowest, r.runs
	}
	r.lowestOf, r.runs = p.tally, false
	for _, l := range r.lines {
		for _, v := range p.runningIn(l.node) {
			if !r.runs || v.priority < r.lowest {
				r.lowest, r.runs = v.priority, true
			}
		}
	}
	return r.lowest, r.runs
}

// watchMachines has a claim look at machines, too, if it is about any.
func (p *planner) watchMachines(c *claim) {
	if c.sets == nil || p.QuotaOnly {
		return
	}
	c.trial = p.trial()
	for _, v := range p.evicted {
		c.trial.free(v.entry, 1)
	}
}

// runningIn is the admitted Jobs of a queue.
func (p *planner) runningIn(n quota.NodeID) []*victim {
	if all, known := p.running[n]; known {
		return all
	}
	var all []*victim
	name := p.base.Name(n)
	for _, e := range p.Snapshot.Running(name) {
		if v := p.victimOf(e, n); v != nil {
			all = append(all, v)
		}
	}
	p.running[n] = all
	return all
}

// victimOf is what is to know of an admitted Job; nil if it can't be taken back.
func (p *planner) victimOf(e *book.Entry, n quota.NodeID) *victim {
	outcome, judged := p.Verdicts[e.UID()]
	verdict := outcome.Verdict
	j := e.Job()
	if !judged || j == nil || !j.Admitted() || p.Busy[j.UID] || j.Bypass || j.HeldByOwner {
		return nil
	}
	if verdict.Preemptible != nil && !*verdict.Preemptible {
		return nil
	}
	v := &victim{entry: e, node: n, priority: verdict.Priority, admitted: e.Reservation().Time}
	if until := resource.Add(v.admitted, resource.Mul(second, verdict.MinRuntimeSeconds)); verdict.MinRuntimeSeconds > 0 && p.Now < until {
		p.wakeRoot(n, until)
		return nil
	}
	e.EachCharge(func(k quota.Key, n int64) {
		if at, pair := p.row(k); pair != quota.None && at == v.node {
			v.uses = append(v.uses, use{pair, n})
		}
	})
	slices.SortFunc(v.uses, func(a, b use) int { return int(a.pair - b.pair) })
	return v
}

// goes tells whether a Job is taken back by this plan anyway.
func (p *planner) goes(v *victim) bool { return v.gone || len(p.back) > 0 && p.back[v.entry.UID()] }

// usesAny tells whether taking it back would free anything that is needed.
func (v *victim) usesAny(pairs []quota.PairID) bool {
	return slices.ContainsFunc(v.uses, func(u use) bool { return u.amount > 0 && slices.Contains(pairs, u.pair) })
}

// may tells whether a policy lets a Job displace another.
func may(which policies.Victims, it *item, v *victim) bool {
	return displaces(which, it.verdict.Priority, it.job, v.priority, v.entry.Job())
}

// compareVictims has first who is to go first: other queues' before one's own,
// the less important, then who started last.
func compareVictims(own quota.NodeID) func(a, b *victim) int {
	foreign := func(v *victim) int {
		if v.node == own {
			return 1
		}
		return 0
	}
	return func(a, b *victim) int {
		return cmp.Or(foreign(a)-foreign(b), cmp.Compare(a.priority, b.priority),
			cmp.Compare(b.admitted, a.admitted), cmp.Compare(a.entry.UID(), b.entry.UID()))
	}
}

// fillBack lets those stay that need not go after all, and returns the others.
func (p *planner) fillBack(c *claim, victims []target, enough func() bool) []target {
	for i := len(victims) - 2; i >= 0; i-- {
		p.spare(c, victims[i].victim)
		if !enough() {
			p.drop(c, victims[i].victim)
			continue
		}
		last := len(victims) - 1
		victims[i] = victims[last]
		victims = victims[:last]
	}
	return victims
}

// drop takes a victim out of quotas and machines, spare puts it back.
func (p *planner) drop(c *claim, v *victim) {
	p.tree.remove(v)
	if c.trial != nil {
		c.trial.free(v.entry, 1)
	}
}

func (p *planner) spare(c *claim, v *victim) {
	p.tree.restore(v)
	if c.trial != nil {
		c.trial.free(v.entry, -1)
	}
}

func (p *planner) spareAll(c *claim, victims []target) {
	for _, v := range victims {
		p.spare(c, v.victim)
	}
}
