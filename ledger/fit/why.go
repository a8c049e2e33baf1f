package fit

import (
	"strings"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// emptyRoom remembers what would fit on empty machines.
type emptyRoom struct {
	known   bool
	changes uint64
	answer  Empty
}

// Empty is what would fit if nothing ran.
type Empty struct {
	Nodes   int   // that may run the shape, ready or not
	Slots   int64 // on all of them
	Largest int64 // on the best of them
}

// Empty is what the machines would have room for if nothing ran on them and all
// of them were ready and open.
func (n *Nodes) Empty(s *Shape) Empty {
	if s.never.known && s.never.changes == n.changes {
		return s.never.answer
	}
	e := Empty{}
	for i := range n.rows {
		if n.rows[i].node == nil || !allows(s.place, n.rows[i].node, passing) {
			continue
		}
		e.Nodes++
		slots := n.slotsOf(s, n.alloc[i*n.stride:])
		e.Slots += slots
		e.Largest = max(e.Largest, slots)
	}
	s.never = emptyRoom{known: true, changes: n.changes, answer: e}
	return e
}

// passing are taints of a state that passes: being down, full or closed.
func passing(t policies.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") }

func (n *Nodes) slotsOf(s *Shape, free []int64) int64 {
	most := slotsMax
	if s.place.PerNode > 0 {
		most = s.place.PerNode
	}
	for _, a := range s.req {
		most = min(most, free[a.res]/a.n)
	}
	return most
}

// before puts devices first and pod slots last.
func before(a, b string) bool {
	rank := func(name string) int {
		switch {
		case name == resource.Pods:
			return 2
		case strings.Contains(name, "/"):
			return 0
		}
		return 1
	}
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra < rb
	}
	return a < b
}

// Totals is what the nodes have of a resource, where a shape may run.
type Totals struct{ Allocatable, Held, Free, Largest int64 }

// Totals sums up one resource over the nodes that may run the shape.
func (r *Room) Totals(s *Shape, name string) Totals {
	r.table(s)
	t := Totals{}
	res, ok := r.nodes.index[name]
	if !ok {
		return t
	}
	for i := range r.nodes.rows {
		if !s.matches(int32(i)) {
			continue
		}
		at := i*r.nodes.stride + int(res)
		t.Allocatable += r.nodes.alloc[at]
		t.Held += r.nodes.held[at]
		t.Free += r.free[at]
		t.Largest = max(t.Largest, r.free[at])
	}
	return t
}
