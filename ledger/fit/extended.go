package fit

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/supply"
)

// SetExtended says which resources a node without a device plugin for them gives out of
// a row of devices: resource → row. What a node has of such a resource, and what is held
// of it, is that of the row there, besides what pods hold of it by themselves.
func (n *Nodes) SetExtended(rows map[string]string) {
	if maps.Equal(rows, n.rowOfName) {
		return
	}
	for i := range n.rows {
		n.unlend(int32(i))
	}
	n.rowOfName, n.extended = maps.Clone(rows), map[int32]int32{}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		n.extended[n.resource(name)] = n.resource(rows[name])
	}
	for i := range n.rows {
		n.lend(int32(i))
		n.touch(int32(i))
		n.resize(n.rows[i].of)
	}
	n.price()
	n.changes++
}

// lend brings in what a node has of extended resources, and what is held of them, and tells
// whether that is other than before. The scheduler decides by each node: what it says is allocatable
// comes from its plugin, and nothing else does then.
func (n *Nodes) lend(i int32) (have, held bool) {
	for res, row := range n.extended {
		r := &n.rows[i]
		k, from := int(i)*n.stride+int(res), int(i)*n.stride+int(row)
		now, atBest, lent := int64(0), int64(0), int64(0)
		if r.node != nil {
			now, atBest = gives(r.node, n.resources[res])
			if now == 0 && r.node.Allocatable[n.resources[res]] == 0 {
				now, atBest, lent = n.alloc[from], max(atBest, n.whole[from]), n.held[from]
			}
		}
		have = have || n.alloc[k] != now || n.whole[k] != atBest
		n.alloc[k], n.whole[k] = now, atBest
		if lent != r.lent[res] {
			held = true
			n.held[k] += lent - r.lent[res]
			if r.lent == nil {
				r.lent = map[int32]int64{}
			}
			r.lent[res] = lent
		}
	}
	return have, held
}

// Source is how nodes give containers a resource: a set of ways.
type Source uint8

// The ways.
const (
	ByPlugin Source = 1 << iota
	// ByDevices: the scheduler makes a claim for the pod.
	ByDevices
)

// Draws tells whether pods may get it out of devices: some node gives it so, or no node
// gives it yet.
func (s Source) Draws() bool { return s != ByPlugin }

// Source is how those nodes give a resource that a shape may run on, be they in order or
// not. Machines to come don't say.
func (n *Nodes) Source(s *Shape, resource string) Source {
	var all Source
	res, known := n.index[resource]
	if !known {
		return all
	}
	row, extended := n.extended[res]
	for i := range n.rows {
		r := &n.rows[i]
		if r.node == nil || r.coming() || !s.matchesEver(int32(i)) {
			continue
		}
		_, atBest := gives(r.node, resource)
		switch devices := extended && n.whole[i*n.stride+int(row)] > 0; {
		case devices && r.node.Allocatable[resource] == 0:
			all |= ByDevices
		case atBest > 0:
			all |= ByPlugin
		}
	}
	return all
}

// switches tells whether a node's plugin gives a resource by now that came from its devices,
// or the other way, be it as much as before.
func (n *Nodes) switches(was, now *supply.Node) bool {
	for res := range n.extended {
		if name := n.resources[res]; (was.Allocatable[name] == 0) != (now.Allocatable[name] == 0) {
			return true
		}
	}
	return false
}

func (n *Nodes) unlend(i int32) {
	r := &n.rows[i]
	for res := range n.extended {
		k := int(i)*n.stride + int(res)
		n.alloc[k], n.whole[k] = 0, 0
		if r.node != nil {
			n.alloc[k], n.whole[k] = gives(r.node, n.resources[res])
		}
		n.held[k] -= r.lent[res]
	}
	r.lent = nil
}

// price works out what a unit of each resource costs others where these are of the same
// devices: as rows do, and the resources that are given out of them.
func (n *Nodes) price() {
	n.costs, n.costly = map[int32][]amount{}, map[int32]bool{}
	names := map[int32][]int32{} // row → it, and what is given out of it
	for _, name := range slices.Sorted(maps.Keys(n.rowOfName)) {
		row := n.resource(n.rowOfName[name])
		if names[row] == nil {
			names[row] = []int32{row}
		}
		names[row] = append(names[row], n.resource(name))
	}
	add := func(of, from int32, units int64) {
		n.costs[of] = append(n.costs[of], amount{from, units})
		n.costly[from] = true
	}
	alike := func(row int32) []int32 {
		if list := names[row]; list != nil {
			return list
		}
		return []int32{row}
	}
	for _, c := range n.told {
		for _, of := range alike(n.resource(c.Of)) {
			for _, from := range alike(n.resource(c.From)) {
				add(of, from, c.Units)
			}
		}
	}
	for _, row := range slices.Sorted(maps.Keys(names)) {
		for _, of := range names[row] {
			for _, from := range names[row] {
				if of != from {
					add(of, from, 1)
				}
			}
		}
	}
}
