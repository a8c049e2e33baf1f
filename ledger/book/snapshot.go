package book

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// Snapshot is the book as it stands, to be read until the book changes next.
type Snapshot struct{ b *Book }

// Snapshot returns a view of the book; it costs nothing.
func (b *Book) Snapshot() *Snapshot {
	b.nodes.Tidy()
	b.nodes.Settle()
	return &Snapshot{b}
}

// Queued is the Jobs that wait, in no order.
func (s *Snapshot) Queued() []*Entry {
	entries := make([]*Entry, 0, len(s.b.queued))
	for e := range s.b.queued {
		entries = append(entries, e)
	}
	return entries
}

// Watched is the Jobs that run and may have to be taken back, by UID: those
// without a reservation, those whose owner wants them held, and those that were
// not all placed or not all ready yet, or not all ready any more.
func (s *Snapshot) Watched() []*Entry { return byUID(s.b.watched) }

func byUID(set map[*Entry]struct{}) []*Entry {
	entries := make([]*Entry, 0, len(set))
	for e := range set {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.uid, b.uid) })
	return entries
}

// Usage is what is charged to a row, without what is loose.
func (s *Snapshot) Usage(key quota.Key) int64 { return s.b.usage[key].Int64() }

// Charged lists every row that anything is charged to, by key.
func (s *Snapshot) Charged() []quota.Row { return s.b.charged() }

func (b *Book) charged() []quota.Row {
	rows := make([]quota.Row, 0, len(b.usage))
	for key, n := range b.usage {
		rows = append(rows, quota.Row{Key: key, Usage: n.Int64()})
	}
	slices.SortFunc(rows, func(a, b quota.Row) int { return quota.CompareKeys(a.Key, b.Key) })
	return rows
}

// Admitted is how many Jobs a queue has running, by reservation.
func (s *Snapshot) Admitted(queue string) int64 { return int64(len(s.b.admitted[queue])) }

// Loose is what is charged for a Job that was never admitted: only the policy can say
// to whom.
type Loose struct {
	Entry  *Entry
	Amount resource.List
}

// Loose is every such Job, by UID.
func (s *Snapshot) Loose() []Loose {
	var all []Loose
	for _, e := range byUID(s.b.loose) {
		all = append(all, Loose{e, s.b.looseAmount(e)})
	}
	return all
}

func (b *Book) looseAmount(e *Entry) resource.List {
	hold, may := resource.List{}, resource.List{}
	for i := range e.groups {
		if g := &e.groups[i]; e.isLooseGroup(g) {
			b.nodes.EachOf(&g.all, func(name string, n int64) { hold[name] = resource.Add(hold[name], n) })
		}
	}
	if e.runs() {
		for _, ps := range e.observed.PodSets {
			may.AddTo(ps.Requests, ps.Count)
		}
	}
	larger := resource.Max(b.rates.Charged(hold), b.rates.Charged(may))
	for name, n := range larger {
		larger[name] = min(max(n, 0), ChargeMax)
	}
	return larger
}

// Outstanding is pods that a Job may still have bound: it is admitted, or was.
type Outstanding struct {
	UID    string
	Shape  *fit.Shape
	Flavor string
	Pods   int64
	Plan   map[string]int64 // node → pods: where the Job was planned to go
	Since  int64            // when it was let go; 0: not known, or it was taken back
}

// Outstanding lists them by UID.
func (s *Snapshot) Outstanding() []Outstanding {
	var all []Outstanding
	for _, e := range byUID(s.b.owing) {
		var plan map[string]int64
		since := int64(0)
		if r := e.reservation(); r != nil {
			plan, since = r.Plan, r.Time
		}
		for _, p := range e.promised {
			all = append(all, Outstanding{e.uid, p.key.shape, p.key.flavor, p.n, plan, since})
		}
	}
	return all
}

// Promised is the promises of all Jobs, by shape and flavor.
type Promised struct {
	Shape  *fit.Shape
	Flavor string
	Pods   int64
}

// Promises sums up what was promised, in a fixed order.
func (s *Snapshot) Promises() []Promised {
	all := make([]Promised, 0, len(s.b.promises))
	for key, n := range s.b.promises {
		all = append(all, Promised{key.shape, key.flavor, n})
	}
	slices.SortFunc(all, func(a, b Promised) int {
		return cmp.Or(cmp.Compare(a.Shape.Key(), b.Shape.Key()), cmp.Compare(a.Flavor, b.Flavor))
	})
	return all
}

