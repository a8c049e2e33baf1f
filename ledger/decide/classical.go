package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/policies"
)

// candidates are the victims that the rules allow, in the order in which they go.
type candidates struct {
	list    []candidate
	foreign bool // some are of other queues
	byRight bool // some are owed to the claim, since it takes back what is its own
}

type candidate struct {
	*victim
	right  demand.Right
	within quota.NodeID // the nearest node that it and the claim are below
	// strict: may go only if the claim then needs nothing that is not its own.
	strict bool
}

// classicalTargets looks for victims by priority and by what is whose own: in the
// claim's queue, then up through its cohorts.
func (p *planner) classicalTargets(c *claim) []target {
	all := p.classicalCandidates(c)
	if len(all.list) == 0 {
		return nil
	}
	p.watchMachines(c)
	forbidden := !p.borrowsWithin(c)
	var attempts []bool
	switch {
	case !all.foreign, forbidden && !p.under(c):
		attempts = []bool{true}
	case forbidden && !all.byRight:
		attempts = []bool{false, true}
	default:
		attempts = []bool{true, false}
	}
	for _, borrow := range attempts {
		if victims := p.attempt(c, all.list, borrow); victims != nil {
			return victims
		}
	}
	return nil
}

func (p *planner) borrowsWithin(c *claim) bool {
	policy := c.item.line.queue.Preemption.BorrowWithinCohort.Policy
	return policy != "" && policy != policies.VictimsNever
}

// under tells whether the queue has something of its own left of all that is
// needed.
func (p *planner) under(c *claim) bool {
	n := c.item.line.node
	for _, pair := range c.needs {
		if p.tree.Usage(n, pair) >= p.tree.Nominal(n, pair) {
			return false
		}
	}
	return true
}

// attempt takes victims in order until the claim fits; nil if it never does.
func (p *planner) attempt(c *claim, list []candidate, borrow bool) []target {
	n := c.item.line.node
	enough := func() bool {
		if !borrow {
			for _, u := range c.uses {
				if !p.tree.Within(n, u.pair, u.amount) {
					return false
				}
			}
		}
		return p.tree.fits(n, c.uses) && c.enough()
	}
	var victims []target
	for _, v := range list {
		if borrow && v.strict || !p.stillBeyond(n, v, c.needs) {
			continue
		}
		p.drop(c, v.victim)
		victims = append(victims, target{v.victim, v.right})
		if enough() {
			victims = p.fillBack(c, victims, enough)
			p.spareAll(c, victims)
			return victims
		}
	}
	p.spareAll(c, victims)
	return nil
}

// stillBeyond: its queue and all cohorts below the common one use more than their
// own of something that is needed; those that do not owe nothing.
func (p *planner) stillBeyond(own quota.NodeID, v candidate, needs []quota.PairID) bool {
	for n := v.node; n != own && n != v.within; n = p.tree.Parent(n) {
		if p.tree.within(n, needs) {
			return false
		}
	}
	return true
}

// classicalCandidates collects victims from the claim's queue and, cohort by
// cohort, from the rest of its tree.
func (p *planner) classicalCandidates(c *claim) candidates {
	l := c.item.line
	own := p.inQueue(c)
	var prior, owed []candidate
	if reclaims := l.queue.Preemption.ReclaimWithinCohort; p.tree.Parent(l.node) != quota.None && reclaims != "" && reclaims != policies.VictimsNever {
		// What is still to be had of a node is its own: whoever has that there is owed
		// what others took of it.
		rest := slices.Clone(c.uses)
		advantage := p.ownEnough(l.node, rest)
		from := l.node
		for at := p.tree.Parent(l.node); at != quota.None; at = p.tree.Parent(at) {
			if found := p.below(c, at, from, at, advantage); advantage {
				owed = append(owed, found...)
			} else {
				prior = append(prior, found...)
			}
			advantage = p.ownEnough(at, rest) || advantage
			from = at
		}
	}
	order := compareVictims(l.node)
	all := candidates{foreign: len(prior)+len(owed) > 0, byRight: len(owed) > 0}
	for _, group := range [][]candidate{owed, prior, own} {
		slices.SortFunc(group, func(a, b candidate) int { return order(a.victim, b.victim) })
		all.list = append(all.list, group...)
	}
	return all
}

// ownEnough tells whether a node's own is enough for what is left of a claim, and
// takes off what the node keeps for itself.
func (p *planner) ownEnough(n quota.NodeID, rest []use) bool {
	enough := true
	for i := range rest {
		enough = enough && p.tree.Within(n, rest[i].pair, rest[i].amount)
		rest[i].amount = p.tree.Beyond(n, rest[i].pair, rest[i].amount)
	}
	return enough
}

func (p *planner) inQueue(c *claim) []candidate {
	l := c.item.line
	var found []candidate
	for _, v := range p.runningIn(l.node) {
		if !p.goes(v) && v.usesAny(c.needs) && may(l.queue.Preemption.WithinQueue, c.item, v) && p.mayGo(c.item, v) {
			found = append(found, candidate{victim: v, right: demand.InQueue, within: l.node})
		}
	}
	return found
}

// below collects victims of the queues below a node that use more than their own
// of something needed, without those below one that was visited before.
func (p *planner) below(c *claim, at, visited, common quota.NodeID, owed bool) []candidate {
	var found []candidate
	for _, child := range p.tree.Children(at) {
		if child == visited || p.tree.within(child, c.needs) {
			continue
		}
		if !p.tree.IsQueue(child) {
			found = append(found, p.below(c, child, visited, common, owed)...)
			continue
		}
		for _, v := range p.runningIn(child) {
			if f, ok := p.foreign(c, v, owed); ok {
				f.within = common
				found = append(found, f)
			}
		}
	}
	return found
}

// foreign tells by what right a claim may displace a Job of another queue.
func (p *planner) foreign(c *claim, v *victim, owed bool) (candidate, bool) {
	preemption := c.item.line.queue.Preemption
	if p.goes(v) || !v.usesAny(c.needs) || !may(preemption.ReclaimWithinCohort, c.item, v) {
		return candidate{}, false
	}
	if !p.mayGo(c.item, v) {
		return candidate{}, false
	}
	f := candidate{victim: v, right: demand.InCohortReclamation}
	if owed {
		return f, true
	}
	most := preemption.BorrowWithinCohort.MaxPriorityThreshold
	if !p.borrowsWithin(c) || v.priority >= c.item.verdict.Priority || most != nil && v.priority > *most {
		f.strict = true
		return f, true
	}
	f.right = demand.InCohortReclaimWhileBorrowing
	return f, true
}
