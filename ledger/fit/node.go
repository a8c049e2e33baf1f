package fit

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// set notes what node a row has, and what is asked of it more often than it changes.
func (r *row) set(node *supply.Node) {
	r.node = node
	r.open = node != nil && node.Ready && node.Closed == "" && !cordoned(node)
	r.odd = node != nil && (node.Closed != "" || node.Unsure != "")
}

func cordoned(node *supply.Node) bool {
	for _, t := range node.Taints {
		if t.Key == taintUnschedulable {
			return true
		}
	}
	return false
}

func sameClass(a, b *supply.Node) bool {
	return a.Ready == b.Ready && a.Closed == b.Closed && a.Unsure == b.Unsure && maps.Equal(a.Labels, b.Labels) &&
		slices.Equal(a.Taints, b.Taints) && slices.Equal(a.Features, b.Features)
}

// gives is how much of a resource a node has to give now, and how much when all
// is in order. Devices that are out of order, or whose plugin is away, are in the
// capacity only, and may come back. Of cpu, memory and the like a node keeps a
// part for itself for good; there the capacity says something only while
// nothing at all can be given.
func gives(node *supply.Node, name string) (now, atBest int64) {
	if resource.IsOnce(name) {
		return resource.Whole, resource.Whole
	}
	now = countable(node.Allocatable[name])
	if now > 0 && !resource.IsDevice(name) {
		return now, now
	}
	return now, max(now, countable(node.Capacity[name]))
}

func countable(n int64) int64 { return min(max(n, 0), amountMax) }
