package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// entry is the head of a queue in a round, with what it would get.
type entry struct {
	*item
	*assignment
	victims []target
}

// rounds goes on until no queue has a Job left that has not been tried.
func (p *planner) rounds() {
	for {
		p.giveBack()
		entries := p.nominate()
		if len(entries) == 0 {
			return
		}
		p.process(entries)
		p.settle(entries)
		p.endRound()
		if p.OneRound || p.full() {
			return
		}
	}
}

// settle puts those aside that others were before, if the next round would be just
// like this one.
func (p *planner) settle(entries []*entry) {
	if p.OneRound || p.full() {
		return
	}
	for _, e := range entries {
		if e.line.stopped != e.item && !e.skipped || e.skipped && (e.item.tried.pending() || e.from.pending()) {
			return
		}
	}
	for _, e := range entries {
		if e.skipped {
			p.park(e.item)
		}
	}
}

func (p *planner) full() bool {
	return p.Limit > 0 && len(p.res.Admit)+len(p.res.Asks) >= p.Limit
}

// nominate finds for the first Job of every queue what it would get, all against
// the same picture. Queues whose Job has been tried and blocks them come along as
// long as there are others.
func (p *planner) nominate() []*entry {
	var entries []*entry
	moves := false
	for _, l := range p.active {
		if e := p.nominateIn(l); e != nil {
			entries = append(entries, e)
			moves = moves || l.stopped == nil
		}
	}
	if !moves {
		return nil
	}
	return entries
}

// nominateIn finds the first Job of a line that would get something; those before
// it that can't are put aside, and those passed over that their namespace bars.
func (p *planner) nominateIn(l *line) *entry {
	for it := l.head(); it != nil; it = l.head() {
		switch {
		case p.OneRound:
			return p.nominateOne(it)
		case l.stopped != nil && !l.along:
			return nil
		case l.stopped != nil:
			l.along = it.class.lends
			return p.nominateOne(it)
		case p.barred(it):
			continue
		case l.backfills() && !l.booked: // what it books room beside is known when its turn comes
			return p.nominateOne(it)
		case it.tried == nil && p.surely(it.class, it):
			p.park(it)
			continue
		}
		if e := p.nominateOn(it); e != nil {
			return e
		}
		if !p.comesSoon(it) {
			p.park(it)
		}
	}
	return nil
}

// nominateOn looks at one set of flavors after the other, all against the same picture,
// so that a search in vain takes no turn from those behind; nil if all of it was.
func (p *planner) nominateOn(it *item) *entry {
	began := it.tried
	for range it.class.offers() {
		e := p.nominateOne(it)
		if e.would() || e.mode > noFit && it.line.lends() {
			return e
		}
		it.tried = e.assignment.tried
		if !it.tried.pending() {
			break
		}
	}
	it.from = began
	return nil
}

// surely: it is known at a glance that a Job does not fit.
func (p *planner) surely(c *class, it *item) bool {
	if c.fails(it) {
		return true
	}
	if p.might(c) {
		return false
	}
	if c.simple() && c.failed == nil {
		c.shut, c.machines = true, false
	}
	return true
}

func (p *planner) nominateOne(it *item) *entry {
	d := p.desks.desk()
	e := &d.entry
	e.item, e.assignment = it, &d.own
	p.turn(it)
	it.from = it.tried
	if p.crowded(it.line) {
		return e
	}
	p.tryWith(e, 0, it.tried)
	if e.would() || it.class.spare() == 0 {
		return e
	}
	if fewer := p.fewer(e); fewer != nil {
		return fewer
	}
	p.tryWith(e, 0, it.tried)
	return e
}

// fewer finds what a Job would get with fewer pods: as many as would do, taken from
// all sets alike; nil if no number does.
func (p *planner) fewer(e *entry) *entry {
	// As long as flavors are left for all of its pods, those are looked at first.
	from, all := e.item.tried, !p.OneRound && !e.assignment.tried.pending()
	if all {
		from = nil
	}
	best, last := *e, int64(-1)
	at := search(e.class.spare()+1, func(spared int64) bool {
		p.tryWith(e, spared, from)
		for i := 0; all && !e.would() && e.assignment.tried.pending() && i < e.class.offers(); i++ {
			p.tryWith(e, spared, e.assignment.tried)
		}
		if e.would() {
			best, last = *e, spared
		}
		return e.would()
	})
	if last < 0 || last != at {
		return nil
	}
	return &best
}

// tryWith finds what a Job would get with so many pods fewer than all, going on
// where a search for flavors stopped.
func (p *planner) tryWith(e *entry, spared int64, from tried) {
	p.counts = p.counts[:0]
	all := e.class.spare()
	for _, s := range e.class.sets {
		count := s.count
		if spared > 0 {
			count -= mulDiv(s.count-s.least, spared, all)
		}
		p.counts = append(p.counts, count)
	}
	a := p.assign(e.item, p.counts, from)
	if all > 0 && a.mode != noFit && p.exceeds(e.item, func(set int) int64 { return p.counts[set] }) != nil {
		a.mode = noFit // with fewer pods it may be let in
	}
	e.assignment, e.victims = a, nil
	if a.mode != noFit && a.mode != fits && e.line.displaces {
		e.victims = p.targets(&claim{item: e.item, uses: a.uses, needs: a.needs, sets: a.sets})
	}
}

// would: it fits, if only others go.
func (e *entry) would() bool { return e.mode == fits || e.mode != noFit && len(e.victims) > 0 }

// spare is how many pods fewer than all the class could start with.
func (c *class) spare() int64 {
	n := int64(0)
	for _, s := range c.sets {
		n += s.count - s.least
	}
	return n
}

