package fit

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// Vector is a list of amounts, kept once for all pods that have the same.
type Vector struct {
	amounts []amount
	key     string
	refs    int
}

type amount struct {
	res int32
	n   int64
}

// Each calls f for every resource of the vector.
func (n *Nodes) Each(v *Vector, f func(name string, amount int64)) {
	for _, a := range v.amounts {
		f(n.resources[a.res], a.n)
	}
}

// Vector returns the one vector of a list, to be given back by Drop.
func (n *Nodes) Vector(list resource.List) *Vector {
	n.scratch = n.amounts(n.scratch[:0], list, nil)
	return n.vector()
}

// Holding returns the vector of what a node has less by a pod: a list, and what it
// takes of things that there are once.
func (n *Nodes) Holding(list, once resource.List) *Vector {
	n.scratch, _ = n.once(n.amounts(n.scratch[:0], list, nil), once)
	return n.vector()
}

func (n *Nodes) vector() *Vector {
	n.key = n.key[:0]
	for _, a := range n.scratch {
		n.key = binary.AppendVarint(binary.AppendVarint(n.key, int64(a.res)), a.n)
	}
	v := n.vectors[string(n.key)]
	if v == nil {
		v = &Vector{amounts: slices.Clone(n.scratch), key: string(n.key)}
		n.vectors[v.key] = v
	}
	v.refs++
	return v
}

// Known is the vector of what of a list some node may have.
func (n *Nodes) Known(list resource.List) *Vector {
	n.scratch = n.scratch[:0]
	for name, value := range list {
		if res, known := n.index[name]; known && value > 0 {
			n.scratch = append(n.scratch, amount{res, value})
		}
	}
	inOrder(n.scratch)
	return n.vector()
}

// Drop gives a vector back.
func (n *Nodes) Drop(v *Vector) {
	if v.refs--; v.refs == 0 {
		delete(n.vectors, v.key)
	}
}

func (n *Nodes) amounts(amounts []amount, list resource.List, ignored func(string) bool) []amount {
	for name, value := range list {
		if value > 0 && (ignored == nil || !ignored(name)) {
			amounts = append(amounts, amount{n.resource(name), min(value, amountMax)})
		}
	}
	return inOrder(amounts)
}

func inOrder(amounts []amount) []amount {
	slices.SortFunc(amounts, func(a, b amount) int { return int(a.res - b.res) })
	return amounts
}

// Shape is what pods of one kind need of a node: amounts and where they may
// run. Equal shapes are one pointer, so that their pods are interchangeable.
type Shape struct {
	*where
	key     string
	place   demand.Place
	req     []amount // by resource index
	clear   []int32  // things that a node has once and of which nobody else may have any
	perNode int64    // most on one node, whatever there is; 0: no limit
	refs    int
	used    uint64
	never   emptyRoom
	barred  *barredFor // nil: nobody asked
}

// Key is the same for equal shapes, in this process and the next.
func (s *Shape) Key() string { return s.key }

// Place is where its pods may run.
func (s *Shape) Place() demand.Place { return s.place }

// Shape returns the one shape of pods that ask for list at place. Resources
// that are ignored need not be there. It lives while it is used or kept.
func (n *Nodes) Shape(place demand.Place, list resource.List, ignored func(string) bool) *Shape {
	list = place.OnNode(list)
	n.key = appendShape(n.key[:0], place, list, ignored)
	s := n.shapes[string(n.key)]
	if s == nil {
		s = &Shape{key: string(n.key), place: place}
		s.where = n.where(place) // makes another key
		s.req, s.perNode = n.once(n.amounts(n.amounts(nil, list, ignored), place.Devices, nil), place.Once)
		if place.PerNode > 0 {
			s.perNode = place.PerNode
		}
		s.clear = n.clear(place.Clear)
		n.shapes[s.key] = s
	}
	s.used = n.uses
	return s
}

