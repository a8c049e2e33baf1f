package decide

import (
	"container/heap"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// reopen finds the lines in which somebody has a turn: for whom something has
// changed, or who did not fit and might now.
func (p *planner) reopen() {
	p.compareTrees()
	nodes, machines := p.machinesChanged()
	for _, l := range p.order {
		p.reopenLine(l, nodes, machines)
	}
	p.unkeep()
	for _, l := range p.order {
		if l.root != nil && l.root.moves {
			p.comeAlong(l)
		}
		if l.moved || l.along {
			p.activate(l)
		}
	}
	for _, r := range p.roots {
		r.freed = r.freed[:0]
		r.victims, r.least, r.moves, r.changed, r.unkept = false, nil, false, false, false
	}
}

// compareTrees notes what is used less than at the end of the last plan, and where
// others may be displaced by now.
func (p *planner) compareTrees() {
	if p.last.Tree == nil {
		return
	}
	p.tree.EachChange(p.last.Tree, func(n quota.NodeID, pair quota.PairID, freed bool) {
		r := p.rootOf(n)
		if r == nil {
			return
		}
		r.changed = true
		if freed {
			r.freed.add(pair)
		}
	})
	for _, r := range p.roots {
		if r.wakeAt > 0 && r.wakeAt <= p.Now {
			r.wakeAt, r.victims = 0, true
			for _, l := range r.lines {
				delete(p.running, l.node)
			}
		}
		p.wake(r.wakeAt)
	}
}

// machinesChanged tells whether there are other machines than in the last plan, and
// whether anything has changed about what is free on them.
func (p *planner) machinesChanged() (nodes, free bool) {
	have, now := p.Snapshot.Machines()
	last := &p.last
	nodes, free = have != last.have, have != last.have || now != last.free
	free = free || last.made || !slices.Equal(p.leaving.uids(), last.leaving)
	for shape, pods := range last.promises {
		free = free || p.machines.promised(shape) < pods
	}
	return nodes, free
}

// reopenLine opens the classes of a line that might fit now.
func (p *planner) reopenLine(l *line, nodes, machines bool) {
	if l.root == nil {
		return
	}
	r := l.root
	// What is booked, or could be, hangs on the clock and on everybody who runs.
	anew := l.booked || l.backfills() && l.stopped != nil || l.crowd != p.crowd(l) || l.full
	l.crowd, l.full = p.crowd(l), false
	if anew || nodes || r.changed || r.victims || r.least != nil || len(r.freed) > 0 || machines && l.machines {
		p.reconsiderAll(l, anew, nodes, machines)
	}
	r.moves = r.moves || l.moved
}

func (p *planner) reconsiderAll(l *line, anew, nodes, machines bool) {
	if anew || nodes {
		for _, c := range l.classes {
			c.watch()
		}
	}
	p.openFreed(l)
	l.machines = false
	for _, c := range l.looks() {
		if c.failed != nil {
			p.reconsider(c, anew, nodes, nodes || machines && c.machines || p.concerns(c))
		}
		l.machines = l.machines || c.machines
	}
}

// reconsider opens a class that did not fit, if it might; again: something has changed
// that is of interest to it. Else its reason may be another one.
func (p *planner) reconsider(c *class, anew, nodes, again bool) {
	l := c.line
	switch {
	case anew, again && p.might(c):
		c.reopen(anew)
		l.moved = true
	case again && (!c.shut || nodes):
		c.shut, c.code, l.tells = c.simple(), "", true
	case again, !l.root.changed, c.shut:
	case l.lends(): // who lacked machines alone may lack quota by now, and keep what is its queue's own
		c.reopen(false)
		l.moved = true
	default:
		c.code, l.tells = "", true
	}
}

// concerns tells whether what was freed, or who may be displaced, is of interest to a
// class.
func (p *planner) concerns(c *class) bool {
	l := c.line
	moved := l.root.victims || l.root.changed && p.Catalog.FairSharing.Enabled // shares are of all that is used
	if l.displaces && (moved || l.root.least != nil && c.above(l.root.least.priority)) {
		return true
	}
	return !c.shut && c.touches(l.root.freed) // one that is shut is filed by what it asks for
}

// above tells whether some Job of a class might displace others of a priority.
func (c *class) above(priority int64) bool {
	return c.custom || len(c.items) == 0 || c.line.above(c.items[0].verdict.Priority, priority)
}

// again gives another turn to those who did not fit, where a round made room: it
// may be more than it was made for.
func (p *planner) again() {
	roots := map[*root]bool{}
	for _, v := range p.evicted {
		roots[p.rootOf(v.node)] = true
	}
	if len(roots) == 0 {
		return
	}
	for _, it := range p.dirty {
		if it.parked && roots[it.line.root] {
			it.parked, it.skipped, it.tried, it.resumed = false, false, nil, 0
		}
	}
	for _, l := range p.order {
		if !roots[l.root] {
			continue
		}
		l.moved = l.active == p.tally
		for _, c := range l.classes {
			if c.failed != nil && p.might(c) {
				c.reopen(false)
				l.moved = true
			}
		}
		if l.moved {
			p.activate(l)
		}
	}
	slices.SortFunc(p.active, func(a, b *line) int { return strings.Compare(a.name, b.name) })
}

// activate has a line take part in the plan.
func (p *planner) activate(l *line) {
	if l.active != p.tally {
		l.active = p.tally
		p.active = append(p.active, l)
	}
	l.tells = true
	if !l.moved {
		return
	}
	l.moved, l.along, l.stopped, l.booked = false, false, nil, false
	l.behind, l.behindStranger = nil, nil
	l.open = l.open[:0]
	for _, c := range l.looks() {
		c.next, c.passed = 0, false
		if c.at = c.head(); c.at != nil {
			l.open = append(l.open, c)
		}
	}
	heap.Init(&l.open)
}

// crowd is what a queue with a limit on its Jobs has running.
func (p *planner) crowd(l *line) int64 {
	if l.queue.MaxWorkloads == nil {
		return 0
	}
	return p.Snapshot.Admitted(l.name)
}

// reopen forgets that a class did not fit; anew, all that is known of it.
func (c *class) reopen(anew bool) {
	c.watch()
	c.failed, c.machines, c.lends, c.shut, c.code = nil, false, false, false, ""
	if anew {
		c.shutCode = ""
	}
}

// touches tells whether the class could have any of these.
func (c *class) touches(pairs pairSet) bool {
	if len(pairs) == 0 {
		return false
	}
	for i := range c.sets {
		for _, part := range c.sets[i].parts {
			if slices.ContainsFunc(part.offers, func(o offer) bool { return pairs.hasAny(o.pairs) }) {
				return true
			}
		}
	}
	return false
}

// might tells, at a glance, whether quotas or the right to displace others could
// let a Job of a class start; false is certain.
func (p *planner) might(c *class) bool {
	if c.simple() && c.hint > 0 {
		if s := &c.sets[0]; p.mightGive(c.line, s, &s.parts[0], &s.parts[0].offers[c.hint]) {
			return true
		}
	}
	for i := range c.sets {
		s := &c.sets[i]
		for k := range s.parts {
			if !p.someMight(c.line, s, &s.parts[k]) {
				return false
			}
		}
	}
	return true
}

func (p *planner) someMight(l *line, s *ask, this *part) bool {
	for at := range this.offers {
		if o := &this.offers[at]; o.clash == nil && p.mightGive(l, s, this, o) {
			return true
		}
	}
	return false
}

func (p *planner) mightGive(l *line, s *ask, this *part, o *offer) bool {
	for i, w := range this.wants {
		amount, pair := resource.Mul(w.perPod, s.least), o.pairs[i]
		switch {
		case pair == quota.None:
			if amount > 0 {
				return false
			}
		case p.tree.Fits(l.node, pair, amount):
		case !l.displaces && !l.strict, amount > p.tree.Potential(l.node, pair), !p.mayDisplace(l, pair, amount):
			return false
		}
	}
	return true
}

// pairSet is pairs, each a bit.
type pairSet []uint64

func (s *pairSet) add(p quota.PairID) {
	for len(*s) <= int(p/64) {
		*s = append(*s, 0)
	}
	(*s)[p/64] |= 1 << (p % 64)
}

func (s pairSet) has(p quota.PairID) bool {
	return p >= 0 && int(p/64) < len(s) && s[p/64]&(1<<(p%64)) != 0
}

// all is the pairs of the set.
func (s pairSet) all() iter.Seq[quota.PairID] {
	return func(yield func(quota.PairID) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(quota.PairID(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

func (s pairSet) hasAny(pairs []quota.PairID) bool {
	for _, p := range pairs {
		if s.has(p) {
			return true
		}
	}
	return false
}

// byHead is classes, the one first whose next Job comes first.
type byHead []*class

func (b byHead) Len() int           { return len(b) }
func (b byHead) Less(i, j int) bool { return compare(b[i].at, b[j].at) < 0 }
func (b byHead) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byHead) Push(x any)        { *b = append(*b, x.(*class)) }

func (b *byHead) Pop() any {
	last := len(*b) - 1
	c := (*b)[last]
	*b = (*b)[:last]
	return c
}

// head is the Job of a line whose turn it is, nil if there is none.
func (l *line) head() *item {
	if l.stopped != nil {
		return l.stopped
	}
	if l.first != nil && l.first.waits() {
		return l.first
	}
	for len(l.open) > 0 {
		c := l.open[0]
		it := c.head()
		if it == c.at && it != nil {
			return it
		}
		if c.at = it; it == nil {
			heap.Pop(&l.open)
		} else {
			heap.Fix(&l.open, 0)
		}
	}
	return nil
}

func (it *item) waits() bool { return it.state == waits && !it.parked && len(it.found) == 0 }

// head is the next Job of a class that has a turn, nil if none has.
func (c *class) head() *item {
	for c.next < len(c.items) {
		it := c.items[c.next]
		if it.waits() {
			if c.line.strict && !c.passed || it.tried != nil || !c.fails(it) {
				return it
			}
			if !c.custom {
				c.next = len(c.items) // who comes later does not fit either
				return nil
			}
		}
		c.next++
	}
	return nil
}