// Rivals is the unbound pods that were promised nothing, in a fixed order: at
// most as many of a shape as have room.
func (s *Snapshot) Rivals() []fit.Promise {
	all := make([]fit.Promise, 0, len(s.b.pending))
	for shape, n := range s.b.pending {
		if n = min(n, s.b.nodes.Room().Slots(shape)); n > 0 {
			all = append(all, fit.Promise{Shape: shape, Pods: n})
		}
	}
	slices.SortFunc(all, func(a, b fit.Promise) int { return cmp.Compare(a.Shape.Key(), b.Shape.Key()) })
	return all
}

// Room is what is free right now.
func (s *Snapshot) Room() *fit.Room { return s.b.nodes.Room() }

// Empty is what would fit if nothing ran.
func (s *Snapshot) Empty(shape *fit.Shape) fit.Empty { return s.b.nodes.Empty(shape) }

// Barred is what keeps a shape, which no node may run, off the nodes of a flavor.
func (s *Snapshot) Barred(shape *fit.Shape, flavor string, labels map[string]string, named string) reason.Barred {
	return s.b.nodes.Barred(shape, flavor, labels, named)
}

// EmptyDomains is how room for a shape would lie in the domains of a level if nothing ran.
func (s *Snapshot) EmptyDomains(shape *fit.Shape, level string) fit.Domains {
	return s.b.nodes.EmptyDomains(shape, level)
}

// Lost is how much of a resource can't be given out for the moment where a shape
// may run.
func (s *Snapshot) Lost(shape *fit.Shape, resourceName string) int64 {
	return s.b.nodes.Lost(shape, resourceName)
}

// Source is how nodes give containers a resource where a shape may run.
func (s *Snapshot) Source(shape *fit.Shape, resourceName string) fit.Source {
	return s.b.nodes.Source(shape, resourceName)
}

// Stock is what there is of a resource where a shape may run, in order or not.
func (s *Snapshot) Stock(shape *fit.Shape, resourceName string) fit.Stock {
	return s.b.nodes.Stock(shape, resourceName)
}

// Shape returns the shape of pods that ask for list at place.
func (s *Snapshot) Shape(place demand.Place, list resource.List) *fit.Shape {
	return s.b.nodes.Shape(place, list, s.b.isIgnored)
}

// Running is the Jobs that a queue has admitted, by UID.
func (s *Snapshot) Running(queue string) []*Entry {
	return byUID(s.b.admitted[queue])
}

// Owing is the Jobs that are admitted and have pods to come that are on no node yet,
// by UID.
func (s *Snapshot) Owing() []*Entry { return byUID(s.b.owing) }

// Leaving is the Jobs that were taken back, or are being, by UID: until their pods are
// gone and whoever they made room for has started, or they are admitted again. Jobs
// that are over or deleted are among them as long as they have pods that go.
func (s *Snapshot) Leaving() []*Entry { return byUID(s.b.leaving) }

// Resources is every resource that a node or pod has named, sorted.
func (s *Snapshot) Resources() []string { return s.b.nodes.Resources() }

// Exists tells whether some node has a resource, or gives devices of a class for it.
func (s *Snapshot) Exists(name string) bool { return s.b.nodes.Exists(name) }

// Entry of a Job, nil if there is none.
func (s *Snapshot) Entry(uid string) *Entry { return s.b.entries[uid] }

// Rates are what is charged instead of what.
func (s *Snapshot) Rates() resource.Rates { return s.b.rates }

// Keep holds on to a shape until Let.
func (s *Snapshot) Keep(shape *fit.Shape) *fit.Shape { return s.b.nodes.Keep(shape) }

// EachBound calls f for every pod of a Job that is on a node, in no order, with what the
// node has more once it is gone; of one pod perhaps more than once.
func (s *Snapshot) EachBound(e *Entry, f func(node string, gives *fit.Vector)) {
	for p := range e.bound {
		rows, known := resource.List(nil), false
		if p.gives != p.holds && s.b.leaves != nil {
			rows, known = s.b.leaves(p.uid)
		}
		if !known {
			f(p.node, p.gives)
			continue
		}
		f(p.node, p.holds)
		v := s.b.nodes.Known(rows)
		f(p.node, v)
		s.b.nodes.Drop(v)
	}
}

// EachRival calls f for the pods of a Job that is not admitted, which may be bound at
// any moment until they are gone; of one shape more than once.
func (s *Snapshot) EachRival(e *Entry, f func(shape *fit.Shape, pods int64)) {
	if e.isAdmitted() {
		return // they are promised
	}
	for _, p := range e.unbound {
		if p.rival && p.priority >= s.b.rivalsFrom {
			f(p.shape, 1)
		}
	}
}

// Let gives up a shape that was kept.
func (s *Snapshot) Let(shape *fit.Shape) { s.b.nodes.Let(shape) }

// Machines tells two states of the machines apart: what they are and have, and what
// is free on them.
func (s *Snapshot) Machines() (have, free uint64) { return s.b.nodes.Versions() }
