package fit

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"

	"github.com/holdshort/holdshort/ledger/supply"
)

// SetDevices brings in what a node has of all that is counted for claims, instead of
// what it had before. It may come before the node and stay after it; a node that is
// not there gives nothing.
func (n *Nodes) SetDevices(d supply.Devices) {
	if _, known := n.byName[d.Node]; !known && len(d.Rows) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.Rows)) {
		n.resource(name) // may move the rows to a wider stride
	}
	i := n.rowOf(d.Node)
	changed := false
	for res, name := range n.resources {
		if !n.forClaims[res] {
			continue
		}
		k := int(i)*n.stride + res
		total, free := countable(d.Rows[name].Total), countable(d.Rows[name].Free)
		changed = changed || n.alloc[k] != total
		n.alloc[k], n.whole[k], n.held[k] = total, total, max(0, total-free)
	}
	n.rows[i].devices = len(d.Rows) > 0
	if have, _ := n.lend(i); have || changed {
		n.changes++
		n.resize(n.rows[i].of)
	}
	n.touch(i)
	n.release(i)
}

// SetCosts brings in what a unit of one row of devices can cost another.
func (n *Nodes) SetCosts(costs []supply.Cost) {
	n.told = costs
	n.price()
	n.changes++ // what others leave is less or more than it was
}

// takes is the most that a pod of the shape can take from a resource: what it asks
// for, and what that costs where it means the same devices.
func (s *Shape) takes(res int32) int64 {
	all := s.amount(res)
	if !s.nodes.costly[res] {
		return all
	}
	for _, a := range s.req {
		for _, cost := range s.nodes.costs[a.res] {
			if cost.res == res {
				all = resource.Add(all, resource.Mul(a.n, cost.n))
			}
		}
	}
	return all
}
