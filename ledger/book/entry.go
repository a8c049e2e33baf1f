package book

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// Entry is one Job in the book, or pods whose Job is not known.
type Entry struct {
	uid      string
	orphans  bool
	observed *demand.Job
	assumed  *assumption
	evicted  *demand.Preempted // for whom it is being taken back
	stopping bool              // it is being taken back, for nobody
	served   int64             // when it was taken back for a Job that has started since

	vain []vain // machines that it asked for and did not get

	form *Form // what a queued Job asks for
	sets []set // what an admitted one was given
	// parted is what one had that was taken back or deleted: for pods of it that are not
	// seen yet.
	parted []set
	cut    cut // it is being deleted, or was

	groups  []group // its pods, by whom they say to charge
	kinds   []kind  // and by what they ask for
	differs int64   // the admission whose pods turned out to ask for more than was booked

	unbound   []*pod
	bound     map[*pod]struct{}
	live      int64 // pods
	deleting  int64 // of these, told to go
	seen      int64 // pods that are, or were since it was admitted
	active    int64 // bound and not deleting
	readyPods int64

	// What happened since it was admitted, as far as this process saw it: all
	// pods were bound, all were ready, so many bound ones are gone.
	placed, ready bool
	gone          int64
	otherKinds    bool  // of pods than it was compared with
	fresh         bool  // admitted by this process
	since         int64 // the admission these belong to
	short         short // of pods that are ready, after all were

	charges  []charge // as counted in the book's usage
	promised []promise
	counted  string // queue that counts it as admitted
}

type assumption struct {
	job         *demand.Job
	reservation demand.Reservation
	serves      []served
}

// served is room that was kept for a Job until it was assumed to have it.
type served struct {
	by   *Entry
	made int64 // when
}

type charge struct {
	key quota.Key
	n   int64
}

type promise struct {
	key promiseKey
	n   int64
}

// set is one pod set of an admitted Job.
type set struct {
	count  int64 // how many pods it wants now
	whole  bool  // the shape is that of all pods together
	shape  *fit.Shape
	flavor string
	queue  string
	given  *demand.ReservedPodSet
	larger resource.List // what a pod to come is counted by; nil: what was given
	booked []charge      // of one pod
	once   []charge      // of all together, besides
	cells  []charge      // of one that is to come
}

// group is the pods of an entry that say the same about whom to charge.
type group struct {
	tag  *tag
	pods int64
	all  fit.Sum
}

func (g *group) add(p *pod, sign int64) {
	g.pods += sign
	g.all.Add(p.req, sign)
}

func (e *Entry) group(t *tag) *group {
	for i := range e.groups {
		if e.groups[i].tag == t {
			return &e.groups[i]
		}
	}
	// An empty group's tag may be gone: its place can be taken.
	for i := range e.groups {
		if e.groups[i].pods == 0 {
			e.groups[i] = group{tag: t}
			return &e.groups[i]
		}
	}
	e.groups = append(e.groups, group{tag: t})
	return &e.groups[len(e.groups)-1]
}

func (e *Entry) setUnbound(p *pod, there bool) {
	if there {
		e.unbound = append(e.unbound, p)
		return
	}
	if i := slices.Index(e.unbound, p); i >= 0 {
		last := len(e.unbound) - 1
		e.unbound[i] = e.unbound[last]
		e.unbound[last] = nil
		e.unbound = e.unbound[:last]
	}
}

func (e *Entry) setBound(p *pod, sign int64) {
	if e.bound == nil {
		e.bound = map[*pod]struct{}{}
	}
	if sign > 0 {
		e.bound[p] = struct{}{}
	} else {
		delete(e.bound, p)
	}
	if !p.deleting {
		e.active += sign
	}
}

// reservation is what the Job counts as admitted by: what was assumed, or what
// is written on it; nil if it does not count as admitted.
func (e *Entry) reservation() *demand.Reservation {
	if e.observed != nil && (e.observed.Finished || e.observed.Deleting) {
		return nil // nothing undoes that, so no assumption stands against it
	}
	if e.assumed != nil {
		return &e.assumed.reservation
	}
	if e.observed != nil && e.observed.Admitted() && len(e.observed.Reservation.PodSets) > 0 {
		return e.observed.Reservation
	}
	return nil
}

// begin is a new admission: nothing has happened since.
func (e *Entry) begin() {
	e.placed, e.ready, e.gone, e.seen, e.short = false, false, 0, e.live, short{}
}

func (e *Entry) isAdmitted() bool { return len(e.sets) > 0 }

// runs: it may get pods, with or without our doing.
func (e *Entry) runs() bool {
	return e.observed != nil && !e.observed.Suspended && !e.observed.Finished && !e.observed.Deleting
}

func (e *Entry) isQueued() bool {
	j := e.observed
	return e.assumed == nil && j != nil && j.Suspended && !j.Finished && !j.Deleting
}

// MakesRoomFor is whom the Job was taken back for, nil if for nobody: until one of
// the two is admitted.
func (e *Entry) MakesRoomFor() *demand.Preempted {
	if made := e.MadeRoomFor(); made != nil && made.Time != e.served {
		return made
	}
	return nil
}

