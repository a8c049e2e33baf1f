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

// leaving is the Jobs that were taken back for others, whose pods are going: what
// they hold is in the way now, and free later.
type leaving struct {
	entries []*book.Entry
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
		made := e.MadeRoomFor()
		if p.Now-made.Time >= leavingMax {
			continue
		}
		p.wake(resource.Add(made.Time, leavingMax))
		n := 0
		e.EachCharge(func(k quota.Key, amount int64) {
			n = 1
			p.freeLater(k, amount)
		})
		if n > 0 || e.Live() > 0 {
			p.leaving.entries = append(p.leaving.entries, e)
			n = 1
		}
		if e.MakesRoomFor() == nil {
			continue // that one has started; what is left here may be others' soon
		}
		by := p.leaving.awaited[made.By]
		if by == nil {
			by = &awaited{}
			p.leaving.awaited[made.By] = by
		}
		by.going += n
		by.room = made.Room
	}
}

// freeLater takes from the tree of later what is in use only now.
func (p *planner) freeLater(k quota.Key, amount int64) {
	node, pair := p.row(k)
	if node == quota.None || pair == quota.None {
		return
	}
	if p.now.Tree == p.tree.Tree {
		p.now.Tree = p.tree.Clone()
	}
	p.tree.Remove(node, pair, amount)
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
	return a
}

// allows tells whether machines have room for pod sets, now or once those who are
// leaving are gone.
func (p *planner) allows(sets []chosen) bool {
	return p.QuotaOnly || p.machines.allow(sets) || len(p.leaving.entries) > 0 && p.trial().allow(sets)
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
