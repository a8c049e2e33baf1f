package dra

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/holdshort/holdshort/ledger/supply"
)

// node is what has rows. Slices and pods may name it before it is seen itself.
type node struct {
	name   string
	seen   bool
	object *corev1.Node // of name and labels alone
	pools  map[*pool]bool
	pods   map[types.UID]bool

	view *view // nil: to be made
	// What stands in for claims that were not seen yet.
	standing []resourceapi.AllocationResult
	virtual  map[*use]bool

	pairs  map[pair]bool // of wants that may have the same things; mixed or not
	paired bool          // pairs are up to date

	found map[*want]finding
	told  map[string]supply.Stock
}

// finding is what was counted of a want.
type finding struct {
	total, free int64
	err         string // why the scheduler would give a pod up that it tries here
}

func (s *State) node(name string) *node {
	n := s.nodes[name]
	if n == nil {
		n = &node{
			name: name, object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
			pools: map[*pool]bool{}, pods: map[types.UID]bool{}, found: map[*want]finding{},
		}
		s.nodes[name] = n
		s.dirty[n] = true
	}
	return n
}

// SetNode is a new node, or one with other labels: pools may select nodes by them.
func (s *State) SetNode(name string, labels map[string]string) {
	n := s.node(name)
	if n.seen && maps.Equal(n.object.Labels, labels) {
		return
	}
	n.seen = true
	n.object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	s.look(n)
}

// DeleteNode takes the rows of a node away. What names it is kept: it may come back.
func (s *State) DeleteNode(name string) {
	n := s.nodes[name]
	if n == nil {
		return
	}
	n.seen = false
	s.look(n)
}

// look has the node's pools put together anew, and its rows counted.
func (s *State) look(n *node) {
	n.view, n.paired = nil, false
	s.dirty[n] = true
}

// view is what the allocator would look at on a node.
type view struct {
	parts   []part
	devices []*device // of parts, in order
	// foreign devices are of doubtful pools: not counted, but an expression may
	// fail on them as well as on others.
	foreign  []*device
	doubtful bool
	// plain: no counters, and nothing that several claims may have at once.
	plain bool
	many  bool
	// partial: a pool is incomplete or invalid, so nobody knows what all is.
	partial bool
}

// part is one pool as it is seen from a node.
type part struct {
	pool   *pool
	slices []*slice // of the newest generation, naming the node
	whole  bool     // complete and valid: may be taken from
	binds  bool     // with conditions to wait for: tried last
}

func (s *State) viewOf(n *node) *view {
	if n.view != nil {
		return n.view
	}
	v := &view{plain: true}
	for _, p := range s.poolsOf(n) {
		if p.doubtful() {
			v.doubt(p)
			continue
		}
		if seen, there := p.from(n.name); there {
			v.add(seen)
		}
	}
	n.view = v
	return v
}

// poolsOf are the pools that may reach a node, in the allocator's order.
func (s *State) poolsOf(n *node) []*pool {
	list := slices.Collect(maps.Keys(n.pools))
	for p := range s.shared {
		if !n.pools[p] && slices.ContainsFunc(p.slices, func(l *slice) bool { return l.selects(n) }) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *pool) int { return a.id.compare(b.id) })
	return list
}

// selects tells whether a slice that names no node reaches one. A selector that can't
// be read does: the scheduler fails on it.
func (l *slice) selects(n *node) bool {
	matches := func(name *string, all *bool, selector *corev1.NodeSelector) bool {
		yes, err := structured.NodeMatches(features(), n.object, deref(name), deref(all), selector)
		return yes || err != nil
	}
	spec := &l.object.Spec
	if !deref(spec.PerDeviceNodeSelection) {
		return matches(spec.NodeName, spec.AllNodes, spec.NodeSelector)
	}
	for i := range spec.Devices {
		if d := &spec.Devices[i]; matches(d.NodeName, d.AllNodes, d.NodeSelector) {
			return true
		}
	}
	return false
}

func deref[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

func (v *view) doubt(p *pool) {
	v.doubtful = true
	for _, l := range p.slices {
		for i := range l.devices {
			v.foreign = append(v.foreign, &l.devices[i])
		}
	}
}

func (v *view) add(p part) {
	v.parts = append(v.parts, p)
	if !p.whole {
		v.partial = true
		return
	}
	for _, l := range p.slices {
		if l.offers != "" {
			v.plain = false
			continue
		}
		for i := range l.devices {
			d := &l.devices[i]
			v.devices = append(v.devices, d)
			v.many = v.many || d.many()
			v.plain = v.plain && !d.many() && d.eats == ""
		}
	}
}

// from is the pool as the allocator sees it from a node: of the slices that name the
// node, the newest generation. If that is not all of it, the other slices of the pool
// tell whether it is outdated (then it does not exist), complete or incomplete.
func (p *pool) from(name string) (part, bool) {
	mine := slices.DeleteFunc(slices.Clone(p.slices), func(l *slice) bool { return l.node != name || l.strange })
	if len(mine) == 0 {
		return part{}, false
	}
	newest := slices.MaxFunc(mine, func(a, b *slice) int { return cmp.Compare(a.generation(), b.generation()) }).generation()
	mine = slices.DeleteFunc(mine, func(l *slice) bool { return l.generation() != newest })
	seen := part{pool: p, slices: mine}
	want := mine[0].object.Spec.Pool.ResourceSliceCount
	if int64(len(mine)) != want {
		all := int64(0)
		for _, l := range p.slices {
			if l.generation() > newest {
				return part{}, false
			}
			if l.generation() == newest && !l.strange {
				all++
			}
		}
		if all != want {
			return seen, true
		}
	}
	seen.whole = seen.valid()
	seen.binds = slices.ContainsFunc(mine, func(l *slice) bool {
		return slices.ContainsFunc(l.devices, func(d device) bool { return d.spec.BindingConditions != nil })
	})
	return seen, true
}

// valid tells whether names are unique, and counters that are consumed are there.
func (p *part) valid() bool {
	names, offered := map[string]bool{}, map[string]map[string]bool{}
	for _, l := range p.slices {
		for _, set := range l.object.Spec.SharedCounters {
			if offered[set.Name] != nil {
				return false
			}
			offered[set.Name] = map[string]bool{}
			for name := range set.Counters {
				offered[set.Name][name] = true
			}
		}
	}
	for _, l := range p.slices {
		if l.offers != "" {
			continue
		}
		for i := range l.devices {
			spec := l.devices[i].spec
			if names[spec.Name] || !consumable(spec, offered) {
				return false
			}
			names[spec.Name] = true
		}
	}
	return true
}
