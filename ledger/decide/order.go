package decide

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
)

// inOrder returns the entries one by one: those first that borrow from nearest,
// then by rank. Where sharing is fair, it is whoever wins the tournament of its
// tree each time.
func (p *planner) inOrder(entries []*entry) func() *entry {
	if p.Catalog.FairSharing.Enabled {
		t := &tournament{planner: p, entries: map[quota.NodeID]*entry{}, left: slices.Clone(entries)}
		return t.next
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.level, b.level), compare(a.item, b.item))
	})
	return func() *entry {
		if len(entries) == 0 {
			return nil
		}
		first := entries[0]
		entries = entries[1:]
		return first
	}
}

// tournament finds who goes next where sharing is fair: at each cohort the winners
// of its children meet.
type tournament struct {
	*planner
	entries map[quota.NodeID]*entry
	left    []*entry // by queue
}

// contest is what a node would be with the entry that it sends.
type contest struct {
	*entry
	share   quota.Share
	borrows bool // of something that the entry asks for
}

func (t *tournament) next() *entry {
	if len(t.left) == 0 {
		return nil
	}
	first := t.left[0].line.node
	winner := t.left[0]
	if root := t.tree.Root(first); root != first {
		clear(t.entries)
		for _, e := range t.left {
			t.entries[e.line.node] = e
		}
		winner = t.run(root).entry
	}
	t.left = slices.DeleteFunc(t.left, func(e *entry) bool { return e == winner })
	return winner
}

// run returns the best of a node's children, and what the node would be with it.
func (t *tournament) run(at quota.NodeID) contest {
	var best contest
	for _, child := range t.tree.Children(at) {
		c := contest{entry: t.entries[child]}
		if !t.tree.IsQueue(child) {
			c = t.run(child)
		}
		if c.entry == nil {
			continue
		}
		c = t.with(child, c.entry)
		if best.entry == nil || t.beats(c, best) {
			best = c
		}
	}
	return best
}

// with is how a node would stand with an entry's usage.
func (t *tournament) with(n quota.NodeID, e *entry) contest {
	c := contest{entry: e}
	t.tree.addAll(e.line.node, e.uses)
	c.share = t.tree.Share(n)
	for _, u := range e.uses {
		c.borrows = c.borrows || u.amount > 0 && !t.tree.Within(n, u.pair, 0)
	}
	t.tree.removeAll(e.line.node, e.uses)
	return c
}

func (t *tournament) beats(a, b contest) bool {
	if a.borrows != b.borrows {
		return b.borrows
	}
	return cmp.Or(a.share.Compare(b.share), compare(a.item, b.item)) < 0
}
