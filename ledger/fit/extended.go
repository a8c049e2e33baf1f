package fit

import (
	"maps"
	"slices"
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

// lend brings in what a node has of extended resources, and tells whether that is
// other than before. The scheduler decides by each node: what it says is allocatable
// comes from its plugin, and nothing else does then.
func (n *Nodes) lend(i int32) bool {
	changed := false
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
		changed = changed || n.alloc[k] != now || n.whole[k] != atBest
		n.alloc[k], n.whole[k] = now, atBest
		if lent != r.lent[res] {
			n.held[k] += lent - r.lent[res]
			if r.lent == nil {
				r.lent = map[int32]int64{}
			}
			r.lent[res] = lent
		}
	}
	return changed
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
