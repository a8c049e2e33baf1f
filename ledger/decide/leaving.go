package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
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
	awaited map[string]int // UID of whom they make room for → how many
}

// openLeaving parts what is in use later from what is in use now.
func (p *planner) openLeaving() {
	p.leaving.awaited = map[string]int{}
	if p.AnybodysRoom {
		return
	}
	for _, e := range p.Snapshot.Leaving() {
		made := e.MakesRoomFor()
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
		p.leaving.awaited[made.By] += n
	}
}

// freeLater takes from the tree of later what is in use only now.
func (p *planner) freeLater(k quota.Key, amount int64) {
	node, pair := p.tree.Queue(k.Queue), p.tree.Pair(k.Flavor, k.Resource)
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
	for _, l := range p.order {
		for _, it := range l.items {
			if _, made := p.leaving.awaited[it.job.UID]; made {
				items = append(items, it)
			}
		}
	}
	slices.SortFunc(items, p.compare)
	for _, it := range items {
		counts := make([]int64, len(it.class.sets))
		for i, s := range it.class.sets {
			counts[i] = s.count
		}
		if a := p.assign(it, counts, nil); a.mode == fits {
			p.start(it, a)
		}
	}
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

// comes says that room is being made.
func (p *planner) comes(it *item) reason.Reason {
	return reason.RoomComes(p.leaving.awaited[it.job.UID])
}
