package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
)

// planner is the working state of one plan. Room only ever gets less while it
// works, so what did not fit once need not be tried again.
type planner struct {
	Input
	tree     *quota.Tree
	machines *machines
	lines    map[string]*line
	order    []*line // by name
	classes  map[classKey]*class
	accepts  map[[2]string]bool
	ordered  bool    // some verdict has an order of its own
	next     *answer // what Jobs are told that the plan did not get to
	res      Result
}

// Plan decides who may start now, who has to be taken back and why the others
// wait. It reads nothing but its input.
func Plan(in Input) Result {
	p := &planner{
		Input: in, lines: map[string]*line{},
		classes: map[classKey]*class{}, accepts: map[[2]string]bool{},
	}
	p.takeBack()
	p.machines = newMachines(in.Snapshot, in.Catalog)
	p.openLines()
	p.tree = p.quotas()
	p.rounds()
	p.report()
	p.res.Queues = p.states()
	survey := p.Survey && p.Catalog != nil
	if survey {
		p.survey()
	}
	if len(p.res.Asks) > 0 || survey {
		p.res.AskCapacity = p.capacity()
	}
	return p.res
}

// rounds takes at most one Job from each line in a round, the heads in the
// order of their rank, until every line is through. A line that is strict about
// order stops at a Job that does not fit.
func (p *planner) rounds() {
	heads := make([]*item, 0, len(p.order))
	for {
		heads = heads[:0]
		for _, l := range p.order {
			if l.next < len(l.items) {
				heads = append(heads, l.items[l.next])
			}
		}
		if len(heads) == 0 {
			return
		}
		slices.SortFunc(heads, p.compare)
		for _, it := range heads {
			if p.Limit > 0 && len(p.res.Admit)+len(p.res.Asks) >= p.Limit {
				return
			}
			it.line.next++
			p.consider(it)
		}
	}
}

// consider admits a Job if it may start, or leaves it with what its class lacks.
func (p *planner) consider(it *item) {
	if it.line.stopped != nil {
		return
	}
	o := p.feasible(it.class)
	if o == nil {
		if it.line.strict && p.blocks(it.class) {
			it.line.stopped = it
		}
		return
	}
	uid := it.job.UID
	if p.Busy[uid] {
		// Nothing can be written to it right now; its room is kept, so that
		// nobody overtakes it for that.
		it.found = append(it.found, reason.NextRound())
		p.use(it, o)
		return
	}
	answer, answered := p.Holds[uid]
	switch {
	case answered && answer.Reason != nil:
		it.found = append(it.found, *answer.Reason)
		p.wake(answer.Reason.Until)
		return
	case p.AskHold && !answered:
		p.ask(it)
		p.use(it, o)
		return
	}
	p.use(it, o)
	p.admit(it, o)
}

// blocks: a strict line stops only at a Job that waits for share or machines,
// not at one that can never start.
func (p *planner) blocks(c *class) bool {
	main, _ := reason.Main(p.lacks(c))
	switch reason.Of(main.Code).Group {
	case reason.GroupShare, reason.GroupMachines:
		return true
	}
	return false
}

// use takes quota and room for a Job that starts, or may.
func (p *planner) use(it *item, o *option) {
	for _, c := range o.cells {
		p.tree.Add(c.key, c.amount)
	}
	for _, s := range o.sets {
		p.machines.promise(s.shape, s.count, o.verified)
	}
	it.state, it.taken = kept, o.cells
	it.line.started = append(it.line.started, it)
}

// wake notes a moment at which the plan changes by itself.
func (p *planner) wake(at int64) {
	if at > p.Now && (p.res.WakeAt == 0 || at < p.res.WakeAt) {
		p.res.WakeAt = at
	}
}