// Keep holds on to a shape until Let.
func (n *Nodes) Keep(s *Shape) *Shape {
	s.refs++
	return s
}

// Let gives up a shape that was kept.
func (n *Nodes) Let(s *Shape) { s.refs-- }

// Tidy forgets shapes that nobody keeps and nobody asked for lately. To be
// called now and then, when no shape is in use that is not kept.
func (n *Nodes) Tidy() {
	const lately = 64
	if n.uses++; n.uses%lately != 0 {
		return
	}
	for key, s := range n.shapes {
		if s.refs == 0 && s.used+lately < n.uses {
			delete(n.shapes, key)
			delete(n.room.cache, s)
			s.let()
		}
	}
}

// appendShape writes everything that tells shapes apart. Strings carry their
// length, so no two shapes share a key.
func appendShape(b []byte, place demand.Place, list resource.List, ignored func(string) bool) []byte {
	b = appendAmounts(b, list, func(name string) bool { return list[name] > 0 && (ignored == nil || !ignored(name)) })
	b = appendAmounts(b, place.Once, nil)
	b = binary.AppendUvarint(b, uint64(len(place.Clear)))
	for _, name := range place.Clear {
		b = appendText(b, name)
	}
	b = binary.AppendVarint(b, place.PerNode)
	b = appendAmounts(appendAmounts(b, place.Devices, nil), place.Claimed, nil) // Place is told of it
	return appendWhere(b, place)
}

// appendWhere writes what tells the nodes apart that allows looks at.
func appendWhere(b []byte, place demand.Place) []byte {
	if place.Existing {
		b = append(b, 0xfd)
	}
	b = appendLabels(b, place.NodeSelector)
	if place.Affinity != nil {
		b = appendTerms(append(b, 0xfe), place.Affinity)
	}
	b = binary.AppendUvarint(b, uint64(len(place.Pins)))
	for _, pin := range place.Pins { // of whatever name
		b = appendTerms(appendText(b, pin.Is), pin.Terms)
	}
	b = binary.AppendUvarint(b, uint64(len(place.Features)))
	for _, name := range place.Features {
		b = appendText(b, name)
	}
	for _, t := range place.Tolerations {
		b = appendToleration(b, t)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendAmounts appends those of a list that count; nil: all do.
func appendAmounts(b []byte, list resource.List, counts func(name string) bool) []byte {
	for _, name := range list.Names() {
		if counts == nil || counts(name) {
			b = binary.AppendVarint(appendText(b, name), list[name])
		}
	}
	return append(b, 0) // no name is empty
}

func appendLabels(b []byte, labels map[string]string) []byte {
	keys := make([]string, 0, len(labels))
	for key := range labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, key := range keys {
		b = appendText(appendText(b, key), labels[key])
	}
	return b
}

func appendTerms(b []byte, terms []demand.NodeTerm) []byte {
	b = binary.AppendUvarint(b, uint64(len(terms)))
	for _, term := range terms {
		b = appendRequirements(appendRequirements(b, term.Labels), term.Fields)
	}
	return b
}

func appendRequirements(b []byte, requirements []demand.NodeRequirement) []byte {
	b = binary.AppendUvarint(b, uint64(len(requirements)))
	for _, r := range requirements {
		b = appendText(appendText(b, r.Key), r.Operator)
		b = binary.AppendUvarint(b, uint64(len(r.Values)))
		for _, v := range r.Values {
			b = appendText(b, v)
		}
	}
	return b
}

func appendToleration(b []byte, t policies.Toleration) []byte {
	// How long a taint is tolerated does not change where the pod may start.
	b = appendText(appendText(b, t.Key), t.Operator)
	return appendText(appendText(b, t.Value), t.Effect)
}

// Nodes is how many nodes may run the shape.
func (s *Shape) Nodes() int {
	s.nodes.room.Slots(s)
	count := 0
	for _, w := range s.now {
		count += bits.OnesCount64(w)
	}
	return count
}
