package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// hopeless is why a class can't start whatever others do, nil if it can: no flavor
// that agrees with its pods, or none with that much quota.
func (p *planner) hopeless(c *class) *reason.Reason {
	sums := map[quota.PairID]int64{}
	for set := range c.sets {
		for part := range c.sets[set].parts {
			if r := p.hopelessPart(c, set, part, sums); r != nil {
				return r
			}
		}
	}
	return nil
}

func (p *planner) hopelessPart(c *class, set, part int, sums map[quota.PairID]int64) *reason.Reason {
	this := &c.sets[set].parts[part]
	var clashes []reason.Reason
	var over []reason.Quota
	for i := range this.offers {
		o := &this.offers[i]
		if o.clash != nil {
			clashes = append(clashes, *o.clash)
			continue
		}
		short := p.beyondPotential(c, set, c.sets[set].least, this, o, sums)
		if short == nil {
			p.leastOf(c, set, this, sums)
			return nil
		}
		over = append(over, *short)
	}
	var r reason.Reason
	switch {
	case len(this.offers) == 0:
		r = reason.NoFlavors(c.line.name)
	case len(over) > 0:
		r = reason.OverQuota(c.pods(), over...)
	default:
		r = reason.Joined(clashes)
	}
	return &r
}

// leastOf counts what a part takes wherever it has but one flavor to go to.
func (p *planner) leastOf(c *class, set int, this *part, sums map[quota.PairID]int64) {
	if len(this.offers) != 1 {
		return
	}
	for i, w := range this.wants {
		pair := this.offers[0].pairs[i]
		sums[pair] = resource.Add(sums[pair], resource.Mul(w.perPod, c.sets[set].least))
	}
}

// beyondPotential is the resource of an offer of which there is never enough.
func (p *planner) beyondPotential(c *class, set int, pods int64, this *part, o *offer, sums map[quota.PairID]int64) *reason.Quota {
	for i, w := range this.wants {
		asked := resource.Add(sums[o.pairs[i]], resource.Mul(w.perPod, pods))
		most := int64(0)
		if o.pairs[i] != quota.None {
			most = p.base.Potential(c.line.node, o.pairs[i])
		}
		if !p.HopelessBlock {
			most = min(most, book.ChargeMax)
		}
		if asked > most {
			short := &reason.Quota{Queue: c.line.name, Flavor: o.flavor, Resource: w.resource, Nominal: most, Asked: asked}
			if sums[o.pairs[i]] == 0 {
				short.For = p.askedFor(c, set, pods, w.resource)
			}
			return short
		}
	}
	return nil
}

// lacks says why the class can't start as things stand: part by part, one flavor
// after the other.
func (p *planner) lacks(c *class, from tried) []reason.Reason {
	if len(c.never) > 0 {
		return c.never
	}
	var found []reason.Reason
	if p.crowded(c.line) {
		found = append(found, reason.FullQueue(c.line.name, *c.line.queue.MaxWorkloads))
	}
	a := &assignment{mode: fits}
	for set := range c.sets {
		why, goOn := p.lacksSet(c, a, set, from)
		if found = append(found, why...); !goOn {
			return found
		}
	}
	if len(found) == 0 && !p.QuotaOnly {
		if r := p.machines.lack(c.flavorsOf(a), a.sets); r != nil {
			found = append(found, *r)
		}
	}
	return found
}

// lacksSet says what a pod set lacks. Where the flavor of one part leaves none for the
// next that would ever do, the part takes its next best: what leads nowhere is not what
// the Job waits for. goOn: the sets after it are to be looked at, too.
func (p *planner) lacksSet(c *class, a *assignment, set int, from tried) (found []reason.Reason, goOn bool) {
	got := chosen{count: c.sets[set].count}
	out := make([][]int, len(c.sets[set].parts)) // given up, with the parts before as they are
	var whys [][]reason.Reason                   // by part
	var before [][]use                           // what was taken before each
	var nowhere []reason.Reason                  // where the best way led, if it leads nowhere
	for part := 0; part < len(out); part = len(whys) {
		uses := slices.Clone(a.uses)
		why, at := p.lacksPart(c, a, set, part, &got, from.after(set, part), out[part])
		switch {
		case at >= 0 && (!p.HopelessBlock || len(why) == 0 || p.goesOn(c, a, set, part)):
			if len(why) > 0 {
				p.count(c, a, set, part, at)
			}
			whys, before, got.flavors = append(whys, why), append(before, uses), append(got.flavors, at)
			continue
		case nowhere == nil:
			nowhere = append(slices.Concat(whys...), why...)
		}
		if p.HopelessBlock || part == 0 {
			return nowhere, false
		}
		last := part - 1
		out[last], out[part] = append(out[last], got.flavors[last]), nil
		a.uses, whys, before, got.flavors = before[last], whys[:last], before[:last], got.flavors[:last]
	}
	got.machines = p.place(c, set, got.flavors)
	a.sets = append(a.sets, got)
	return slices.Concat(whys...), true
}

