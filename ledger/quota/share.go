package quota

import (
	"math/bits"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Share is how far a node is beyond what is its own, as a part of what it could
// get of its parent: for the resource where that is most,
//
//	1000 × Σ flavors max(0, Usage − Subtree) / Σ flavors Potential(parent) / weight
//
// The zero value is a node that borrows nothing.
type Share struct {
	// Borrowing: it uses more than its own of something, though maybe of nothing
	// that its parent could lend.
	Borrowing bool
	Resource  string // where it is most; empty for a share of 0
	over      int64
	of        int64
	weight    int64 // millionths
}

// Share of a node; a root has none.
func (t *Tree) Share(n NodeID) Share {
	s := Share{weight: t.nodes[n].weight}
	if t.nodes[n].parent == None {
		return s
	}
	first := t.at(n, 0)
	for pair := 0; pair < len(t.pairs); {
		r := t.resource[pair]
		over := int64(0)
		for ; pair < len(t.pairs) && t.resource[pair] == r; pair++ {
			over = resource.Add(over, max(0, resource.Sub(t.usage[first+pair], t.cells[first+pair].subtree)))
		}
		if over == 0 {
			continue
		}
		s.Borrowing = true
		of := t.lendable[int(n)*len(t.resources)+int(r)]
		if of > 0 && (s.over == 0 || compareProducts(over, s.of, 1, s.over, of, 1) > 0) {
			s.over, s.of, s.Resource = over, of, t.resources[r]
		}
	}
	return s
}

// Infinite: whatever it borrows is too much.
func (s Share) Infinite() bool { return s.weight == 0 && s.over > 0 }

// Compare orders shares, exactly. Among those that are infinite, who borrows more
// is further up.
func (s Share) Compare(other Share) int {
	switch a, b := s.Infinite(), other.Infinite(); {
	case a && !b:
		return 1
	case b && !a:
		return -1
	case a && b:
		return compareProducts(s.over, other.of, 1, other.over, s.of, 1)
	case s.over == 0 || other.over == 0:
		return min(1, int(min(s.over, 1)-min(other.over, 1)))
	}
	return compareProducts(s.over, other.of, other.weight, other.over, s.of, s.weight)
}

// Value is the share as a number; it is not for comparing.
func (s Share) Value() float64 {
	if s.over == 0 {
		return 0
	}
	return float64(s.over) * 1000 / float64(s.of) * WholeWeight / float64(s.weight)
}

// compareProducts compares a×b×c with d×e×f, all of them ≥ 0.
func compareProducts(a, b, c, d, e, f int64) int {
	x, y := product(a, b, c), product(d, e, f)
	for i := range x {
		switch {
		case x[i] > y[i]:
			return 1
		case x[i] < y[i]:
			return -1
		}
	}
	return 0
}

// product is a×b×c in 192 bits, the highest first.
func product(a, b, c int64) [3]uint64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	carry, lowest := bits.Mul64(low, uint64(c))
	highest, middle := bits.Mul64(high, uint64(c))
	middle, over := bits.Add64(middle, carry, 0)
	return [3]uint64{highest + over, middle, lowest}
}
