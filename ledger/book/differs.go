package book

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// kind is the pods of an entry that an admission made, that were not told to go, and
// that ask for the same.
type kind struct {
	req  *fit.Vector
	pods int64
}

// countKind adds a pod to its kind, or takes it off, and notes when there are others
// than before.
func (e *Entry) countKind(p *pod, sign int64) {
	if e.orphans || p.tag == nil || p.deleting {
		return
	}
	i := slices.IndexFunc(e.kinds, func(k kind) bool { return k.req == p.req })
	if i < 0 {
		e.kinds, i = append(e.kinds, kind{req: p.req}), len(e.kinds)
		e.otherKinds = true
	}
	if e.kinds[i].pods += sign; e.kinds[i].pods == 0 {
		e.kinds = slices.Delete(e.kinds, i, i+1)
		e.otherKinds = true
	}
}

// largerOf is what a pod to come is counted by where pods of its set ask for more of
// something than was booked: the larger of both, resource by resource. Whoever changed
// those on their way will change the others. nil: none asks for more. Devices of claims
// are in no pod's requests, and stay as they were booked; so does what a policy counted
// for each device: pods are read by the one in force, and nobody changed them.
func (b *Book) largerOf(given *demand.ReservedPodSet, kinds []kind) resource.List {
	var larger resource.List
	for _, k := range kinds {
		b.nodes.Each(k.req, func(name string, n int64) {
			if resource.ForClaims(name) || b.perDevice[name] || given.Claimed[name] > 0 || given.Shared[name] > 0 || resource.Sub(n, given.Requests[name]) <= rounding(name) {
				return
			}
			if larger == nil {
				larger = maps.Clone(given.Requests)
			}
			larger[name] = max(larger[name], n)
		})
	}
	return larger
}

// rounding is by how much an amount may come out otherwise in a pod than in its
// template, though nobody changed it: a thousandth of a core, a page of memory.
func rounding(name string) int64 {
	switch {
	case resource.IsDevice(name), name == resource.Pods:
		return 0
	case name == "cpu":
		return 1
	}
	return 4 << 10
}

// lands is what of the set goes to a node at once: a pod, or all of them.
func (s *set) lands() resource.List {
	if !s.whole {
		return s.asks()
	}
	all := s.asks().Times(s.count)
	all.AddTo(s.given.Shared, 1)
	return all
}

// asks is what a pod of the set that is to come is counted by.
func (s *set) asks() resource.List {
	if s.larger != nil {
		return s.larger
	}
	return s.given.Requests
}

// meet compares the pods that there are with what was booked, when there are others. Of
// several pod sets, none of the pods says which it belongs to.
func (b *Book) meet(e *Entry) {
	if e.otherKinds && len(e.sets) == 1 {
		s := &e.sets[0]
		if larger := b.largerOf(s.given, e.kinds); !maps.Equal(larger, s.larger) {
			was := s.shape
			s.larger = larger
			s.shape = b.nodes.Keep(b.nodes.Shape(was.Place(), s.lands(), b.isIgnored))
			b.nodes.Let(was)
			b.price(e.sets)
		}
	}
	e.otherKinds = false
	if r := e.reservation(); r != nil && len(e.sets) == 1 && e.sets[0].larger != nil && e.differs != r.Time {
		e.differs = r.Time
		b.differ = append(b.differ, differing{e, r.Time})
	}
}

// differing is an entry whose pods ask for more than was booked, by one admission.
type differing struct {
	e  *Entry
	of int64
}

// byPods is what an admitted Job is charged by the pods that it has, and by the larger
// of what they ask for and what was booked for those that it does not have.
func (b *Book) byPods(e *Entry, s *set) []charge {
	var charges []charge
	missing := s.count
	for _, k := range e.kinds {
		missing -= k.pods
		b.nodes.Each(k.req, func(asked string, n int64) {
			b.rates.Each(asked, resource.Mul(n, k.pods), func(charged string, n int64) {
				charges = addCharge(charges, quota.Key{Queue: s.queue, Flavor: s.given.FlavorOf(charged, asked), Resource: charged}, n)
			})
		})
	}
	if missing > 0 {
		for _, c := range s.cells {
			charges = addCharge(charges, c.key, resource.Mul(c.n, missing))
		}
	}
	return charges
}

// Difference is that pods of an admitted Job ask for more than was booked for them.
type Difference struct {
	UID         string
	Time        int64         // of the admission
	Pod, Booked resource.List // of what they ask for more
}

// HasDifferences tells whether there may be some that nobody has taken yet.
func (b *Book) HasDifferences() bool { return len(b.differ) > 0 }

// NextDifference is the first that nobody has taken yet; an admission has one at most.
func (b *Book) NextDifference() (Difference, bool) {
	for len(b.differ) > 0 {
		next := b.differ[0]
		b.differ = b.differ[1:]
		e, r := next.e, next.e.reservation()
		switch {
		case r == nil || r.Time != next.of || len(e.sets) != 1:
		case e.sets[0].larger == nil:
			e.differs = 0 // those pods are gone; others may come
		default:
			return difference(e.uid, r.Time, &e.sets[0]), true
		}
	}
	b.differ = nil
	return Difference{}, false
}

func difference(uid string, admission int64, s *set) Difference {
	d := Difference{UID: uid, Time: admission, Pod: resource.List{}, Booked: resource.List{}}
	for name, n := range s.larger {
		if booked := s.given.Requests[name]; n > booked {
			d.Pod[name], d.Booked[name] = n, booked
		}
	}
	return d
}
