package quota

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Tree is limits and what is in use of them.
type Tree struct {
	*Limits
	usage []int64 // nodes × pairs
}

// NewTree returns a tree of which nothing is used.
func NewTree(l *Limits) *Tree { return &Tree{Limits: l, usage: make([]int64, len(l.cells))} }

// Clone returns a tree to go on with apart.
func (t *Tree) Clone() *Tree { return &Tree{Limits: t.Limits, usage: slices.Clone(t.usage)} }

// Usage of a queue is what was added to it; of a cohort, what those below it use
// beyond what they keep for themselves.
func (t *Tree) Usage(n NodeID, p PairID) int64 { return t.usage[t.at(n, p)] }

// localAvailable is what is left of what only the node itself can use.
func (t *Tree) localAvailable(at int) int64 {
	return max(0, resource.Sub(t.cells[at].local, t.usage[at]))
}

// Available is how much more a node may use; negative when quotas were lowered
// below what is in use.
func (t *Tree) Available(n NodeID, p PairID) int64 {
	at := t.at(n, p)
	c := &t.cells[at]
	if t.usage[at] == resource.Limit {
		return -resource.Limit // so much or more: whoever is below has nothing left either
	}
	parent := t.nodes[n].parent
	if parent == None {
		return resource.Sub(c.subtree, t.usage[at])
	}
	upward := t.Available(parent, p)
	if c.borrow != boundless {
		stored := max(0, resource.Sub(t.usage[at], c.local))
		upward = min(upward, resource.Add(resource.Sub(resource.Sub(c.subtree, c.local), stored), c.borrow))
	}
	return resource.Add(t.localAvailable(at), upward)
}

// Fits tells whether a queue may use so much more. What is too much to count never
// fits.
func (t *Tree) Fits(n NodeID, p PairID, amount int64) bool {
	return amount < resource.Limit && amount <= max(0, t.Available(n, p))
}

// Add counts more as used by a queue; its cohorts see what it does not keep for
// itself.
func (t *Tree) Add(n NodeID, p PairID, amount int64) {
	for {
		at := t.at(n, p)
		local := t.localAvailable(at)
		t.usage[at] = resource.Add(t.usage[at], amount)
		n = t.nodes[n].parent
		if amount -= local; n == None || amount <= 0 {
			return
		}
	}
}

// Remove takes back what was added.
func (t *Tree) Remove(n NodeID, p PairID, amount int64) {
	for {
		at := t.at(n, p)
		stored := resource.Sub(t.usage[at], t.cells[at].local)
		t.usage[at] = resource.Sub(t.usage[at], amount)
		n = t.nodes[n].parent
		if stored <= 0 || n == None {
			return
		}
		amount = min(amount, stored)
	}
}

// Borrowed is how much a node uses beyond what is its own; 0 of a root.
func (t *Tree) Borrowed(n NodeID, p PairID) int64 {
	if t.nodes[n].parent == None {
		return 0
	}
	at := t.at(n, p)
	return max(0, resource.Sub(t.usage[at], t.cells[at].subtree))
}

// Lent is what a node does not use of its own and could not, since others have it;
// 0 of a root.
func (t *Tree) Lent(n NodeID, p PairID) int64 {
	if t.nodes[n].parent == None {
		return 0
	}
	at := t.at(n, p)
	return max(0, resource.Sub(resource.Sub(t.cells[at].subtree, t.usage[at]), max(0, t.Available(n, p))))
}

// Within tells whether a node would be within what is its own with so much more.
func (t *Tree) Within(n NodeID, p PairID, more int64) bool {
	at := t.at(n, p)
	return resource.Add(t.usage[at], more) <= t.cells[at].subtree
}

// Level is how far up a queue has to borrow for an amount: 0 not at all, else
// the height of the nearest cohort whose own it is. below: there are others above
// that cohort, so that what the queue takes is owed to it.
func (t *Tree) Level(n NodeID, p PairID, amount int64) (level int, below bool) {
	if t.Within(n, p, amount) || t.nodes[n].parent == None {
		return 0, t.nodes[n].parent != None
	}
	rest := resource.Sub(amount, t.localAvailable(t.at(n, p)))
	for {
		n = t.nodes[n].parent
		above := t.nodes[n].parent != None
		if t.Within(n, p, rest) {
			return t.nodes[n].height, above
		}
		if !above {
			return t.nodes[n].height, false
		}
		rest = resource.Sub(rest, t.localAvailable(t.at(n, p)))
	}
}

// Beyond is what of an amount a node can't take of what it keeps for itself.
func (t *Tree) Beyond(n NodeID, p PairID, amount int64) int64 {
	return max(0, resource.Sub(amount, t.localAvailable(t.at(n, p))))
}

// Set says what a queue uses, and brings its cohorts in line with it.
func (t *Tree) Set(n NodeID, p PairID, usage int64) {
	t.usage[t.at(n, p)] = usage
	for n = t.nodes[n].parent; n != None; n = t.nodes[n].parent {
		sum := int64(0)
		for _, child := range t.nodes[n].children {
			at := t.at(child, p)
			sum = resource.Add(sum, max(0, resource.Sub(t.usage[at], t.cells[at].local)))
		}
		at := t.at(n, p)
		if t.usage[at] == sum {
			return
		}
		t.usage[at] = sum
	}
}

// CopyFrom makes a tree equal to another of the same limits.
func (t *Tree) CopyFrom(other *Tree) { copy(t.usage, other.usage) }

// EachChange calls f for what more or less is used of than in another tree of the
// same limits.
func (t *Tree) EachChange(before *Tree, f func(n NodeID, p PairID, freed bool)) {
	pairs := len(t.pairs)
	for n := range t.nodes {
		now, then := t.usage[n*pairs:(n+1)*pairs], before.usage[n*pairs:(n+1)*pairs]
		if slices.Equal(now, then) {
			continue
		}
		for p := range now {
			if now[p] != then[p] {
				f(NodeID(n), PairID(p), now[p] < then[p])
			}
		}
	}
}
