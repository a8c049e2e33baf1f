package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// placingMax is how long the scheduler may take to place pods that were let go, before
// others are taken back for a Job that has room beside them.
const placingMax = 5 * second

// waitsForPlacing: a Job would have room if pods that were let go a moment ago were where
// they are planned to go, and lacks it only since they might go elsewhere. That is known in
// a moment, so nobody is taken back for it; its room is kept meanwhile. One that borrows has
// its turn after all who don't: while one of them after the other is let go, it would never
// be known.
func (p *planner) waitsForPlacing(e *entry) bool {
	if p.OneRound || p.QuotaOnly || e.level > 0 || !p.tree.fits(e.line.node, e.uses) {
		return false
	}
	until, soon := p.soon(e.sets)
	if soon {
		p.await(e.item, e.assignment, until)
	}
	return soon
}

// comesSoon is the same for a Job for which nobody would have to go. Where it might take
// others back a moment later, for quota or machines, these are not let go before it.
func (p *planner) comesSoon(it *item) bool {
	c, l := it.class, it.line
	if !l.displaces || l.strict || p.OneRound || p.QuotaOnly || !c.simple() || !c.machines {
		return false
	}
	s := &c.sets[0]
	this := &s.parts[0]
	for at := range this.offers {
		if o := &this.offers[at]; o.clash != nil || !p.hasQuota(c, s, this, o) || p.wouldBorrow(l, this, o, s.count) {
			continue
		}
		got := chosen{count: s.count, flavors: []int{at}}
		got.machines = p.place(c, 0, got.flavors)
		a := &assignment{mode: fits, sets: []chosen{got}}
		until, soon := p.soon(a.sets)
		if !got.machines.verified || !soon {
			continue
		}
		p.count(c, a, 0, 0, at)
		if !p.mayNot(it, a) {
			p.await(it, a, until)
		}
		return true
	}
	return false
}

// wouldBorrow tells whether so many pods would take more of an offer than is the queue's own.
func (p *planner) wouldBorrow(l *line, this *part, o *offer, pods int64) bool {
	for i, w := range this.wants {
		if o.pairs[i] != quota.None && !p.tree.Within(l.node, o.pairs[i], resource.Mul(w.perPod, pods)) {
			return true
		}
	}
	return false
}

// soon tells whether pod sets have room once pods are placed, and when to doubt that.
func (p *planner) soon(sets []chosen) (until int64, soon bool) {
	until, fresh := p.placing(sets)
	return until, fresh && p.oncePlaced(sets)
}

// await keeps the room of a Job until others are placed.
func (p *planner) await(it *item, a *assignment, until int64) {
	unsettle(a.sets)
	if r := p.machines.lack(it.class.flavorsOf(a), a.sets); r != nil {
		it.found = append(it.found, *r)
	}
	it.tried = nil
	p.keep(it, a)
	p.wake(until)
}

// placing tells until when pods that may be in the way of pod sets are likely to be placed,
// and whether that is still so: none of them has been waiting for long.
func (p *planner) placing(sets []chosen) (until int64, fresh bool) {
	until, fresh = resource.Add(p.Now, placingMax), len(p.res.Admit) > 0
	for _, o := range p.Snapshot.Outstanding() {
		if !slices.ContainsFunc(sets, func(s chosen) bool {
			return s.machines.verified && (o.Shape == s.machines.shape || fit.Overlap(o.Shape, s.machines.shape))
		}) {
			continue
		}
		end := resource.Add(o.Since, placingMax)
		if end <= p.Now {
			return 0, false
		}
		until, fresh = min(until, end), true
	}
	return until, fresh
}

// oncePlaced tells whether machines have room for pod sets once everybody who was let go is
// where that was planned, beside those whose room is kept and pods of strangers.
func (p *planner) oncePlaced(sets []chosen) bool {
	p.machines.openPlan()
	t := &machines{snapshot: p.machines.snapshot, flavors: p.machines.flavors, room: p.machines.planned.Copy(), index: map[*fit.Shape]int{}}
	for _, r := range p.Snapshot.Rivals() {
		t.promise(r.Shape, r.Pods, false)
	}
	for _, l := range p.order {
		for _, it := range l.started {
			if it.state == kept {
				t.promiseAll(it.given)
			}
		}
	}
	unsettle(sets)
	return t.allow(sets)
}
