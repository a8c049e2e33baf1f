package decide

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// machines answers whether a gang may be let go, given what is free and what
// was promised before, this plan's own promises included.
//
// Unbound pods land where the scheduler likes, within their selectors. So a gang
// is let go only if it fits wherever all the others land, and every one of them
// still fits wherever the gang lands (fit.Room.Left has the arithmetic).
type machines struct {
	snapshot *book.Snapshot
	flavors  map[string]policies.Flavor
	room     *fit.Room
	promises []fit.Promise // one for each shape
	index    map[*fit.Shape]int
	rivals   map[*fit.Shape]rivals
	others   []fit.Promise   // scratch
	planned  *fit.Room       // a copy in which every promise has its nodes
	spare    *fit.Room       // the one of an earlier plan, for its memory
	asked    map[string]bool // machines that are not there, and that it has there
	lacks    lacks
	// look is told of the machines that won't do, while somebody asks for them.
	look func(flavor string, shape *fit.Shape)
}

// rivals is the unbound pods of one shape for whose room nobody stands surety, and how
// many of them can be in the way.
type rivals struct{ pods, counted int64 }

func newMachines(s *book.Snapshot, catalog *policies.Catalog) *machines {
	m := &machines{snapshot: s, room: s.Room(), index: map[*fit.Shape]int{}}
	if catalog != nil {
		m.flavors = catalog.Flavors
	}
	for _, r := range s.Rivals() {
		if m.rivals == nil {
			m.rivals = map[*fit.Shape]rivals{}
		}
		m.rivals[r.Shape] = rivals{r.Pods, min(r.Pods, m.room.Slots(r.Shape))}
		m.promise(r.Shape, r.Pods, false)
	}
	for _, p := range s.Promises() {
		m.promise(p.Shape, p.Pods, verified(catalog, p.Flavor))
	}
	return m
}

// verified: a flavor that left the policy was verified, for all we know.
func verified(catalog *policies.Catalog, flavor string) bool {
	return catalog == nil || catalog.Flavors[flavor].Verify != policies.VerifyNone
}

// promise counts pods that will come. Of pods for whose room nobody stands
// surety, only as many can be in the way as fit.
func (m *machines) promise(s *fit.Shape, pods int64, firm bool) {
	m.lacks.known = nil
	if !firm {
		pods = min(pods, m.room.Slots(s))
	}
	i, ok := m.index[s]
	if !ok {
		i = len(m.promises)
		m.index[s] = i
		m.promises = append(m.promises, fit.Promise{Shape: s})
	}
	m.promises[i].Pods = resource.Add(m.promises[i].Pods, pods)
	m.promises[i].Firm = m.promises[i].Firm || firm
}

// promiseAll counts the pods of a Job.
func (m *machines) promiseAll(sets []chosen) {
	for i := range sets {
		m.promise(sets[i].machines.shape, sets[i].count, sets[i].machines.verified)
	}
}

// unpromise takes back what was promised before.
func (m *machines) unpromise(s *fit.Shape, pods int64) {
	m.lacks.known = nil
	if i, ok := m.index[s]; ok {
		m.promises[i].Pods = max(0, resource.Sub(m.promises[i].Pods, pods))
	}
}

func (m *machines) promised(s *fit.Shape) int64 {
	if i, ok := m.index[s]; ok {
		return m.promises[i].Pods
	}
	return 0
}

// copy returns machines to try things out with.
func (m *machines) copy() *machines {
	return &machines{
		snapshot: m.snapshot, flavors: m.flavors, room: m.room.Copy(), promises: slices.Clone(m.promises), index: maps.Clone(m.index), rivals: maps.Clone(m.rivals),
	}
}

// free takes a Job's pods off a copy, those that are bound and those that will be, or
// may; with sign -1 it puts them back.
func (m *machines) free(e *book.Entry, sign int64) {
	m.lacks.known = nil
	m.snapshot.EachBound(e, func(node string, gives *fit.Vector) { m.room.Give(node, gives, sign) })
	e.EachPromise(func(shape *fit.Shape, pods int64) {
		if i, ok := m.index[shape]; ok {
			m.promises[i].Pods = max(0, resource.Sub(m.promises[i].Pods, sign*pods))
		}
	})
	m.snapshot.EachRival(e, func(shape *fit.Shape, pods int64) { m.freeRivals(shape, sign*pods) })
}

// freeRivals takes pods off that are in nobody's way any more.
func (m *machines) freeRivals(s *fit.Shape, pods int64) {
	r, ok := m.rivals[s]
	if !ok {
		return
	}
	left := max(0, r.pods-pods)
	counted := min(left, m.room.Slots(s))
	p := &m.promises[m.index[s]]
	p.Pods = max(0, p.Pods+counted-r.counted)
	m.rivals[s] = rivals{left, counted}
}

// allow tells whether all pod sets of a gang may be let go together. Those that have to
// be in one domain get one, if they have none yet.
func (m *machines) allow(sets []chosen) bool {
	return m.each(sets, func(s *chosen) bool { return m.settle(s, m.well) })
}

