package fit

import (
	"maps"
	"slices"
)

// Frozen is what is held, and what vectors and sums are of, to be read while the nodes
// themselves go on.
func (n *Nodes) Frozen() *Nodes {
	f := &Nodes{
		resources: slices.Clone(n.resources), forClaims: slices.Clone(n.forClaims),
		stride: n.stride, held: slices.Clone(n.held), rows: make([]row, len(n.rows)),
	}
	for i := range n.rows {
		f.rows[i] = row{name: n.rows[i].name, lent: maps.Clone(n.rows[i].lent)}
	}
	return f
}

// HoldNothing has no pod held anywhere, for all of them to be held again; then Recount.
// What SetDevices said is kept.
func (n *Nodes) HoldNothing() {
	for i := range n.rows {
		n.rows[i].pods, n.rows[i].lent = 0, nil
		for res := range n.resources {
			if !n.forClaims[res] {
				n.held[i*n.stride+res] = 0
			}
		}
	}
}

// Recount works out anew what is free.
func (n *Nodes) Recount() {
	for i := range n.rows {
		n.lend(int32(i))
		n.touch(int32(i))
		if n.rows[i].name != "" {
			n.release(int32(i))
		}
	}
	n.changes++
}
