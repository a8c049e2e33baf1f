package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// mode is how a flavor would do, the better the higher.
type mode int

const (
	noFit        mode = iota
	noCandidates      // if others went, but nobody may be displaced
	preempt           // if others of its own queue go
	reclaim           // if others of other queues go
	fits
)

// assignment is a flavor for every part of every pod set, as far as there is one.
type assignment struct {
	mode  mode
	level int // how far up it borrows
	sets  []chosen
	uses  []use          // what it takes in all, by pair
	needs []quota.PairID // of which others have to go
	tried tried
}

// chosen is what one pod set gets.
type chosen struct {
	count    int64
	flavors  []int // of each part's offers
	machines *machineSet
}

type use struct {
	pair   quota.PairID
	amount int64
}

// tried is the offer of each part, by pod set, that a search stopped at; the next
// one goes on after it. allTried: it came to the end.
type tried [][]int

const allTried = -1

func (t tried) after(set, part int) int {
	if set < len(t) && part < len(t[set]) {
		return t[set][part] + 1
	}
	return 0
}

// pending tells whether there are flavors left to be tried.
func (t tried) pending() bool {
	return slices.ContainsFunc(t, func(parts []int) bool {
		return slices.ContainsFunc(parts, func(at int) bool { return at != allTried })
	})
}

func (a *assignment) used(pair quota.PairID) int64 {
	for _, u := range a.uses {
		if u.pair == pair {
			return u.amount
		}
	}
	return 0
}

func (a *assignment) add(pair quota.PairID, amount int64) {
	at, found := slices.BinarySearchFunc(a.uses, pair, func(u use, p quota.PairID) int { return int(u.pair - p) })
	if !found {
		a.uses = slices.Insert(a.uses, at, use{pair: pair})
	}
	a.uses[at].amount = resource.Add(a.uses[at].amount, amount)
}

// assign finds flavors for a Job with so many pods of each set, going on where an
// earlier search stopped.
func (p *planner) assign(it *item, counts []int64, from tried) *assignment {
	c := it.class
	d := p.desks.desk()
	a := &d.own
	a.mode, a.sets, a.uses, a.needs, a.tried = fits, d.sets[:0], d.uses[:0], d.needs[:0], d.tried[:0]
	if len(c.never) > 0 {
		a.mode = noFit
		return a
	}
	for set := range c.sets {
		got := chosen{count: counts[set]}
		var founds []found
		var reached []int
		if set == 0 {
			founds, reached, got.flavors = d.founds[:0], d.reached[:0], d.flavors[:0]
		}
		founds, reached = p.assignSet(it, a, set, &got, from, founds, reached)
		if len(founds) < len(c.sets[set].parts) {
			a.mode = noFit
			return a
		}
		for part, f := range founds {
			p.take(it, a, set, part, &got, f)
		}
		got.machines = p.place(c, set, got.flavors)
		a.sets = append(a.sets, got)
		a.tried = append(a.tried, reached)
	}
	if a.mode == fits && !p.allows(a.sets) {
		a.mode = noFit
		c.lacksMachines()
	}
	return a
}

// assignSet finds a flavor for each part of a pod set, one after the other. Where
// none is left since the machines of those before are others, the part before takes
// its next best: else what is free there would keep a Job from starting elsewhere.
func (p *planner) assignSet(it *item, a *assignment, set int, got *chosen, from tried, founds []found, reached []int) ([]found, []int) {
	parts := it.class.sets[set].parts
	out := make([][]int, len(parts)) // given up, with the parts before as they are
	for part := 0; part < len(parts); part = len(founds) {
		best, stopped := p.search(it, a, set, part, got, from.after(set, part), out[part])
		if best.mode != noFit {
			founds, reached, got.flavors = append(founds, best), append(reached, stopped), append(got.flavors, best.at)
			continue
		}
		apart := slices.ContainsFunc(parts[part].offers, func(o offer) bool { return p.contradict(it.class, set, got.flavors, o.flavor) })
		if !apart {
			return nil, nil
		}
		last := part - 1
		out[last], out[part] = append(out[last], founds[last].at), nil
		founds, reached, got.flavors = founds[:last], reached[:last], got.flavors[:last]
	}
	return founds, reached
}

// found is how one offer would do.
type found struct {
	at    int
	mode  mode // of what is worst about it, by the queue's preference
	level int
	least mode // of all resources: who prefers to displace takes to borrow for worse
	most  int  // highest level of all
	needs []quota.PairID
}

// search goes through the offers of a part but those that are out, and returns the
// best, and where the next search begins.
func (p *planner) search(it *item, a *assignment, set, part int, got *chosen, first int, out []int) (found, int) {
	offers := it.class.sets[set].parts[part].offers
	best := found{mode: noFit}
	for at := first; at < len(offers); at++ {
		if slices.Contains(out, at) {
			continue
		}
		f := p.try(it, a, set, part, got, at)
		if f.mode == noFit {
			continue
		}
		goOn := it.line.tryNext(f)
		if !goOn || it.line.prefers(f, best) {
			best = f
		}
		if !goOn {
			if at == len(offers)-1 {
				at = allTried
			}
			return best, at
		}
	}
	return best, allTried
}

// tryNext tells whether to look at further flavors though one would do.
func (l *line) tryNext(f found) bool {
	switch {
	case f.mode == noCandidates:
		return true
	case f.mode < fits && l.queue.Fungibility.WhenCanPreempt != policies.MayStopSearch:
		return true
	}
	return f.level > 0 && l.queue.Fungibility.WhenCanBorrow == policies.TryNextFlavor
}

