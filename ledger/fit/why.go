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

// Shortage says of which resource there is not enough, and how it lies.
type Shortage struct {
	Resource string
	// Free on all nodes that may run the shape, and what the pods need there.
	Free, Need int64
	// Nodes on which any of it is free, and the most that one of them has.
	Nodes   int
	Largest int64
	// Total is true if there is too little of it in all; otherwise there is
	// enough, but not in pieces that are big enough.
	Total bool
}

// Short finds what so many pods of a shape lack. If several resources are
// short, it names the one that leaves room for the fewest pods; devices before
// cpu and memory, then by name.
func (r *Room) Short(s *Shape, pods int64) Shortage {
	r.table(s)
	var worst Shortage
	worstFits, found := int64(0), false
	for _, a := range s.req {
		sh, fits := r.lies(s, a, pods)
		better := !found || fits < worstFits ||
			(fits == worstFits && before(sh.Resource, worst.Resource))
		if sh.Total != worst.Total && found {
			better = sh.Total // too little in all is the plainer answer
		}
		if better {
			worst, worstFits, found = sh, fits, true
		}
	}
	return worst
}

// lies sums up one resource over the nodes, and for how many pods it is enough.
func (r *Room) lies(s *Shape, a amount, pods int64) (Shortage, int64) {
	sh := Shortage{Resource: r.nodes.resources[a.res], Need: resource.Mul(a.n, pods)}
	fits := int64(0)
	for i := range r.nodes.rows {
		if !s.matches(int32(i)) {
			continue
		}
		free := r.free[i*r.nodes.stride+int(a.res)]
		sh.Free = resource.Add(sh.Free, free)
		if free > 0 {
			sh.Nodes++
			sh.Largest = max(sh.Largest, free)
		}
		fits = resource.Add(fits, free/a.n)
	}
	sh.Total = sh.Free < sh.Need
	return sh, fits
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