// MadeRoomFor is the same, until the Job itself is admitted again.
func (e *Entry) MadeRoomFor() *demand.Preempted {
	if e.evicted != nil || !e.isQueued() {
		return e.evicted
	}
	return e.observed.Preempted
}

// leaves: its pods are going, or its room is not taken yet, since it was taken back
// for another.
func (e *Entry) leaves() bool {
	return e.MakesRoomFor() != nil || e.live > 0 && e.MadeRoomFor() != nil || e.goes()
}

// goes: it is being taken back, or all pods that it still has were told to go, or are
// about to be, since the Job controller has not seen yet that it was suspended.
func (e *Entry) goes() bool {
	switch {
	case e.isAdmitted():
		return e.stopping
	case e.live == 0 || e.runs():
		return false
	}
	return e.deleting == e.live || e.isQueued() && e.observed.Started
}

// GoingSince is since when what a Job holds that makes room for nobody has been
// going, and whether it is: since the first of its pods was told to.
func (e *Entry) GoingSince(now int64) (since int64, goes bool) {
	if !e.goes() {
		return 0, false
	}
	since = now
	if e.isAdmitted() {
		return since, true // its own pods come and go as long as it runs
	}
	for p := range e.bound {
		if p.deleting {
			since = min(since, p.deletingSince)
		}
	}
	for _, p := range e.unbound {
		if p.deleting {
			since = min(since, p.deletingSince)
		}
	}
	return since, true
}

// UID of the Job.
func (e *Entry) UID() string { return e.uid }

// Job as it was last observed.
func (e *Entry) Job() *demand.Job { return e.observed }

// Form is what a queued Job asks for.
func (e *Entry) Form() *Form { return e.form }

// Live is how many pods it has that are not gone, terminating ones included.
func (e *Entry) Live() int64 { return e.live }

// Reservation is what it counts as admitted by, nil if it does not.
func (e *Entry) Reservation() *demand.Reservation { return e.reservation() }

// NeverPlaced: not all of its pods were bound yet since it was admitted.
func (e *Entry) NeverPlaced() bool { return !e.placed }

// NeverReady: not all of its pods were ready yet since it was admitted.
func (e *Entry) NeverReady() bool { return !e.ready }

// NeverHadPods: no pod of it has been seen since it was admitted.
func (e *Entry) NeverHadPods() bool {
	if e.live > 0 || e.gone > 0 || e.placed {
		return false
	}
	if e.fresh || e.observed == nil {
		return true
	}
	ended := e.observed.Ended
	if r := e.observed.Reservation; r != nil {
		ended, _ = r.EndedSince(e.observed)
	}
	return e.observed.Active+e.observed.Terminating+ended == 0
}

// Short is since when it has had fewer ready pods than it wants, after all were
// ready and as no pod has ended well; 0: it has not. One that has come short since
// the last Tick has since now.
func (e *Entry) Short(now int64) int64 {
	if e.short.is && e.short.since == 0 {
		return now
	}
	return e.short.since
}

// Unbound is how many of its pods are not bound, and since when the scheduler
// says of the first of them that it can't be; 0 if it never did.
func (e *Entry) Unbound() (pods, since int64) {
	for _, p := range e.unbound {
		if u := p.unschedulable; u != 0 && (since == 0 || u < since) {
			since = u
		}
	}
	return int64(len(e.unbound)), since
}

// Wanted is how many pods an admitted Job wants now.
func (e *Entry) Wanted() int64 {
	n := int64(0)
	for _, s := range e.sets {
		n = resource.Add(n, s.count)
	}
	return n
}

// Ready is how many of its pods are ready.
func (e *Entry) Ready() int64 { return e.readyPods }

// Subject is the Job it counts as: what was observed, else what was assumed.
func (e *Entry) Subject() *demand.Job {
	if e.observed == nil && e.assumed != nil {
		return e.assumed.job
	}
	return e.observed
}

// EachPromise calls f for the pods that an admitted Job may still have bound.
func (e *Entry) EachPromise(f func(shape *fit.Shape, pods int64)) {
	for _, p := range e.promised {
		f(p.key.shape, p.n)
	}
}

// EachReserved calls f for what an admitted Job is charged for pods that are on no
// node yet; of several pod sets with equal rows, once for each.
func (e *Entry) EachReserved(f func(key quota.Key, amount int64)) {
	e.eachUnbound(func(s *set, pods int64) {
		for _, c := range s.cells {
			f(c.key, min(resource.Mul(c.n, pods), ChargeMax))
		}
	})
}

// eachUnbound calls f for each pod set that may still have so many pods bound.
func (e *Entry) eachUnbound(f func(s *set, pods int64)) {
	bound := e.active
	for i := range e.sets {
		s := &e.sets[i]
		here := min(bound, s.count)
		bound -= here
		if s.count > here {
			f(s, s.count-here)
		}
	}
}

// EachCharge calls f for every row that the entry is charged to.
func (e *Entry) EachCharge(f func(key quota.Key, amount int64)) {
	for _, c := range e.charges {
		f(c.key, c.n)
	}
}
