package book

import (
	"encoding/binary"
	"maps"
	"math"
	"strconv"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// ChargeMax is the most that one Job is charged of anything: 8 PiB of memory. One
// that asks for more never starts.
const ChargeMax = int64(1) << 53

// Form is what a queued Job asks for. Two Jobs whose keys are equal ask for the
// same in the same places.
type Form struct {
	Key  FormKey
	Sets []FormSet
	// Terms tells apart what forms with one key take of ResourceQuotas.
	Terms string
}

// FormKey tells forms apart.
type FormKey struct {
	shape *fit.Shape
	req   *fit.Vector
	count int64
	least int64
	level demand.Topology
	more  string // further pod sets
}

// FormSet is one pod set of a form.
type FormSet struct {
	Set   *demand.PodSet
	Shape *fit.Shape // without any flavor
	req   *fit.Vector
}

// reform works out everything that follows from the Job itself.
func (b *Book) reform(e *Entry) {
	was := e.isAdmitted()
	b.part(e)
	b.unform(e)
	if r := e.reservation(); r != nil {
		e.sets = b.setsOf(e, r)
		if r.Time != e.since {
			e.since = r.Time
			if e.assumed == nil && !e.fresh {
				e.begin()
			}
		}
	} else {
		e.fresh = false
	}
	if is := e.isAdmitted(); is != was {
		b.shiftRivals(e, is)
		if is {
			if had := b.serve(e.uid, math.MaxInt64); e.assumed != nil {
				e.assumed.serves = had
			}
			e.served = 0 // if it makes room once more, it does so anew, be it at the same moment
		}
	}
	if e.isQueued() {
		e.form = b.formOf(e.observed)
		b.queued[e] = struct{}{}
	} else {
		delete(b.queued, e)
	}
	b.askedInVain(e)
	b.refresh(e)
}

// serve ends the keeping of room that was made before a moment for a Job that has
// it now, or had it.
func (b *Book) serve(uid string, before int64) (all []served) {
	for e := range b.leaving {
		if made := e.MakesRoomFor(); made != nil && made.By == uid && made.Time < before {
			e.served = made.Time
			all = append(all, served{e, made.Time})
			member(b.leaving, e, e.leaves())
		}
	}
	return all
}

// keepAgain has room kept as before for a Job that was assumed to have it, and has not.
func (b *Book) keepAgain(a *assumption) {
	for _, s := range a.serves {
		if s.by.served == s.made && b.entries[s.by.uid] == s.by {
			s.by.served = 0
			member(b.leaving, s.by, s.by.leaves())
		}
	}
}

// startedSince tells whether a Job that room was made for has had it: after a
// restart, those who made it may be seen last. One that was itself taken back for
// another since then has run in between.
func (b *Book) startedSince(made *demand.Preempted) bool {
	by := b.entries[made.By]
	if by == nil || by.observed == nil {
		return false
	}
	if r := by.observed.Reservation; r != nil && r.Time >= made.Time {
		return true
	}
	back := by.observed.Preempted
	return back != nil && back.Time > made.Time
}

// part keeps what a Job had that waits again, or is deleted before its pods were seen,
// and gives it up once that is over.
func (b *Book) part(e *Entry) {
	if e.cut != (cut{}) && !e.isCut() {
		e.cut = cut{} // they have all been seen
	}
	keeps := e.isQueued() && e.reservation() == nil || e.isCut()
	if keeps && !e.isAdmitted() {
		return // it is as before
	}
	b.letSets(e.parted)
	e.parted = nil
	if keeps {
		e.parted, e.sets = e.sets, nil
	}
}

func (b *Book) letSets(sets []set) {
	for _, s := range sets {
		b.nodes.Let(s.shape)
	}
}

// unform gives up the shapes an entry uses.
func (b *Book) unform(e *Entry) {
	b.letSets(e.sets)
	e.sets = e.sets[:0]
	if e.form != nil {
		for _, s := range e.form.Sets {
			b.nodes.Let(s.Shape)
			b.nodes.Drop(s.req)
		}
		e.form = nil
	}
}

// shiftRivals: pods of an admitted Job are covered by its promise, those of any
// other one are rivals.
func (b *Book) shiftRivals(e *Entry, admitted bool) {
	sign := int64(1)
	if admitted {
		sign = -1
	}
	for _, p := range e.unbound {
		b.stand(p, sign)
	}
}

func (b *Book) setsOf(e *Entry, r *demand.Reservation) []set {
	job := e.observed
	if e.assumed != nil {
		job = e.assumed.job
	}
	sets := e.sets[:0]
	for i := range r.PodSets {
		given := &r.PodSets[i]
		s := set{count: given.Count, flavor: given.Flavors[resource.Pods], queue: r.Queue, given: given}
		place := demand.Place{}
		if asked := podSet(job, given.Name, i); asked != nil {
			place = b.placedSet(job, asked).Place
			place.Claimed, place.Existing = given.Claimed, given.Existing // by what it was admitted with
			if s.count, s.whole = asked.Pods(), asked.Together > 0 && len(given.Shared) > 0; s.whole {
				place.Claimed = given.Shared
			}
			if e.assumed != nil {
				s.count = min(s.count, given.Count) // maybe fewer than all; what is observed runs by its own parallelism
			}
		}
		if len(r.PodSets) == 1 {
			s.larger = b.largerOf(given, e.kinds)
		}
		s.shape = b.nodes.Keep(b.nodes.Shape(Inject(place, given.NodeSelector, given.Tolerations), s.lands(), b.isIgnored))
		sets = append(sets, s)
	}
	b.price(sets)
	return sets
}

// price works out what each pod of the sets is charged.
func (b *Book) price(sets []set) {
	for i := range sets {
		s := &sets[i]
		s.booked, s.once = b.priceOf(s, s.given.EachCharge), b.priceOf(s, s.given.EachShared)
		if s.cells = s.booked; s.larger != nil {
			larger := *s.given
			larger.Requests = s.larger
			s.cells = b.priceOf(s, larger.EachCharge)
		}
	}
}

func (b *Book) priceOf(s *set, each func(resource.Rates, func(flavor, charged string, n int64))) (cells []charge) {
	each(b.rates, func(flavor, charged string, n int64) {
		cells = addCharge(cells, quota.Key{Queue: s.queue, Flavor: flavor, Resource: charged}, n)
	})
	return cells
}

func podSet(j *demand.Job, name string, i int) *demand.PodSet {
	for k := range j.PodSets {
		if j.PodSets[k].Name == name {
			return &j.PodSets[k]
		}
	}
	if i < len(j.PodSets) {
		return &j.PodSets[i]
	}
	return nil
}

// Inject returns the place with a flavor's selector and tolerations added; what
// the user set stays.
func Inject(p demand.Place, selector map[string]string, tolerations []policies.Toleration) demand.Place {
	if len(selector) > 0 {
		merged := maps.Clone(selector)
		maps.Copy(merged, p.NodeSelector)
		p.NodeSelector = merged
	}
	if len(tolerations) > 0 {
		p.Tolerations = append(p.Tolerations[:len(p.Tolerations):len(p.Tolerations)], tolerations...)
	}
	return p
}

func (b *Book) formOf(j *demand.Job) *Form {
	f := &Form{Sets: make([]FormSet, len(j.PodSets))}
	var more []byte
	for i := range j.PodSets {
		ps := b.placedSet(j, &j.PodSets[i])
		f.Sets[i] = FormSet{
			Set:   ps,
			Shape: b.nodes.Keep(b.nodes.Shape(ps.Place, ps.Requests, b.isIgnored)),
			req:   b.nodes.Vector(ps.Requests),
		}
		if i == 0 {
			f.Key = FormKey{shape: f.Sets[0].Shape, req: f.Sets[0].req, count: ps.Count, least: ps.MinCount, level: ps.Topology}
			continue
		}
		more = binary.AppendVarint(binary.AppendVarint(append(more, f.Sets[i].Shape.Key()...), ps.Count), ps.MinCount)
		more = strconv.AppendBool(append(more, ps.Topology.Level...), ps.Topology.Required)
	}
	f.Key.more = string(more)
	f.Terms = termsOf(f.Sets)
	return f
}
