package dra

import (
	"cmp"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"
)

type poolID struct{ driver, name string }

func (id poolID) compare(other poolID) int {
	return cmp.Or(strings.Compare(id.driver, other.driver), strings.Compare(id.name, other.name))
}

// pool is what one driver publishes under one name, in all generations that there
// are slices of.
type pool struct {
	id     poolID
	slices []*slice        // by name, as the allocator sorts them
	uses   map[string]*use // by device
	doubt  *bool           // nil: to be found out
}

// use of a device by claims. It outlives the device: a claim keeps what it was given
// when a driver takes the slice away and brings it back.
type use struct {
	whole  int                                                  // claims that have it as a whole
	shares map[share]*resourceapi.DeviceRequestAllocationResult // of one that several may have
}

// share is one result of a claim.
type share struct {
	claim types.UID
	index int
}

func (u *use) none() bool { return u.whole == 0 && len(u.shares) == 0 }

// slice is a ResourceSlice, taken apart.
type slice struct {
	object  *resourceapi.ResourceSlice // as it was written
	tainted *resourceapi.ResourceSlice // with the taints of rules
	pool    *pool
	node    string // empty: of no one node
	devices []device
	offers  string // its shared counters, to be compared
	// strange slices use what the scheduler does not look at as it comes; it
	// does as if they were not there.
	strange bool
}

type device struct {
	spec *resourceapi.Device // with the taints of rules
	kind *kind
	use  *use
	eats string // the counters that it consumes, to be compared
}

func (d *device) many() bool {
	return d.spec.AllowMultipleAllocations != nil && *d.spec.AllowMultipleAllocations
}

// shares tells whether it gives a part of something that others take from. The
// allocator looks whether there is enough of it for those with admin access, too.
func (d *device) shares() bool { return d.eats != "" || d.many() }

func (l *slice) generation() int64 { return l.object.Spec.Pool.Generation }

func (l *slice) id(d *device) structured.DeviceID {
	return structured.MakeDeviceID(l.pool.id.driver, l.pool.id.name, d.spec.Name)
}

// SetSlice is a new or changed ResourceSlice.
func (s *State) SetSlice(object *resourceapi.ResourceSlice) {
	if old := s.slices[object.Name]; old != nil {
		if old.object == object {
			return
		}
		s.DeleteSlice(object.Name)
	}
	l := &slice{object: object, tainted: s.taint(object), pool: s.pool(poolID{object.Spec.Driver, object.Spec.Pool.Name})}
	if object.Spec.NodeName != nil {
		l.node = *object.Spec.NodeName
	}
	l.offers = encodeSets(object.Spec.SharedCounters)
	l.takeApart(s)
	at, _ := slices.BinarySearchFunc(l.pool.slices, object.Name, func(l *slice, name string) int { return strings.Compare(l.object.Name, name) })
	l.pool.slices = slices.Insert(l.pool.slices, at, l)
	s.slices[object.Name] = l
	s.poolChanged(l)
}

func (l *slice) takeApart(s *State) {
	l.devices = make([]device, len(l.object.Spec.Devices))
	for i := range l.devices {
		spec := &l.object.Spec.Devices[i]
		l.devices[i] = device{
			spec: &l.tainted.Spec.Devices[i], kind: s.kindOf(l.object.Spec.Driver, spec),
			use: l.pool.use(spec.Name), eats: encodeConsumption(spec.ConsumesCounters),
		}
		for _, consumption := range spec.ConsumesCounters {
			l.strange = l.strange || len(consumption.CompatibilityGroups) > 0
		}
	}
}

// DeleteSlice forgets one.
func (s *State) DeleteSlice(name string) {
	l := s.slices[name]
	if l == nil {
		return
	}
	delete(s.slices, name)
	l.pool.slices = slices.DeleteFunc(l.pool.slices, func(other *slice) bool { return other == l })
	for i := range l.devices {
		s.drop(l.devices[i].kind)
	}
	s.poolChanged(l)
	l.pool.tidy(s)
}

func (s *State) pool(id poolID) *pool {
	p := s.pools[id]
	if p == nil {
		p = &pool{id: id, uses: map[string]*use{}}
		s.pools[id] = p
	}
	return p
}

func (p *pool) use(device string) *use {
	u := p.uses[device]
	if u == nil {
		u = &use{}
		p.uses[device] = u
	}
	return u
}

// tidy forgets what neither a slice nor a claim speaks of any more.
func (p *pool) tidy(s *State) {
	there := map[string]bool{}
	for _, l := range p.slices {
		for i := range l.devices {
			there[l.devices[i].spec.Name] = true
		}
	}
	for name, u := range p.uses {
		if u.none() && !there[name] {
			delete(p.uses, name)
		}
	}
	if len(p.slices) == 0 && len(p.uses) == 0 {
		delete(s.pools, p.id)
	}
}

// poolChanged has everybody look again whom the slice's pool reaches.
func (s *State) poolChanged(l *slice) {
	p := l.pool
	p.doubt = nil
	wasShared := s.shared[p]
	if shared := slices.ContainsFunc(p.slices, func(l *slice) bool { return l.node == "" }); shared {
		s.shared[p] = true
	} else {
		delete(s.shared, p)
	}
	if wasShared || s.shared[p] {
		for _, n := range s.nodes {
			s.look(n)
		}
	}
	if l.node != "" {
		s.reach(s.node(l.node), p)
	}
	for _, other := range p.slices {
		if n := s.nodes[other.node]; n != nil && n.view != nil { // else nothing was counted by it
			s.look(n)
		}
	}
}

// reach keeps the pools that name a node beside it.
func (s *State) reach(n *node, p *pool) {
	delete(n.pools, p)
	if slices.ContainsFunc(p.slices, func(l *slice) bool { return l.node == n.name }) {
		n.pools[p] = true
	}
	s.look(n)
}

// doubtful pools give to several nodes from the same things, or belong to no node:
// what one node takes of them the others lose. Rows are of one node each, so such a
// pool counts as nothing.
func (p *pool) doubtful() bool {
	if p.doubt == nil {
		doubt := p.givesToSeveral()
		p.doubt = &doubt
	}
	return *p.doubt
}

func (p *pool) givesToSeveral() bool {
	counters, several := false, false
	owner := map[string]string{}
	for _, l := range p.slices {
		if l.node == "" {
			return true
		}
		counters = counters || l.offers != ""
		several = several || l.node != p.slices[0].node
		for i := range l.devices {
			name := l.devices[i].spec.Name
			if other, seen := owner[name]; seen && other != l.node {
				return true
			}
			owner[name] = l.node
		}
	}
	return counters && several
}
