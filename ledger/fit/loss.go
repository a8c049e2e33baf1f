package fit

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Promise is pods of one shape that will appear and land where they like.
type Promise struct {
	Shape *Shape
	Pods  int64
	// Firm: the pods were promised room, so nobody may take it. Others are in
	// the way, but are owed nothing.
	Firm bool
}

// Largest is the most pods of the shape that one node has room for.
func (r *Room) Largest(s *Shape) int64 { return r.surveyOf(s).largest }

// Left is how many pods of the shape fit wherever the others land: a lower
// bound.
//
//	slots(s) − Σ pods(t) × loss(t, s), over shapes t that share a node with s
//
// loss(t, s) is the most slots that one pod of t can cost: max over resources of
// ceil(t/s), as taking t from a node lowers floor(free/s) by at most that. A
// resource that every node of s has plenty of, so that all others together
// could not touch a slot, is left out; a node can't lose more slots than the
// best one has. Pods of the same shape are not others: they are interchangeable
// and cost one slot each, which the caller counts.
func (r *Room) Left(s *Shape, others []Promise) int64 {
	left := r.Slots(s)
	if len(others) == 0 {
		return left
	}
	near := make([]Promise, 0, len(others))
	for _, o := range others {
		if o.Shape == s || o.Pods <= 0 {
			continue
		}
		if r.Slots(o.Shape); s.overlaps(o.Shape.where) {
			near = append(near, o)
		}
	}
	if len(near) == 0 {
		return left
	}
	u := r.surveyOf(s)
	scarce := u.scarce(s, near)
	for _, o := range near {
		left = resource.Sub(left, resource.Mul(loss(o.Shape, s, scarce, u.largest), o.Pods))
	}
	return left
}

// scarce marks the resources of s of which the others, if all of them came to
// one node, could take a slot away.
func (u *survey) scarce(s *Shape, others []Promise) []bool {
	scarce := make([]bool, len(s.req))
	for k, a := range s.req {
		total := int64(0)
		for _, o := range others {
			total = resource.Add(total, resource.Mul(o.Shape.takes(a.res), o.Pods))
		}
		scarce[k] = total > u.lies[k].spare
	}
	return scarce
}

func loss(t, s *Shape, scarce []bool, largest int64) int64 {
	if slices.ContainsFunc(s.clear, func(res int32) bool { return t.amount(res) > 0 }) {
		return largest // wherever t lands, s may not
	}
	most := int64(0)
	for k, a := range s.req {
		if n := t.takes(a.res); scarce[k] && n > 0 {
			most = max(most, (n-1)/a.n+1)
		}
	}
	if s.perNode > 0 {
		most = max(1, min(most, s.perNode))
	}
	return min(most, largest)
}

func (s *Shape) amount(res int32) int64 {
	for _, a := range s.req {
		if a.res == res {
			return a.n
		}
	}
	return 0
}

// Overlap tells whether some node may run both shapes.
func Overlap(a, b *Shape) bool {
	a.nodes.room.Slots(a)
	b.nodes.room.Slots(b)
	return a.overlaps(b.where)
}

// Request is what one pod of the shape asks of a resource.
func (r *Room) Request(s *Shape, name string) int64 {
	res, ok := r.nodes.index[name]
	switch {
	case !ok:
		return 0
	case resource.IsOnce(name):
		return min(1, s.amount(res))
	}
	return s.amount(res)
}