func (c *class) flavorsOf(a *assignment) string {
	var names []string
	for set := range a.sets {
		for part, at := range a.sets[set].flavors {
			if name := c.sets[set].parts[part].offers[at].flavor; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// lacksPart says what each flavor of a part lacks, and which one the others of the
// Job are to be judged with: the first that would do, else the first that might.
func (p *planner) lacksPart(c *class, a *assignment, set, part int, got *chosen, first int, out []int) ([]reason.Reason, int) {
	this := &c.sets[set].parts[part]
	var found, never, clashes []reason.Reason
	var over []reason.Quota
	might, pods, sums := -1, c.sets[set].least, map[quota.PairID]int64{}
	if p.HopelessBlock {
		pods = c.sets[set].count
		for _, u := range a.uses {
			sums[u.pair] = u.amount
		}
	}
	for i := first; i < len(this.offers); i++ {
		o := &this.offers[i]
		if slices.Contains(out, i) {
			continue
		}
		if clash := p.clash(c, set, got, o); clash != nil {
			clashes = append(clashes, *clash)
			continue
		}
		if short := p.beyondPotential(c, set, pods, this, o, sums); short != nil {
			over = append(over, *short)
			continue
		}
		machines := p.machinesLack(c, a, set, got, i)
		if machines != nil && machines.Code == reason.NeverFits {
			never = append(never, *machines)
			continue
		}
		short := p.quotaLack(c, a, set, this, o)
		if short == nil && machines == nil {
			p.count(c, a, set, part, i)
			return nil, i
		}
		if might < 0 {
			might = i
		}
		for _, r := range []*reason.Reason{short, machines} {
			if r != nil {
				found = append(found, *r)
			}
		}
	}
	if len(found) == 0 {
		found = c.noneEver(never, over, clashes)
	}
	return found, might
}

// clash is why an offer's machines are not for a pod set with the flavors chosen so
// far, nil if they are.
func (p *planner) clash(c *class, set int, got *chosen, o *offer) *reason.Reason {
	if o.clash == nil && p.contradict(c, set, got.flavors, o.flavor) {
		others := reason.OtherMachines(o.flavor)
		return &others
	}
	return o.clash
}

// noneEver is why no flavor of a part will ever do.
func (c *class) noneEver(never []reason.Reason, over []reason.Quota, clashes []reason.Reason) []reason.Reason {
	switch {
	case len(never) > 0 && len(over) > 0:
		return []reason.Reason{reason.Joined(append(never, reason.OverQuota(c.pods(), over...)))}
	case len(never) > 0:
		return []reason.Reason{reason.Joined(never)}
	case len(over) > 0:
		return []reason.Reason{reason.OverQuota(c.pods(), over...)}
	case len(clashes) > 0:
		return []reason.Reason{reason.Joined(clashes)}
	}
	return nil
}

func (p *planner) machinesLack(c *class, a *assignment, set int, got *chosen, at int) *reason.Reason {
	if p.QuotaOnly {
		return nil
	}
	this := *got
	this.flavors = append(slices.Clone(got.flavors), at)
	this.machines = p.place(c, set, this.flavors)
	return p.machines.lack(c.sets[set].parts[len(got.flavors)].offers[at].flavor, append(slices.Clip(a.sets), this))
}

// goesOn tells whether some offer of a part would do if others went, so that the
// next part is looked at.
func (p *planner) goesOn(c *class, a *assignment, set, part int) bool {
	this := &c.sets[set].parts[part]
	return slices.ContainsFunc(this.offers, func(o offer) bool {
		if o.clash != nil {
			return false
		}
		for i, w := range this.wants {
			asked := resource.Add(a.used(o.pairs[i]), resource.Mul(w.perPod, c.sets[set].count))
			if asked > p.tree.Potential(c.line.node, o.pairs[i]) ||
				!p.tree.Fits(c.line.node, o.pairs[i], asked) && !p.mayDisplace(c.line, o.pairs[i], asked) {
				return false
			}
		}
		return true
	})
}

// count adds what a part takes of an offer to what its Job takes in all.
func (p *planner) count(c *class, a *assignment, set, part, at int) {
	this := &c.sets[set].parts[part]
	for i, w := range this.wants {
		if pair := this.offers[at].pairs[i]; pair != quota.None {
			a.add(pair, resource.Mul(w.perPod, c.sets[set].count))
		}
	}
}

// quotaLack is the first resource of which there is no quota left.
func (p *planner) quotaLack(c *class, a *assignment, set int, this *part, o *offer) *reason.Reason {
	for i, w := range this.wants {
		pair := o.pairs[i]
		asked := resource.Add(a.used(pair), resource.Mul(w.perPod, c.sets[set].count))
		if pair == quota.None || p.tree.Fits(c.line.node, pair, asked) {
			continue
		}
		short := reason.Quota{
			Queue: c.line.name, Flavor: o.flavor, Resource: w.resource, Asked: asked,
			Used: p.tree.Usage(c.line.node, pair), Nominal: p.tree.Nominal(c.line.node, pair),
			Left: p.tree.Available(c.line.node, pair), Shared: p.sharing(c.line.node, pair, asked),
		}
		if a.used(pair) == 0 {
			short.For = p.askedFor(c, set, c.sets[set].count, w.resource)
		}
		r := reason.NoQuota(short)
		return &r
	}
	return nil
}
