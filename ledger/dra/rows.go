package dra

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/supply"
)

// Changed counts what may have changed, and hands over all rows of the nodes of which
// one did, by name.
func (s *State) Changed() []supply.Devices {
	again := maps.Clone(s.dirty)
	for w := range s.recount {
		for _, n := range s.nodes {
			again[n] = true
			n.paired = false
			if !s.dirty[n] {
				s.count(n, w)
			}
		}
	}
	if s.countDirty() {
		for _, n := range s.nodes {
			again[n] = true
		}
	}
	for n := range again {
		s.pairUp(n)
	}
	// Not cleared: that costs what the map has ever held.
	s.dirty, s.recount = map[*node]bool{}, map[*want]bool{}
	return s.tell(again)
}

// countDirty counts all rows of the nodes that something happened to, and tells
// whether one became such as the scheduler gives up everywhere, or is none any more.
func (s *State) countDirty() bool {
	blocked := map[*want]bool{}
	for _, w := range s.wants {
		blocked[w] = len(w.errors) > 0
	}
	for n := range s.dirty {
		s.standIn(n)
		for _, w := range s.wants {
			s.count(n, w)
		}
	}
	for w, was := range blocked {
		if was != (len(w.errors) > 0) {
			return true
		}
	}
	return false
}

// tell compares rows with those that were told last.
func (s *State) tell(nodes map[*node]bool) []supply.Devices {
	var list []supply.Devices
	for n := range nodes {
		rows := n.rows()
		if maps.Equal(rows, n.told) {
			continue
		}
		n.told = rows
		list = append(list, supply.Devices{Node: n.name, Rows: rows})
		if !n.seen && len(n.pools) == 0 && len(n.pods) == 0 {
			s.forget(n)
		}
	}
	slices.SortFunc(list, func(a, b supply.Devices) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// Rows is all that was handed over and still holds, by node.
func (s *State) Rows() []supply.Devices {
	var list []supply.Devices
	for _, n := range s.nodes {
		if len(n.told) > 0 {
			list = append(list, supply.Devices{Node: n.name, Rows: n.told})
		}
	}
	slices.SortFunc(list, func(a, b supply.Devices) int { return strings.Compare(a.Node, b.Node) })
	return list
}

func (s *State) forget(n *node) {
	for w := range n.found {
		delete(w.errors, n.name)
	}
	delete(s.nodes, n.name)
}

// rows of a node. Of what the scheduler gives up everywhere nothing is free.
func (n *node) rows() map[string]supply.Stock {
	rows := map[string]supply.Stock{}
	if !n.seen {
		return rows
	}
	for w, found := range n.found {
		stock := supply.Stock{Total: max(found.total, found.free), Free: found.free}
		if len(w.errors) > 0 {
			stock.Free = 0
		}
		if stock != (supply.Stock{}) {
			rows[w.name] = stock
		}
	}
	return rows
}

func (s *State) count(n *node, w *want) {
	found := finding{}
	if n.seen {
		found = s.find(n, w)
	}
	n.found[w] = found
	delete(w.errors, n.name)
	if found.err != "" {
		w.errors[n.name] = found.err
	}
}
