package dra

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/supply"
)

// State keeps the objects of dynamic resource allocation and counts, for each node,
// what was asked for by Want. Events may come in any order and more than once; the
// rows depend on the objects alone. Objects that it is given must not be changed
// afterwards. For one goroutine.
type State struct {
	allocator

	slices map[string]*slice
	pools  map[poolID]*pool
	shared map[*pool]bool // with slices that name no node
	kinds  map[digest]*kind
	rules  map[string]*resourceapi.DeviceTaintRule

	claims   map[types.UID]*resourceapi.ResourceClaim
	reserved map[types.UID]map[*resourceapi.ResourceClaim]bool // pod → allocated claims that are reserved for it
	pods     map[types.UID]*boundPod

	nodes map[string]*node
	wants map[string]*want
	// The same wants, in an order that stays.
	inOrder []*want

	overlaps map[pair]overlap
	costs    []supply.Cost // as last told

	dirty   map[*node]bool // count again
	recount map[*want]bool // count on all nodes
}

// New is a state of no objects.
func New() *State {
	return &State{
		allocator: allocator{expressions: newExpressions(), classes: classes{}},
		slices:    map[string]*slice{}, pools: map[poolID]*pool{}, shared: map[*pool]bool{}, kinds: map[digest]*kind{},
		rules:  map[string]*resourceapi.DeviceTaintRule{},
		claims: map[types.UID]*resourceapi.ResourceClaim{}, reserved: map[types.UID]map[*resourceapi.ResourceClaim]bool{}, pods: map[types.UID]*boundPod{},
		nodes: map[string]*node{}, wants: map[string]*want{},
		overlaps: map[pair]overlap{}, dirty: map[*node]bool{}, recount: map[*want]bool{},
	}
}

// SetClass is a new or changed DeviceClass. Devices that were given out stay so,
// whatever becomes of their class.
func (s *State) SetClass(class *resourceapi.DeviceClass) {
	s.classes[class.Name] = class
	s.classChanged(class.Name)
}

// DeleteClass forgets one.
func (s *State) DeleteClass(name string) {
	delete(s.classes, name)
	s.classChanged(name)
}

func (s *State) classChanged(name string) {
	for _, w := range s.wants {
		if w.mentions(name) {
			w.resolve(s.allocator)
			s.recount[w] = true
		}
	}
	for _, n := range s.nodes {
		if len(n.pods) > 0 { // what stands in for their claims may be others
			s.dirty[n] = true
		}
	}
}

// Want counts for a pod with these claims from now on, and says what its row is
// called and how much of it one pod takes. Each Want needs its Drop.
func (s *State) Want(specs []resourceapi.ResourceClaimSpec) (name string, units int64) {
	made := newWant(specs)
	w := s.wants[made.name]
	if w == nil {
		w = made
		w.resolve(s.allocator)
		s.wants[w.name] = w
		s.inOrder = append(s.inOrder, w)
		s.recount[w] = true
	}
	w.refs++
	return w.name, made.units
}

// Row is what Want would say, without counting anything.
func Row(specs []resourceapi.ResourceClaimSpec) (name string, units int64) {
	made := newWant(specs)
	return made.name, made.units
}

// WantAny is Want for one device of a class, whichever it is.
func (s *State) WantAny(class string) (name string) {
	name, _ = s.Want([]resourceapi.ResourceClaimSpec{{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
		Name: "any", Exactly: &resourceapi.ExactDeviceRequest{
			DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
		},
	}}}}})
	return name
}

// Drop ends one Want.
func (s *State) Drop(name string) {
	w := s.wants[name]
	if w == nil {
		return
	}
	if w.refs--; w.refs > 0 {
		return
	}
	delete(s.wants, name)
	s.inOrder = slices.DeleteFunc(s.inOrder, func(other *want) bool { return other == w })
	delete(s.recount, w)
	w.release()
	for _, n := range s.nodes {
		if _, counted := n.found[w]; counted {
			delete(n.found, w)
			n.paired = false
			s.dirty[n] = true
		}
	}
}

// Problem is why nothing is free of a row anywhere, if it is something that the
// scheduler would give a pod up for on all nodes: a class that is not there, an
// expression that fails on a device, all devices asked for while a pool is written.
func (s *State) Problem(name string) string {
	w := s.wants[name]
	if w == nil || len(w.errors) == 0 {
		return ""
	}
	return w.errors[least(w.errors)]
}
