package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// domainsMax is the most domains that are tried for one Job: those where it would fit,
// by what is counted for each, and one after the other turns out to be promised room
// that others need. It is asked again when those are placed.
const domainsMax = 64

// preferDomainsMax is the most domains that a preference names.
const preferDomainsMax = 100

// levels has the offers clash whose flavors can't put the pods in one domain of the
// level that they ask for. Of a pod set with several flavors, some have to: the pods
// are on machines that are of all of them.
func (p *planner) levels(level string, parts []part) {
	if level == "" {
		return
	}
	has := func(o offer) bool { return p.noLevel(o.flavor, level) == nil }
	some := slices.ContainsFunc(parts, func(this part) bool { return slices.ContainsFunc(this.offers, has) })
	for i := range parts {
		offers := parts[i].offers
		if some && !slices.ContainsFunc(offers, has) {
			continue
		}
		for k := range offers {
			if o := &offers[k]; o.clash == nil {
				o.clash = p.noLevel(o.flavor, level)
			}
		}
	}
}

// noLevel is why a flavor has no domains of a level, nil if it has.
func (p *planner) noLevel(name, level string) *reason.Reason {
	f := p.Catalog.Flavors[name]
	switch {
	case !slices.Contains(f.Topology, level):
		r := reason.NoSuchLevel(name, level, f.Topology)
		return &r
	case f.Verify == policies.VerifyNone:
		r := reason.UncheckedLevel(name, level)
		return &r
	}
	return nil
}

// in is the machines of one domain alone.
func (m *machines) in(of *machineSet, domain string) *machineSet {
	made := *of
	label := map[string]string{of.topology.Level: domain}
	made.anywhere, made.domain = of, domain
	made.place = book.Inject(of.place, label, nil)
	made.shape = m.snapshot.Shape(made.place, of.requests)
	if _, selected := of.place.NodeSelector[of.topology.Level]; !selected {
		made.selector = book.Inject(demand.Place{NodeSelector: of.selector}, label, nil).NodeSelector
	}
	return &made
}

// settle tells whether a pod set is well as it is. One that has to be in one domain gets
// the one in which it is, and that leaves the least room over.
func (m *machines) settle(s *chosen, well func(*chosen) bool) bool {
	of := s.machines
	if !of.topology.Required || of.anywhere != nil {
		return well(s)
	}
	holding := m.room.Holding(of.shape, of.topology.Level, s.count, m.promises)
	for _, d := range holding[:min(len(holding), domainsMax)] {
		if s.machines = m.in(of, d.Name); well(s) {
			return true
		}
	}
	s.machines = of
	return false
}

// unsettle has domains chosen anew.
func unsettle(sets []chosen) {
	for i := range sets {
		if of := sets[i].machines.anywhere; of != nil {
			sets[i].machines = of
		}
	}
}

// allowBeside is allow, with nobody harmed who is to have room on other machines either.
func (m *machines) allowBeside(sets []chosen, other *machines) bool {
	well := func(s *chosen) bool { return m.well(s) && other.spares(s) }
	return m.each(sets, func(s *chosen) bool { return m.settle(s, well) }, other)
}

// noDomainEver is why no domain will ever hold a pod set, nil if it need not be in one,
// or may be.
func (m *machines) noDomainEver(flavor string, c *chosen) *reason.Reason {
	level := c.machines.topology.Level
	if !c.machines.topology.Required {
		return nil
	}
	all := m.snapshot.EmptyDomains(c.machines.asks, level)
	var r reason.Reason
	switch {
	case all.Count == 0:
		r = reason.NoDomains(flavor, level)
	case all.Largest.Slots < c.count:
		r = reason.TooSmallDomains(flavor, c.count, inDomains(level, all))
	default:
		return nil
	}
	return &r
}

// straddles is that there is room for a pod set, but not in one domain; nil if there is.
func (m *machines) straddles(about reason.Machines, c *chosen) *reason.Reason {
	if !c.machines.topology.Required {
		return nil
	}
	all := m.room.Domains(c.machines.shape, c.machines.topology.Level)
	if all.Largest.Slots >= c.count {
		return nil
	}
	r := reason.Straddles(about, inDomains(c.machines.topology.Level, all))
	return &r
}

func inDomains(level string, all fit.Domains) reason.InDomains {
	return reason.InDomains{Level: level, Count: all.Count, Room: all.Slots, Largest: all.Largest.Name, Most: all.Largest.Slots}
}

// near plans for a pod set that prefers to be in one domain: the one that leaves the
// least over, else as few as there is room for. What has no such place goes anywhere.
func (m *machines) near(s *chosen) ([]fit.Placed, *demand.Domains) {
	level, shape, left := s.machines.topology.Level, s.machines.shape, s.count
	var placed []fit.Placed
	var names []string
	for left > 0 {
		d := m.planned.Domains(shape, level).Largest
		if whole := m.planned.Holding(shape, level, left, nil); len(whole) > 0 {
			d = whole[0]
		}
		pods := min(left, d.Slots)
		here, ok := m.planned.Place(m.in(s.machines, d.Name).shape, pods)
		if !ok || pods == 0 {
			break
		}
		placed, names, left = append(placed, here...), append(names, d.Name), left-pods
	}
	if rest, ok := m.planned.Place(shape, left); ok {
		placed = append(placed, rest...)
	} else {
		placed, _ = m.room.Copy().Place(shape, s.count)
	}
	if len(names) == 0 || len(names) > preferDomainsMax {
		return placed, nil
	}
	slices.Sort(names)
	return placed, &demand.Domains{Level: level, Names: slices.Compact(names)}
}

// inDomain is what is written of the domain that was chosen, nil if none was.
func (m *machineSet) inDomain() *demand.Domains {
	if m.anywhere == nil {
		return nil
	}
	return &demand.Domains{Level: m.topology.Level, Names: []string{m.domain}, Required: true}
}
