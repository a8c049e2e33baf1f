package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
)

// flavorsMax is of how many flavors the nodes are told.
const flavorsMax = 4

// Nodes is how the nodes look to a Job that waits for them, flavor by flavor, in the
// order in which the flavors are tried; nil if it waits for something else.
func (s *Planner) Nodes(uid string) []reason.FlavorNodes {
	it := s.items[uid]
	if it == nil || it.state == admitted || it.class == nil {
		return nil
	}
	if code := s.current.codeOf(it); code != reason.WaitingForMachines && code != reason.Fragmented && code != reason.NeverFits {
		return nil
	}
	return s.current.nodesOf(it)
}

func (p *planner) nodesOf(it *item) []reason.FlavorNodes {
	var all []reason.FlavorNodes
	p.machines.look = func(flavor string, shape *fit.Shape) {
		told := slices.ContainsFunc(all, func(f reason.FlavorNodes) bool { return f.Flavor == flavor })
		if !told && len(all) < flavorsMax {
			labels := p.Catalog.Flavors[flavor].NodeLabels
			all = append(all, reason.FlavorNodes{Flavor: flavor, Groups: p.machines.room.Alike(shape, labels)})
		}
	}
	defer func() { p.machines.look = nil }()
	var from tried
	if p.OneRound {
		from = it.from
	}
	p.lacks(it.class, from)
	return all
}
