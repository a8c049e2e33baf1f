package fit

import (
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// amountMax is the most that one pod counts for, far beyond any machine: sums
// of such amounts stay exact, so that what was added can be taken off again.
const amountMax = int64(1) << 50

// slotsMax is the most pods that one node is ever taken to have room for.
const slotsMax = int64(1) << 31

// Nodes is the machines and what is held on them. One goroutine at a time.
type Nodes struct {
	resources []string         // by index
	index     map[string]int32 // of resources
	onces     int              // of these, things that a node has once
	forClaims []bool           // by index: not read from the node, see SetDevices
	told      []supply.Cost
	rowOfName map[string]string // see SetExtended
	extended  map[int32]int32   // the same, by index
	costs     map[int32][]amount
	costly    map[int32]bool // cost others of something
	rows      []row
	byName    map[string]int32
	spare     []int32 // rows that can be used again
	ordered   []int32 // rows in the order of their names; nil: work out again
	levels    map[string]*level
	stride    int     // amounts in a row
	alloc     []int64 // rows × stride
	whole     []int64 // rows × stride: what there is to give when all is in order
	held      []int64 // rows × stride, terminating pods included
	room      *Room   // what is free right now
	shapes    map[string]*Shape
	wheres    map[string]*where
	vectors   map[string]*Vector
	elastic   []elastic
	changes   uint64 // of what nodes are and have, not of what is held
	uses      uint64
	key       []byte   // scratch
	scratch   []amount // scratch
}

type row struct {
	name string
	node *supply.Node // nil: pods are bound to a node that is not there
	open bool         // it may be given anything new
	odd  bool         // its node says why it is closed, or not sure of its devices
	pods int
	// of is the elastic flavors that it counts against, a bit each.
	of uint64
	// devices tells that SetDevices gave it some.
	devices bool
	lent    map[int32]int64 // of what is held: by those who hold the row it is given out of
	// class changes with everything that decides which pods may run here.
	class uint32
}

// New returns no machines.
func New() *Nodes {
	n := &Nodes{
		index:  map[string]int32{},
		byName: map[string]int32{},
		shapes: map[string]*Shape{}, wheres: map[string]*where{}, vectors: map[string]*Vector{}, levels: map[string]*level{},
		stride: 8,
	}
	n.room = &Room{nodes: n, cache: map[*Shape]*slotTable{}}
	return n
}

// Room is what is free right now.
func (n *Nodes) Room() *Room { return n.room }

// SetNode brings in a node, new or changed.
func (n *Nodes) SetNode(node *supply.Node) {
	i := n.rowOf(node.Name)
	r := &n.rows[i]
	changed := r.node == nil || !sameClass(r.node, node)
	if changed {
		r.class++
		n.owned(r, node)
	}
	switched := r.node != nil && n.switches(r.node, node)
	r.set(node)
	if changed {
		n.setLevels(i)
	}
	changed = n.equip(i, node) || changed || switched
	other, held := n.lend(i)
	if changed = changed || other; changed { // a heartbeat costs nothing
		n.changes++
		n.resize(r.of)
	}
	if changed || held {
		n.touch(i)
	}
}

// equip brings in what a node has by itself, and tells whether that is other than before.
func (n *Nodes) equip(i int32, node *supply.Node) bool {
	for _, list := range []resource.List{node.Allocatable, node.Capacity} {
		for name := range list {
			n.resource(name) // may move the rows to a wider stride
		}
	}
	changed := false
	have, whole := n.alloc[int(i)*n.stride:], n.whole[int(i)*n.stride:]
	for res, name := range n.resources {
		if _, lent := n.extended[int32(res)]; lent || n.forClaims[res] {
			continue
		}
		now, atBest := gives(node, name)
		changed = changed || have[res] != now || whole[res] != atBest
		have[res], whole[res] = now, atBest
	}
	return changed
}

// DeleteNode takes a node away. What is held there stays known until the pods
// are gone too.
func (n *Nodes) DeleteNode(name string) {
	i, ok := n.byName[name]
	if !ok || n.rows[i].node == nil {
		return
	}
	n.owned(&n.rows[i], nil)
	n.rows[i].set(nil)
	n.rows[i].class++
	n.setLevels(i)
	for res := range n.resources {
		if !n.forClaims[res] {
			n.alloc[int(i)*n.stride+res], n.whole[int(i)*n.stride+res] = 0, 0
		}
	}
	n.lend(i)
	n.changes++
	n.touch(i)
	n.release(i)
}

// Hold counts a pod on a node, whether the node is there or not.
func (n *Nodes) Hold(name string, v *Vector) { n.hold(n.rowOf(name), v, 1) }

// Free takes a pod off a node where it was held.
func (n *Nodes) Free(name string, v *Vector) {
	if i, ok := n.byName[name]; ok {
		n.hold(i, v, -1)
		n.release(i)
	}
}

func (n *Nodes) hold(i int32, v *Vector, sign int64) {
	have := n.held[int(i)*n.stride : int(i+1)*n.stride]
	for _, a := range v.amounts {
		have[a.res] += sign * a.n
	}
	n.rows[i].pods += int(sign)
	n.touch(i)
}

// Held is what pods hold on each node that holds anything, for comparing books.
func (n *Nodes) Held() map[string]map[string]int64 {
	all := map[string]map[string]int64{}
	for i, r := range n.rows {
		amounts := map[string]int64{}
		for res, name := range n.resources {
			if v := n.held[i*n.stride+res] - r.lent[int32(res)]; v != 0 && !n.forClaims[res] {
				amounts[name] = v
			}
		}
		if len(amounts) > 0 {
			all[r.name] = amounts
		}
	}
	return all
}

// Len is how many nodes there are.
func (n *Nodes) Len() int {
	count := 0
	for i := range n.rows {
		if n.rows[i].node != nil && !n.rows[i].coming() {
			count++
		}
	}
	return count
}

func (n *Nodes) rowOf(name string) int32 {
	if i, ok := n.byName[name]; ok {
		return i
	}
	var i int32
	if last := len(n.spare) - 1; last >= 0 {
		i = n.spare[last]
		n.spare = n.spare[:last]
		n.rows[i] = row{name: name, class: n.rows[i].class + 1}
	} else {
		i = int32(len(n.rows))
		n.rows = append(n.rows, row{name: name, class: 1})
		n.alloc = append(n.alloc, make([]int64, n.stride)...)
		n.whole = append(n.whole, make([]int64, n.stride)...)
		n.held = append(n.held, make([]int64, n.stride)...)
		n.room.free = append(n.room.free, make([]int64, n.stride)...)
	}
	n.byName[name] = i
	n.ordered = nil
	return i
}

// release makes a row available again once nothing is left of its node.
func (n *Nodes) release(i int32) {
	if r := &n.rows[i]; r.node == nil && r.pods == 0 && !r.devices {
		delete(n.byName, r.name)
		r.name = ""
		n.spare = append(n.spare, i)
		n.ordered = nil
	}
}

// touch works out what is free in a row and tells every cached count.
func (n *Nodes) touch(i int32) {
	lo := int(i) * n.stride
	open := n.rows[i].open
	for k := lo; k < lo+n.stride; k++ {
		n.room.free[k] = 0
		if open {
			n.room.free[k] = max(0, n.alloc[k]-n.held[k])
		}
	}
	n.room.mark(i)
}

// inOrder is the rows that may give something, by name.
func (n *Nodes) inOrder() []int32 {
	if n.ordered == nil {
		n.ordered = make([]int32, 0, len(n.rows))
		for i := range n.rows {
			if n.rows[i].name != "" {
				n.ordered = append(n.ordered, int32(i))
			}
		}
		slices.SortFunc(n.ordered, func(a, b int32) int { return strings.Compare(n.rows[a].name, n.rows[b].name) })
	}
	return n.ordered
}

func (n *Nodes) resource(name string) int32 {
	if i, ok := n.index[name]; ok {
		return i
	}
	i := int32(len(n.resources))
	n.resources = append(n.resources, name)
	n.index[name] = i
	n.forClaims = append(n.forClaims, resource.ForClaims(name))
	if len(n.resources) > n.stride {
		n.widen(2 * n.stride)
	}
	if resource.IsOnce(name) {
		n.everywhere(i)
	}
	return i
}

func (n *Nodes) widen(stride int) {
	wider := func(old []int64) []int64 {
		grown := make([]int64, len(n.rows)*stride)
		for i := range n.rows {
			copy(grown[i*stride:], old[i*n.stride:(i+1)*n.stride])
		}
		return grown
	}
	n.alloc, n.whole, n.held, n.room.free = wider(n.alloc), wider(n.whole), wider(n.held), wider(n.room.free)
	n.stride = stride
}

// Resources is every resource that a node or pod has named, sorted, without what
// a node has once, and without what is counted for claims: no quota and no policy
// knows of these.
func (n *Nodes) Resources() []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(n.resources)), func(name string) bool {
		return resource.IsOnce(name) || resource.ForClaims(name)
	})
}

// Exists tells whether some node has a resource, or could give devices of a class for it.
func (n *Nodes) Exists(name string) bool {
	if _, ofClass := n.rowOfName[name]; ofClass {
		return true
	}
	res, known := n.index[name]
	for i := range n.rows {
		if known && n.whole[i*n.stride+int(res)] > 0 {
			return true
		}
	}
	return false
}

// Changed has whoever compares versions look at the machines again.
func (n *Nodes) Changed() { n.changes++ }

// Versions change with what nodes are and have, and with what is free on them.
func (n *Nodes) Versions() (have, free uint64) { return n.changes, n.room.now() }
