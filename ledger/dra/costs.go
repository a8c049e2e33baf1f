package dra

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/supply"
)

// pair of wants that may have the same things.
type pair struct{ of, from *want }

// overlap is on how many nodes a pair shares devices, and nothing but their number
// matters there, and on how many it is not so simple.
type overlap struct{ plain, mixed int }

func (o overlap) units() int64 {
	switch {
	case o.mixed > 0:
		return supply.All
	case o.plain > 0:
		return 1
	}
	return 0
}

// Costs is what a unit of one row can cost another, of all pairs for which that is
// anything, in order; and whether it is other than when last asked. To be asked after
// Changed, which finds it out.
func (s *State) Costs() ([]supply.Cost, bool) {
	list := make([]supply.Cost, 0, len(s.overlaps))
	for p, o := range s.overlaps {
		list = append(list, supply.Cost{Of: p.of.name, From: p.from.name, Units: o.units()})
	}
	slices.SortFunc(list, func(a, b supply.Cost) int {
		return cmp.Or(strings.Compare(a.Of, b.Of), strings.Compare(a.From, b.From))
	})
	changed := !slices.Equal(list, s.costs)
	s.costs = list
	return list, changed
}

// Told is the costs that were handed over last.
func (s *State) Told() []supply.Cost { return s.costs }

// pairUp finds anew which wants have the same things on a node.
func (s *State) pairUp(n *node) {
	if n.paired {
		return
	}
	for p, mixed := range n.pairs {
		s.addPair(p, mixed, -1)
	}
	n.pairs, n.paired = nil, true
	if !n.seen {
		return
	}
	n.pairs = map[pair]bool{}
	s.findPairs(n, s.viewOf(n))
	for p, mixed := range n.pairs {
		s.addPair(p, mixed, 1)
	}
}

func (s *State) addPair(p pair, mixed bool, by int) {
	o := s.overlaps[p]
	if mixed {
		o.mixed += by
	} else {
		o.plain += by
	}
	if s.overlaps[p] = o; o == (overlap{}) {
		delete(s.overlaps, p)
	}
}

// counterSet of a pool is a thing that two wants can't both have, as a device is.
type counterSet struct {
	pool *pool
	name string
}

// findPairs looks at each device of a node, whether it is in use or tainted or not:
// that changes too often.
func (s *State) findPairs(n *node, v *view) {
	if len(s.wants) < 2 {
		return
	}
	var wants, last []*want
	consumers := map[counterSet]map[*want]bool{}
	for i := range v.parts {
		for _, l := range v.parts[i].slices {
			for j := range l.devices {
				d := &l.devices[j]
				wants, last = s.suitors(last[:0], d), wants
				if !slices.Equal(wants, last) { // most devices of a node are alike
					n.link(v, wants)
				}
				for _, consumption := range d.spec.ConsumesCounters {
					set := counterSet{l.pool, consumption.CounterSet}
					if consumers[set] == nil {
						consumers[set] = map[*want]bool{}
					}
					for _, w := range wants {
						consumers[set][w] = true
					}
				}
			}
		}
	}
	for _, of := range consumers {
		n.link(v, slices.Collect(maps.Keys(of)))
	}
}

func (n *node) link(v *view, wants []*want) {
	for _, a := range wants {
		for _, b := range wants {
			if a != b {
				n.pairs[pair{a, b}] = !v.plain || !a.set || !b.set
			}
		}
	}
}

// suitors are the wants of which a request may have the device.
func (s *State) suitors(list []*want, d *device) []*want {
	for _, w := range s.inOrder {
		if slices.ContainsFunc(w.requests, func(r *request) bool {
			return (!r.admin || d.shares()) && r.match.on(d.kind, s.expressions).yes
		}) {
			list = append(list, w)
		}
	}
	return list
}