// prefers compares what two flavors would need.
func (l *line) prefers(a, b found) bool {
	if a.mode == noFit || b.mode == noFit {
		return b.mode == noFit && a.mode != noFit
	}
	if a.mode == noCandidates || b.mode == noCandidates {
		return b.mode == noCandidates && (a.mode > b.mode || a.level < b.level)
	}
	if l.queue.Fungibility.Preference == policies.PreemptionOverBorrowing && a.level != b.level {
		return a.level < b.level
	}
	if a.mode != b.mode {
		return a.mode > b.mode
	}
	return a.level < b.level
}

// try finds out how an offer would do for all resources of a part together.
func (p *planner) try(it *item, a *assignment, set, part int, got *chosen, at int) found {
	this := &it.class.sets[set].parts[part]
	o := &this.offers[at]
	none := found{at: at, mode: noFit, least: noFit}
	if o.clash != nil || p.contradict(it.class, set, got.flavors, o.flavor) {
		return none
	}
	f := found{at: at, mode: fits, least: fits}
	needs := len(p.needs)
	for i, w := range this.wants {
		pair := o.pairs[i]
		amount := resource.Add(a.used(pair), resource.Mul(w.perPod, got.count))
		m, level := p.tryPair(it, pair, amount)
		if m == noFit {
			return none
		}
		f.most, f.least = max(f.most, level), min(f.least, m)
		if m < fits {
			p.needs = append(p.needs, pair)
			f.needs = p.needs[needs:len(p.needs):len(p.needs)]
		}
		if worse := (found{mode: m, level: level}); i == 0 || it.line.prefers(f, worse) {
			f.mode, f.level = m, level
		}
	}
	if f.least < fits || p.QuotaOnly {
		return f
	}
	then := *got
	p.flavors = append(append(p.flavors[:0], got.flavors...), at)
	then.flavors = p.flavors
	then.machines = p.place(it.class, set, then.flavors)
	p.sets = append(append(p.sets[:0], a.sets...), then)
	sets := p.sets
	if p.allows(sets) {
		return f
	}
	it.class.lacksMachines()
	return p.forMachines(it, a, f, sets, this, o)
}

// forMachines asks whom a Job could displace for machines alone: those on the same
// flavor, by the same rules as for quota.
func (p *planner) forMachines(it *item, a *assignment, f found, sets []chosen, this *part, o *offer) found {
	f.mode, f.least = noFit, noFit
	if !it.line.displaces {
		return f
	}
	c := &claim{item: it, sets: sets}
	for i, w := range this.wants {
		pair := o.pairs[i]
		if pair == quota.None || w.perPod == 0 {
			continue
		}
		c.uses = append(c.uses, use{pair, resource.Add(a.used(pair), resource.Mul(w.perPod, sets[len(sets)-1].count))})
		c.needs = append(c.needs, pair)
	}
	victims := p.targets(c)
	if len(victims) == 0 {
		return f
	}
	f.mode, f.needs = reclaim, c.needs
	if slices.ContainsFunc(victims, func(v target) bool { return v.node == it.line.node }) {
		f.mode = preempt
	}
	f.least = f.mode
	return f
}

// tryPair finds out how an amount of one resource of one flavor would do.
func (p *planner) tryPair(it *item, pair quota.PairID, amount int64) (mode, int) {
	l := it.line
	switch {
	case pair == quota.None:
		if amount == 0 {
			return fits, 0
		}
		return noFit, 0
	case p.tree.Fits(l.node, pair, amount):
		level, _ := p.tree.Level(l.node, pair, amount)
		return fits, level
	case amount > p.tree.Potential(l.node, pair), !p.mayDisplace(l, pair, amount):
		return noFit, 0
	}
	level, _ := p.tree.Level(l.node, pair, amount)
	if !l.displaces {
		return noCandidates, level
	}
	return p.oracle(it, pair, amount, level)
}

// mayDisplace tells whether a queue has any right to others' place for an amount.
func (p *planner) mayDisplace(l *line, pair quota.PairID, amount int64) bool {
	_, below := p.tree.Level(l.node, pair, amount)
	return amount <= p.tree.Nominal(l.node, pair) || below || l.displacesToBorrow
}

// oracle asks whom a Job could displace for one pair alone.
func (p *planner) oracle(it *item, pair quota.PairID, amount int64, level int) (mode, int) {
	victims := p.targets(&claim{item: it, uses: []use{{pair, amount}}, needs: []quota.PairID{pair}})
	if len(victims) == 0 {
		return noCandidates, level
	}
	m := reclaim
	for _, v := range victims {
		if v.node == it.line.node {
			m = preempt
		}
		p.tree.remove(v.victim)
	}
	level, _ = p.tree.Level(it.line.node, pair, amount)
	for _, v := range victims {
		p.tree.restore(v.victim)
	}
	return m, level
}

// take puts a found flavor into the assignment.
func (p *planner) take(it *item, a *assignment, set, part int, got *chosen, f found) {
	this := &it.class.sets[set].parts[part]
	for i, w := range this.wants {
		if pair := this.offers[f.at].pairs[i]; pair != quota.None {
			a.add(pair, resource.Mul(w.perPod, got.count))
		}
	}
	for _, pair := range f.needs {
		if !slices.Contains(a.needs, pair) {
			a.needs = append(a.needs, pair)
		}
	}
	a.mode, a.level = min(a.mode, f.least), max(a.level, f.most)
}
