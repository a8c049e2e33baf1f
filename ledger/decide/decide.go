package decide

import (
	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/reason"
)

// planner is the working state of one plan. Room only ever gets less while it
// works, so what did not fit once need not be tried again.
type planner struct {
	Input
	*Planner
	tree     shares // as it will be when those who are taken back have gone
	now      shares // as it is until then
	machines *machines
	ahead    *machines // as they will be, to be read only; nil: not worked out
	active   []*line   // in which somebody has a turn, by name
	accepts  map[[2]string]bool
	evicted  []*victim       // in this round
	back     map[string]bool // UIDs of those that are taken back for no other Job
	leaving  leaving
	sharers  map[sharer][]reason.Borrower
	bookings []*booking
	memory   *Memory
	spaces   map[string][]book.NamespaceQuota // by namespace, with what this plan took
	took     map[string]bool                  // namespaces of which it took something
	owing    []*book.Entry                    // admitted, with pods to come; found when they are asked for
	told     []*line                          // in which somebody was told something, or might have been
	came     []book.Stranger
	cameAt   int64   // since when those came; they are found when they are asked for
	moved    bool    // a Job was put aside in this round
	next     *answer // what Jobs are told that the plan did not get to
	res      Result

	// Scratch.
	counts  []int64
	sets    []chosen
	flavors []int
}

// wake notes a moment at which the plan changes by itself.
func (p *planner) wake(at int64) {
	if at > p.Now && (p.res.WakeAt == 0 || at < p.res.WakeAt) {
		p.res.WakeAt = at
	}
}

// use takes quota and room for a Job that starts, or may.
func (p *planner) use(it *item, a *assignment) {
	if p.now.Tree != p.tree.Tree {
		p.now.addAll(it.line.node, a.uses)
	}
	p.keep(it, a)
}

// keep takes them for a Job that will start when others have gone.
func (p *planner) keep(it *item, a *assignment) {
	p.tree.addAll(it.line.node, a.uses)
	if !p.QuotaOnly {
		p.machines.promiseAll(a.sets)
		p.ahead = nil
	}
	p.takeQuota(it, a)
	p.crowdBookings(it, a)
	it.line.root.used = true
	it.state, it.taken, it.given = kept, a.uses, a.sets
	it.line.started = append(it.line.started, it)
}

// start lets a Job go that fits, unless it has to be asked about or written to
// first: then its room is kept, so that nobody overtakes it for that.
func (p *planner) start(it *item, a *assignment) {
	if p.mayNot(it, a) {
		return
	}
	if p.now.Tree != p.tree.Tree && !p.now.fits(it.line.node, a.uses) || !p.QuotaOnly && !p.machines.allow(a.sets) {
		it.found = append(it.found, p.comes(it))
		p.keep(it, a)
		return
	}
	p.use(it, a)
	p.admit(it, a)
}

// mayNot tells whether something else than room keeps a Job from going, or from
// having others taken back.
func (p *planner) mayNot(it *item, a *assignment) bool {
	uid := it.job.UID
	if p.Busy[uid] {
		it.found = append(it.found, reason.NextRound())
		p.use(it, a)
		return true
	}
	if r := p.exceeds(it, func(set int) int64 { return a.sets[set].count }); r != nil {
		it.found = append(it.found, *r)
		return true
	}
	answer, answered := p.Holds[uid]
	switch {
	case answered && answer.Reason != nil:
		it.found = append(it.found, *answer.Reason)
		p.wake(answer.Reason.Until)
		return true
	case p.AskHold && !answered:
		p.ask(it)
		p.use(it, a)
		return true
	}
	return false
}
