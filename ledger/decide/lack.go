package decide

import (
	"maps"

	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// lacks is what pod sets lack, found out once for all queues: most who wait ask for one
// of few shapes. It is good for the machines of one moment, and until something else is
// promised.
type lacks struct {
	at    [2]uint64 // as Snapshot.Machines has it
	known map[lackKey]*reason.Reason
}

// lackKey is all that decides about what a pod set lacks that need not be in one domain.
type lackKey struct {
	flavor      string
	shape, asks *fit.Shape
	pods, until int64
	verified    bool
}

// lack says why the machines of the flavors chosen won't do, nil if they will. A pod
// set that never has machines keeps the others from starting as well.
func (m *machines) lack(flavor string, sets []chosen) *reason.Reason {
	if len(sets) != 1 || sets[0].machines.topology.Level != "" || m.look != nil {
		return m.lackOfAll(flavor, sets)
	}
	s := &sets[0]
	key := lackKey{flavor, s.machines.shape, s.machines.asks, s.count, s.machines.until, s.machines.verified}
	have, free := m.snapshot.Machines()
	if now := [2]uint64{have, free}; m.lacks.known == nil || m.lacks.at != now {
		m.lacks = lacks{at: now, known: map[lackKey]*reason.Reason{}}
	}
	r, known := m.lacks.known[key]
	if !known {
		r = m.lackOfAll(flavor, sets)
		m.lacks.known[key] = r
	}
	return r
}

func (m *machines) lackOfAll(flavor string, sets []chosen) *reason.Reason {
	if unsettle(sets); m.allow(sets) {
		return nil
	}
	var r reason.Reason
	found := false
	for i := range sets {
		s := &sets[i]
		if !s.machines.verified {
			continue
		}
		one := m.lackOf(flavor, s)
		if one.Code == reason.NeverFits {
			return &one
		}
		if !found {
			r, found = one, m.room.Slots(s.machines.shape) < s.count // this one alone is too much
		}
	}
	return &r
}

func (m *machines) lackOf(flavor string, s *chosen) reason.Reason {
	shape := s.machines.shape
	empty, coming := m.snapshot.Empty(s.machines.asks), m.snapshot.Coming(s.machines.asks)
	if m.look != nil {
		m.look(flavor, shape)
	}
	switch {
	case empty.Nodes == 0:
		return reason.NoSuchMachines(m.snapshot.Barred(s.machines.asks, flavor, m.labels(flavor, s.machines), s.machines.node))
	case empty.Slots < s.count:
		return reason.TooSmallMachines(reason.Empty{
			Flavor: flavor, Pods: s.count, Slots: empty.Slots, Nodes: empty.Nodes, Cause: empty.Cause, Single: empty.Slots > 0, Coming: coming,
			Scarce: resource.Words(empty.Scarce), Each: empty.Each, Most: empty.Most,
		})
	}
	if r := m.noDomainEver(flavor, s); r != nil {
		return *r
	}
	short := m.room.Short(shape, s.count)
	about := reason.Machines{
		Flavor: flavor, Pods: s.count, Resource: resource.Words(short.Resource), PerPod: m.room.Request(shape, short.Resource),
		Need: short.Need, Free: short.Free, Nodes: short.Nodes, Largest: short.Largest, Placing: m.placing(shape),
		Matching: empty.Nodes, Out: empty.Out, Cause: empty.Cause, Lost: m.snapshot.Lost(shape, short.Resource),
		Coming: coming, InVain: s.machines.until,
	}
	switch {
	case m.room.Slots(shape) >= s.count:
		if r := m.straddles(about, s); r != nil {
			return *r
		}
		return reason.BeingPlaced(about)
	case short.Total:
		return reason.TooFewMachines(about)
	}
	return reason.Scattered(about)
}

// labels that make a node one of a flavor, and of those that the same pods have for other
// resources.
func (m *machines) labels(flavor string, of *machineSet) map[string]string {
	labels := maps.Clone(of.selector)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, m.flavors[flavor].NodeLabels)
	return labels
}
