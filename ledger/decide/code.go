package decide

import (
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// codeOf is the code of why, found without all the words.
func (p *planner) codeOf(it *item) reason.Code {
	switch {
	case len(it.found) > 0:
		main, _ := reason.Main(it.found)
		return main.Code
	case it.state == kept, !it.seen() && it.line.stopped == nil:
		return p.later().main.Code
	}
	code := p.codeOfClass(it.class)
	if p.hides(it, code) {
		return p.behind(it).main.Code
	}
	return code
}

// codeOfClass is kept as long as it can't be another one: where might is enough to
// say that nobody of a class starts, the reason is the same until there are other
// machines.
func (p *planner) codeOfClass(c *class) reason.Code {
	if c.code != "" {
		return c.code
	}
	have, _ := p.Snapshot.Machines()
	if c.failed == nil { // behind a stopped Job, and not tried: all that counts is whether it ever fits
		if c.idleCode == "" || c.idleHave != have || !c.simple() {
			c.idleCode, c.idleHave = p.shutCode(c), have
		}
		return c.idleCode
	}
	if c.shut = c.shut || !p.OneRound && c.simple() && !p.might(c); !c.shut {
		switch machines := p.machinesAlone(c); {
		case machines != nil:
			c.code = machines.Code
		case p.noQuota(c):
			c.code = reason.WaitingForQuota
		default:
			c.code = p.answerOfClass(c, nil).main.Code
		}
		return c.code
	}
	if c.shutCode == "" || c.shutHave != have {
		c.shutCode, c.shutHave = p.shutCode(c), have
	}
	c.code = c.shutCode
	return c.code
}

// shutCode is why nobody of a class starts where might says so.
func (p *planner) shutCode(c *class) reason.Code {
	if c.simple() && p.lacksQuota(c, &c.sets[0], &c.sets[0].parts[0]) {
		return reason.WaitingForQuota
	}
	return p.answerOfClass(c, nil).main.Code
}

// machinesAlone is what machines a Job lacks that may have one flavor, has quota of that,
// and could have such machines; nil if it is not so. Then it lacks nothing else.
func (p *planner) machinesAlone(c *class) *reason.Reason {
	if p.OneRound || p.QuotaOnly || !c.simple() || len(c.never) > 0 || p.crowded(c.line) {
		return nil
	}
	s := &c.sets[0]
	this := &s.parts[0]
	if len(this.offers) != 1 {
		return nil
	}
	o, pods := &this.offers[0], s.least
	if p.HopelessBlock {
		pods = s.count
	}
	if o.clash != nil || !p.hasQuota(c, s, this, o) || p.beyondPotential(c, 0, pods, this, o, nil) != nil {
		return nil
	}
	first := []int{0}
	r := p.machines.lack(o.flavor, []chosen{{count: s.count, flavors: first, machines: p.place(c, 0, first)}})
	if r != nil && r.Code == reason.NeverFits {
		return nil
	}
	return r
}

// noQuota: no flavor would do, whatever machines there are, and some would if only
// there were quota. Then that is what a Job with one flavor to find waits for.
func (p *planner) noQuota(c *class) bool {
	if p.OneRound || !c.simple() || p.crowded(c.line) {
		return false
	}
	s := &c.sets[0]
	this := &s.parts[0]
	for at := range this.offers {
		if p.hasQuota(c, s, this, &this.offers[at]) {
			return false
		}
	}
	return p.lacksQuota(c, s, this)
}

// lacksQuota tells whether some flavor would do if only there were quota.
func (p *planner) lacksQuota(c *class, s *ask, this *part) bool {
	for at := range this.offers {
		o := &this.offers[at]
		if o.clash != nil || p.beyondPotential(c, 0, s.least, this, o, nil) != nil {
			continue
		}
		if p.hasQuota(c, s, this, o) {
			continue
		}
		if p.QuotaOnly {
			return true
		}
		where := p.place(c, 0, []int{at})
		if empty := p.Snapshot.Empty(where.asks); !where.verified || empty.Nodes > 0 && empty.Slots >= s.count &&
			p.machines.noDomainEver(o.flavor, &chosen{count: s.count, machines: where}) == nil {
			return true
		}
	}
	return false
}

// hasQuota tells whether there is quota left for all that is wanted of an offer.
func (p *planner) hasQuota(c *class, s *ask, this *part, o *offer) bool {
	for i, w := range this.wants {
		amount := resource.Mul(w.perPod, s.count)
		if o.pairs[i] == quota.None && amount > 0 || o.pairs[i] != quota.None && !p.tree.Fits(c.line.node, o.pairs[i], amount) {
			return false
		}
	}
	return true
}
