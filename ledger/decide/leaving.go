package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// leavingMax is how long room is kept for a Job that others were taken back for.
// Pods that take longer to end count as if they stayed.
const leavingMax = 10 * 60 * second

// leaving is the Jobs that were taken back, for others or for nobody, and those that
// are over or deleted, whose pods are going: what they hold is in the way now, and
// free later. So nobody is displaced for what comes free anyway.
type leaving struct {
	entries []*book.Entry
	all     map[*book.Entry]bool
	awaited map[string]*awaited // by UID of whom they make room for
}

// awaited is what others were taken back for.
type awaited struct {
	going int // so many are not gone yet
	room  []demand.Room
}

// openLeaving parts what is in use later from what is in use now.
func (p *planner) openLeaving() {
	p.leaving.awaited = map[string]*awaited{}
	if p.AnybodysRoom {
		return
	}
	for _, e := range p.Snapshot.Leaving() {
		since, goes := e.GoingSince(p.Now)
		made := e.MadeRoomFor()
		if made != nil {
			since, goes = made.Time, true
		}
		if !goes || p.Now-since >= leavingMax || p.back[e.UID()] {
			continue
		}
		p.wake(resource.Add(since, leavingMax))
		going := p.leaves(e)
		if e.MakesRoomFor() == nil {
			continue // for nobody, or that one has started: what is left here may be others' soon
		}
		by := p.leaving.awaited[made.By]
		if by == nil {
			by = &awaited{}
			p.leaving.awaited[made.By] = by
		}
		if by.room = made.Room; going {
			by.going++
		}
	}
	for _, s := range p.res.Suspend {
		if s.Job.Reservation != nil {
			p.leaves(p.Snapshot.Entry(s.Job.UID))
		}
	}
}

// leaves counts what a Job holds as free later. It tells whether that is anything.
func (p *planner) leaves(e *book.Entry) bool {
	holds := e.Live() > 0
	e.EachCharge(func(k quota.Key, amount int64) {
		holds = true
		p.freeLater(k, amount)
	})
	if holds {
		p.leaving.add(e)
	}
	return holds
}

func (l *leaving) add(e *book.Entry) {
	if l.all == nil {
		l.all = map[*book.Entry]bool{}
	}
	l.entries, l.all[e] = append(l.entries, e), true
}

// freeLater takes from the tree of later what is in use only now.
func (p *planner) freeLater(k quota.Key, amount int64) {
	node, pair := p.row(k)
	if node == quota.None || pair == quota.None {
		return
	}
	p.splitNow()
	p.tree.Remove(node, pair, amount)
}

// splitNow has what is in use now told from what will be when those have gone who leave, or
// whom this plan takes back: from the first of them on, who starts has to fit both.
func (p *planner) splitNow() {
	if p.now.Tree == p.tree.Tree {
		p.now.Tree = p.tree.Clone()
		p.now.giveBack(p.borrowed) // kept for this round, and used by nobody
	}
}

// firstServed lets those start, or keeps the room of those, that others were taken
// back for, before anybody else is looked at.
func (p *planner) firstServed() {
	if len(p.leaving.awaited) == 0 {
		return
	}
	var items []*item
	for uid := range p.leaving.awaited {
		if it := p.items[uid]; it != nil && it.inLine() {
			items = append(items, it)
		}
	}
	slices.SortFunc(items, compare)
	for _, it := range items {
		if p.crowded(it.line) {
			continue
		}
		p.turn(it)
		if a := p.given(it, p.leaving.awaited[it.job.UID].room); a != nil {
			p.start(it, a)
		}
	}
}

// room is what an assignment gives, for the record.
func (c *class) room(a *assignment) []demand.Room {
	var all []demand.Room
	for set, got := range a.sets {
		r := demand.Room{Count: got.count}
		for part, at := range got.flavors {
			r.Flavors = append(r.Flavors, c.sets[set].parts[part].offers[at].flavor)
		}
		all = append(all, r)
	}
	return all
}

// given is the assignment that room was made for, nil if it does not fit, or is
// not what the Job asks for any more.
func (p *planner) given(it *item, room []demand.Room) *assignment {
	c := it.class
	if len(room) != len(c.sets) {
		return nil
	}
	a := &assignment{mode: fits}
	for set, r := range room {
		s := &c.sets[set]
		if r.Count < s.least || r.Count > s.count || len(r.Flavors) != len(s.parts) {
			return nil
		}
		got := chosen{count: r.Count}
		for part, flavor := range r.Flavors {
			at := slices.IndexFunc(s.parts[part].offers, func(o offer) bool { return o.flavor == flavor })
			if at < 0 {
				return nil
			}
			f := p.try(it, a, set, part, &got, at)
			if f.least != fits {
				return nil
			}
			got.flavors = append(got.flavors, at)
			p.take(it, a, set, part, &got, f)
		}
		got.machines = p.place(c, set, got.flavors)
		a.sets = append(a.sets, got)
	}
	if !p.allows(a.sets) {
		return nil
	}
	return a
}

// allows tells whether machines have room for pod sets, now or once those who are
// leaving are gone. What has room now must not be in the way of who gets room then.
func (p *planner) allows(sets []chosen) bool {
	unsettle(sets)
	switch {
	case p.QuotaOnly:
		return true
	case len(p.leaving.entries) == 0:
		return p.machines.allow(sets)
	case p.ahead == nil:
		p.ahead = p.trial()
	}
	if p.machines.allowBeside(sets, p.ahead) {
		return true
	}
	return p.ahead.allow(sets)
}

// trial is the machines as they will be when those have gone who are leaving or
// are taken back by this plan.
func (p *planner) trial() *machines {
	t := p.machines.copy()
	for _, e := range p.leaving.entries {
		t.free(e, 1)
	}
	return t
}

// uids are those who leave, sorted.
func (l *leaving) uids() []string {
	var all []string
	for _, e := range l.entries {
		all = append(all, e.UID())
	}
	slices.Sort(all)
	return all
}

// going is how many Jobs that were taken back for another are not gone yet.
func (l *leaving) going(uid string) int {
	if a := l.awaited[uid]; a != nil {
		return a.going
	}
	return 0
}

// comes says that room is being made.
func (p *planner) comes(it *item) reason.Reason {
	return reason.RoomComes(p.leaving.going(it.job.UID))
}