// process goes through the entries in their order; each sees what those before it
// took.
func (p *planner) process(entries []*entry) {
	order := p.inOrder(entries)
	for e := order(); e != nil; e = order() {
		if p.full() {
			return
		}
		p.processOne(e)
	}
}

func (p *planner) processOne(e *entry) {
	it := e.item
	it.skipped = false
	it.tried = e.assignment.tried
	switch {
	case it.line.stopped != nil && it.line.stopped != it:
		return
	case e.mode == noFit:
		p.park(it)
	case e.mode < fits && len(e.victims) == 0:
		if it.line.lends() {
			p.lend(e)
			it.class.lends = true
		}
		p.park(it)
	case slices.ContainsFunc(e.victims, func(v target) bool { return v.gone }), !p.still(e):
		it.skipped = true        // its turn comes again in the next round
		it.class.lacksMachines() // it may have been those that others were before it for
	default:
		if b := p.delays(e); b != nil {
			it.found = append(it.found, reason.WouldDelay(named(b.head, it.job.Namespace), b.at, it.endIf(p.Now) > 0))
			return
		}
		if e.mode == fits {
			p.start(it, e.assignment)
		} else {
			p.displace(e)
		}
	}
}

// still tells whether an entry fits beside what the others of this round took,
// once everybody has gone whom this round takes back, and its own victims.
func (p *planner) still(e *entry) bool {
	gone := slices.Clone(p.evicted)
	for _, v := range e.victims {
		gone = append(gone, v.victim)
	}
	for _, v := range gone {
		p.tree.remove(v)
	}
	ok := p.tree.fits(e.line.node, e.uses)
	for _, v := range gone {
		p.tree.restore(v)
	}
	if !ok || p.QuotaOnly {
		return ok
	}
	if e.mode == fits {
		return p.allows(e.sets)
	}
	then := p.trial()
	for _, v := range gone {
		then.free(v.entry, 1)
	}
	unsettle(e.sets)
	return then.allow(e.sets)
}

// displace takes others back for a Job, and keeps its room until they are gone.
func (p *planner) displace(e *entry) {
	it := e.item
	if p.mayNot(it, e.assignment) || p.waitsForPlacing(e) {
		return
	}
	if p.askProtect(e) {
		p.keep(it, e.assignment)
		return
	}
	room := it.class.room(e.assignment)
	if !p.EarlyRelease {
		p.splitNow()
	}
	for _, v := range e.victims {
		v.gone = true
		p.evicted = append(p.evicted, v.victim)
		p.taken = append(p.taken, v.victim)
		p.res.Suspend = append(p.res.Suspend, effect.Suspend{
			Job: v.entry.Job(), Reason: reason.Displaced(named(it, v.entry.Job().Namespace), string(v.right)), Backoff: p.outlived(v.entry),
			Preempted: &demand.Preempted{UID: v.entry.UID(), By: it.job.UID, Right: v.right, Time: p.Now, Room: room},
		})
	}
	it.tried = nil
	it.found = append(it.found, reason.RoomComes(len(e.victims)))
	p.keep(it, e.assignment)
	if p.memory != nil && !it.line.strict {
		p.memory.first[it.line.name] = it.job.UID
	}
}

// lends: a Job that can displace nobody keeps what it could have of its queue's own,
// since others could not be made to give that back.
func (l *line) lends() bool { return l.queue.Preemption.ReclaimWithinCohort != policies.VictimsAny }

// lent is room of one pair that is kept for one round.
type lent struct {
	node quota.NodeID
	use
}

// lend keeps what a Job that can displace nobody could have of its queue's own,
// for this round.
func (p *planner) lend(e *entry) {
	n, first := e.line.node, len(p.borrowed)
	for _, u := range e.uses {
		left := p.tree.Nominal(n, u.pair) - p.tree.Usage(n, u.pair)
		if most, limited := p.tree.MayBorrow(n, u.pair); e.level > 0 && limited {
			left = resource.Add(left, most)
		} else if e.level > 0 {
			left = u.amount
		}
		// A queue whose quota was lowered may have less than nothing left.
		p.borrowed = append(p.borrowed, lent{n, use{u.pair, min(u.amount, max(0, left))}})
	}
	for _, kept := range p.borrowed[first:] {
		p.tree.Add(n, kept.pair, kept.amount)
	}
}

func (s shares) giveBack(all []lent) {
	for _, kept := range all {
		s.Remove(kept.node, kept.pair, kept.amount)
	}
}

// endRound notes what the next plan is to know, and lets go of those who are taken
// back.
func (p *planner) endRound() {
	p.keepMemory()
	if !p.OneRound {
		p.giveBack()
	}
	for _, v := range p.evicted {
		p.tree.remove(v)
		p.ahead = nil
		if !p.EarlyRelease {
			p.leaving.add(v.entry)
		}
	}
	if !p.OneRound {
		p.again()
	}
	p.evicted = nil
}

// giveBack ends what was kept for a round only.
func (p *planner) giveBack() {
	p.tree.giveBack(p.borrowed)
	p.borrowed = p.borrowed[:0]
}

// mulDiv is a×b/c for 0 ≤ b ≤ c, without a product that could be too big.
func mulDiv(a, b, c int64) int64 { return a/c*b + a%c*b/c }

// search is the first n below limit that does, if all after it do too.
func search(limit int64, does func(int64) bool) int64 {
	low, high := int64(0), limit
	for low < high {
		if at := low + (high-low)/2; does(at) {
			high = at
		} else {
			low = at + 1
		}
	}
	return low
}
