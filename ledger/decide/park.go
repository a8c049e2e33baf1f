package decide

import "github.com/holdshort/holdshort/ledger/reason"

// park puts a Job aside that does not fit; in a strict queue, everybody behind it
// waits for it. One whose pod sets have flavors left to be tried together comes
// again in the next round.
func (p *planner) park(it *item) {
	p.turn(it)
	if again := it.tried.pending() || !p.OneRound && it.from.pending(); again && it.resumed <= it.class.offers() {
		it.resumed++
		it.skipped = true
		return
	}
	if !it.class.fails(it) {
		it.class.failed = it
	}
	if p.stops(it) {
		return
	}
	it.parked, p.moved = true, true
	if !p.OneRound {
		return
	}
	for _, other := range it.line.items { // who is alike need not be tried in a round of its own
		other.parked = other.parked || other.class == it.class && other.verdict.Priority == it.verdict.Priority
	}
}

// stops tells whether a strict line stops at a Job that does not fit, unless room is
// booked for it.
func (p *planner) stops(it *item) bool {
	l := it.line
	switch {
	case !l.strict || l.booked:
		return false
	case !p.blocks(it):
		it.class.passed = true
		return false
	}
	if l.booked = l.backfills() && p.bookFor(it); l.booked {
		return false
	}
	l.stopped, l.along = it, it.class.lends
	return true
}

// blocks: a strict line stops only at a Job that waits for share or machines,
// not at one that can never start.
func (p *planner) blocks(it *item) bool {
	if p.HopelessBlock {
		return true
	}
	main, _ := reason.Main(p.lacks(it.class, nil))
	switch reason.Of(main.Code).Group {
	case reason.GroupShare, reason.GroupMachines:
		return true
	}
	return false
}
