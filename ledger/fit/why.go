package fit

import (
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// emptyRoom remembers what would fit on empty machines.
type emptyRoom struct {
	known   bool
	changes uint64
	answer  Empty
	lost    []int64 // of each resource of the shape
}

// Empty is what would fit if nothing ran.
type Empty struct {
	Nodes   int   // that may run the shape, ready or not
	Out     int   // of these, cordoned or not ready
	Slots   int64 // on all of them
	Largest int64 // on the best of them
	// Scarce is the resource of which a pod asks for more than any of them has, or, if
	// one pod fits, that of which they have least for how much each asks; empty: none.
	// Each is what a pod asks for, Most the most that one of them has.
	Scarce     string
	Each, Most int64
	// Cause is why one of them is closed, or its devices not counted; the first in
	// alphabetical order.
	Cause string
}

// Empty is what the machines would have room for if nothing ran on them, all of
// them were ready and open, and no device was out of order.
func (n *Nodes) Empty(s *Shape) Empty {
	if s.never.known && s.never.changes == n.changes {
		return s.never.answer
	}
	var e Empty
	lost, stock, fits := make([]int64, len(s.req)), make([]lie, len(s.req)), make([]int64, len(s.req))
	slots, last := int64(0), []int64(nil)
	for i := range n.mayRun(s) {
		if !s.matchesEver(i) {
			continue
		}
		r, at := &n.rows[i], int(i)*n.stride
		now, whole := n.alloc[at:at+n.stride], n.whole[at:at+n.stride]
		if last == nil || !slices.Equal(last, whole) { // most are like the one before
			slots, last = n.slotsOf(s, whole), whole
			for k, a := range s.req {
				fits[k] = whole[a.res] / a.n
				stock[k].largest = max(stock[k].largest, whole[a.res])
			}
		}
		for k := range fits {
			stock[k].fits = resource.Add(stock[k].fits, fits[k])
		}
		e.Nodes++
		e.Slots += slots
		e.Largest = max(e.Largest, slots)
		if r.odd {
			e.note(r.node)
		}
		if !r.open {
			e.Out++
			continue
		}
		for k, a := range s.req {
			lost[k] += whole[a.res] - now[a.res]
		}
	}
	n.scarce(s, &e, stock)
	s.never = emptyRoom{known: true, changes: n.changes, answer: e, lost: lost}
	return e
}

// scarce finds what there is too little of, given how it lies on the machines.
func (n *Nodes) scarce(s *Shape, e *Empty, stock []lie) {
	found := -1
	for k, a := range s.req {
		if name := n.resources[a.res]; resource.IsOnce(name) || e.Largest == 0 && stock[k].fits > 0 {
			continue // a node has it, and if no node has all of it at once, none of it is scarce
		} else if found < 0 || stock[k].fits < stock[found].fits ||
			stock[k].fits == stock[found].fits && before(name, n.resources[s.req[found].res]) {
			found = k
		}
	}
	if found >= 0 {
		e.Scarce, e.Each, e.Most = n.resources[s.req[found].res], s.req[found].n, stock[found].largest
	}
}

func (e *Empty) note(node *supply.Node) {
	for _, cause := range []string{node.Closed, node.Unsure} {
		if cause != "" && (e.Cause == "" || cause < e.Cause) {
			e.Cause = cause
		}
	}
}

// Lost is how much of a resource is built into the nodes that may run the shape
// and are open, but can't be given out for the moment.
func (n *Nodes) Lost(s *Shape, name string) int64 {
	n.Empty(s)
	for k, a := range s.req {
		if n.resources[a.res] == name {
			return s.never.lost[k]
		}
	}
	return 0
}

// passing are taints of a state that passes: being down, full or closed.
func passing(t policies.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") }

func (n *Nodes) slotsOf(s *Shape, free []int64) int64 {
	most := slotsMax
	if s.perNode > 0 {
		most = s.perNode
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
		case resource.IsDevice(name):
			return 0
		}
		return 1
	}
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra < rb
	}
	return a < b
}