func (m *machines) well(s *chosen) bool { return m.has(s) && m.spares(s) }

// each tells whether all pod sets that have to have machines are well, each beside
// those before it; they are counted on other machines, too.
func (m *machines) each(sets []chosen, well func(*chosen) bool, others ...*machines) bool {
	if len(sets) == 1 {
		return !sets[0].machines.verified || well(&sets[0])
	}
	all := append(slices.Clip(others), m)
	for _, m := range all {
		saved, index := m.promises, m.index
		m.promises, m.index = slices.Clone(saved), maps.Clone(index)
		defer func() { m.promises, m.index = saved, index }()
	}
	for i := range sets {
		s := &sets[i]
		if s.machines.verified && !well(s) {
			return false
		}
		for _, m := range all {
			m.promise(s.machines.shape, s.count, s.machines.verified)
		}
	}
	return true
}

// has tells whether a pod set has room wherever all others land.
func (m *machines) has(s *chosen) bool {
	need := resource.Add(m.promised(s.machines.shape), s.count)
	return m.room.Slots(s.machines.shape) >= need && m.room.Left(s.machines.shape, m.promises) >= need
}

// spares tells whether all others, each against everything else with the pod set in
// it, have room wherever it lands.
func (m *machines) spares(c *chosen) bool {
	shape := c.machines.shape
	need := resource.Add(m.promised(shape), c.count)
	m.others = append(m.others[:0], m.promises...)
	if i, ok := m.index[shape]; ok {
		m.others[i].Pods = need
	} else {
		m.others = append(m.others, fit.Promise{Shape: shape, Pods: need, Firm: true})
	}
	for _, o := range m.promises {
		if !o.Firm || o.Shape == shape || !fit.Overlap(o.Shape, shape) {
			continue
		}
		// A promise that strangers broke before is no reason to hold up what
		// does not make it worse.
		left := m.room.Left(o.Shape, m.others)
		if left < o.Pods && left < m.room.Left(o.Shape, m.promises) {
			return false
		}
	}
	return true
}

// placing is how many promised or rival pods may land where the shape may.
func (m *machines) placing(s *fit.Shape) int64 {
	n := int64(0)
	for _, p := range m.promises {
		if p.Shape == s || fit.Overlap(p.Shape, s) {
			n = resource.Add(n, p.Pods)
		}
	}
	return n
}

// plan finds nodes for a gang beside everything planned before, how many machines it
// needs that are not there and that nobody before it asked for, and what is to be written
// of its domains. Pods may land elsewhere, so this is a hint; if the hints of others are
// in the way, the gang gets a plan as if they were not.
func (m *machines) plan(s *chosen) (placed []fit.Placed, more int64, domains *demand.Domains) {
	m.openPlan()
	if t := s.machines.topology; t.Level != "" && !t.Required {
		placed, domains = m.near(s)
	} else {
		placed, domains = m.anywhere(s), s.machines.inDomain()
	}
	placed, more = m.there(placed)
	return placed, more, domains
}

// openPlan has everybody who was let go and is not placed yet go where that was planned.
func (m *machines) openPlan() {
	if m.planned != nil {
		return
	}
	m.planned, m.asked = m.room.CopyOver(m.spare), map[string]bool{}
	for _, o := range m.snapshot.Outstanding() {
		m.follow(o)
	}
}

func (m *machines) anywhere(s *chosen) []fit.Placed {
	placed, ok := m.planned.Place(s.machines.shape, s.count)
	if !ok {
		placed, _ = m.room.Copy().Place(s.machines.shape, s.count)
	}
	return placed
}

// there is the nodes of a plan that are there, and how many others were not asked for
// before.
func (m *machines) there(placed []fit.Placed) (there []fit.Placed, more int64) {
	for _, on := range placed {
		switch {
		case !fit.IsComing(on.Node):
			there = append(there, on)
		case !m.asked[on.Node]:
			m.asked[on.Node] = true
			more++
		}
	}
	return there, more
}

// follow takes up room where a Job's pods were planned to go, else anywhere.
func (m *machines) follow(o book.Outstanding) {
	left := o.Pods
	for _, node := range slices.Sorted(maps.Keys(o.Plan)) {
		if left == 0 {
			return
		}
		left -= m.planned.Take(o.Shape, node, min(left, o.Plan[node]))
	}
	if left > 0 {
		placed, _ := m.planned.Place(o.Shape, left)
		m.there(placed)
	}
}

// promisedOf is how much of some resources, counted as one, unbound pods will take
// where a shape may run.
func (m *machines) promisedOf(s *fit.Shape, sources []resource.Rate) int64 {
	total := int64(0)
	for _, p := range m.promises {
		if !p.Firm || !fit.Overlap(p.Shape, s) {
			continue
		}
		for _, source := range sources {
			asked := resource.Mul(m.room.Request(p.Shape, source.Resource), p.Pods)
			total = resource.Add(total, resource.Mul(asked, source.Each))
		}
	}
	return total
}
