package book

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// refresh brings the sums in line with what an entry holds now.
func (b *Book) refresh(e *Entry) {
	if e == nil {
		return
	}
	b.journal.entries.add(e)
	b.meet(e)
	e.witness()
	b.comesShort(e)
	b.recharge(e, b.chargesOf(e))
	b.repromise(e, promisesOf(e))
	b.recount(e)
	member(b.watched, e, e.wantsWatching())
	member(b.loose, e, e.isLoose())
	member(b.owing, e, len(e.promised) > 0)
	member(b.leaving, e, e.leaves())
	b.timed.set(e, e.TimeUpAt())
	b.owe(e)
}

func member(set map[*Entry]struct{}, e *Entry, in bool) {
	if in {
		set[e] = struct{}{}
	} else {
		delete(set, e)
	}
}

// witness notes what has happened since the admission. Pods that ended count
// as having been bound and ready.
func (e *Entry) witness() {
	if !e.isAdmitted() || e.assumed != nil {
		return
	}
	given := e.given()
	ended := e.gone
	if !e.fresh {
		since, _ := e.observed.Reservation.EndedSince(e.observed)
		ended = max(ended, since)
	}
	wanted := e.Wanted() // less than given once pods ended or the Job was made smaller
	e.placed = e.placed || e.active >= wanted || e.active+ended >= given
	e.ready = e.ready || e.readyPods >= wanted || e.readyPods+ended >= given
}

// short is that a gang does not have all the pods ready that it had.
type short struct {
	is        bool
	since     int64 // 0: since the last Tick
	succeeded int64 // pods by then
}

// comesShort notes when a gang loses pods that were ready, for the next Tick to say
// when that was. A pod that ended well is no loss, and starts the clock again.
func (b *Book) comesShort(e *Entry) {
	if !e.isAdmitted() || e.assumed != nil || !e.ready || e.isWhole() {
		e.short = short{}
		return
	}
	if succeeded := e.observed.Succeeded; !e.short.is || e.short.succeeded != succeeded {
		e.short = short{is: true, succeeded: succeeded}
		b.lost = append(b.lost, e)
	}
}

// isWhole: all that it wants are ready, or have been and ended well. Where others
// come after those, that is one after the other, and nobody waits for anybody.
func (e *Entry) isWhole() bool {
	_, well := e.observed.Reservation.EndedSince(e.observed)
	return e.readyPods >= e.Wanted() || e.readyPods+well >= e.given()
}

// given is how many pods it was admitted with.
func (e *Entry) given() int64 {
	n := int64(0)
	for _, s := range e.observed.Reservation.PodSets {
		n += s.Count
	}
	return n
}

// wantsWatching: a plan may have to take it back.
func (e *Entry) wantsWatching() bool {
	if e.assumed != nil || !e.runs() {
		return false
	}
	return !e.isAdmitted() || e.observed.HeldByOwner || !e.placed || !e.ready || e.short.is
}

// isLoose: it holds something that only the policy can say whom to charge for.
func (e *Entry) isLoose() bool {
	if e.isAdmitted() || e.observed == nil {
		return false
	}
	return e.runs() || slices.ContainsFunc(e.groups, func(g group) bool { return e.isLooseGroup(&g) })
}

func (e *Entry) isLooseGroup(g *group) bool {
	if g.pods == 0 {
		return false
	}
	return e.runs() || g.tag == nil
}

// chargesOf is what the entry is charged for now. Pods of a Job that is not
// admitted are charged to whom they name themselves, whatever is written on the
// Job; those that name nobody are loose.
func (b *Book) chargesOf(e *Entry) []charge {
	if e.isAdmitted() {
		return b.admittedCharges(e)
	}
	if e.runs() {
		return nil // loose, all of it
	}
	var charges []charge
	for i := range e.groups {
		g := &e.groups[i]
		if g.pods == 0 || g.tag == nil {
			continue
		}
		charges = b.addHeld(charges, g, g.tag.queue, g.tag.flavors)
	}
	b.eachUnseen(e, func(key quota.Key, n int64) { charges = addCharge(charges, key, n) })
	return charges
}

// unseen is how many pods a Job that is not admitted any more still has by its own
// word, and that have not been seen: Jobs and pods are watched apart, and what is told
// of pods may come later. The API server takes no Job for over that still has some.
func (e *Entry) unseen() int64 {
	j := e.observed
	switch {
	case e.isCut():
		return e.cut.pods - e.seen
	case j == nil, j.Deleting:
		return 0
	case j.Finished:
		return max(0, j.Active+j.Terminating-e.live)
	case len(e.parted) > 0: // what was seen and is gone, it may still count
		return max(0, j.Active+j.Terminating-e.seen)
	}
	return 0
}

// eachUnseen calls f for what those pods take: by what is written on a Job that is
// over, and by what was on one that was taken back.
func (b *Book) eachUnseen(e *Entry, f func(key quota.Key, amount int64)) {
	unseen := e.unseen()
	switch {
	case unseen == 0:
	case e.observed == nil || !e.observed.Finished:
		if len(e.parted) > 0 {
			for _, c := range e.parted[0].cells {
				f(c.key, min(resource.Mul(c.n, unseen), ChargeMax))
			}
		}
	case e.observed.Reservation != nil && len(e.observed.Reservation.PodSets) > 0:
		r := e.observed.Reservation
		r.PodSets[0].EachCharge(b.rates, func(flavor, charged string, n int64) {
			f(quota.Key{Queue: r.Queue, Flavor: flavor, Resource: charged}, min(resource.Mul(n, unseen), ChargeMax))
		})
	}
}

// addHeld adds what is charged for all that a group of pods has together.
func (b *Book) addHeld(charges []charge, g *group, queue string, flavors map[string]string) []charge {
	b.nodes.EachOf(&g.all, func(asked string, n int64) {
		b.rates.Each(asked, n, func(charged string, n int64) {
			key := quota.Key{Queue: queue, Flavor: resource.FlavorOf(flavors, charged, asked), Resource: charged}
			charges = addCharge(charges, key, n)
		})
	})
	return charges
}

// admittedCharges is max(what it may run, what its pods hold), row by row; where its
// pods ask for more than was booked, what they and those to come will hold, too.
func (b *Book) admittedCharges(e *Entry) []charge {
	var may, hold []charge
	for _, s := range e.sets {
		for _, c := range s.booked {
			may = addCharge(may, c.key, resource.Mul(c.n, s.count))
		}
		for _, c := range s.once {
			may = addCharge(may, c.key, c.n)
		}
	}
	r := e.reservation()
	for i := range e.groups {
		flavors := r.PodSets[0].Flavors
		if t := e.groups[i].tag; len(r.PodSets) > 1 && t != nil {
			flavors = t.flavors // of several pod sets, the pods say where theirs is
		}
		hold = b.addHeld(hold, &e.groups[i], r.Queue, flavors)
	}
	may = maxCharges(may, hold)
	if len(e.sets) == 1 && e.sets[0].larger != nil {
		may = maxCharges(may, b.byPods(e, &e.sets[0]))
	}
	return may
}

func maxCharges(list, other []charge) []charge {
	for _, o := range other {
		if i := find(list, o.key); i >= 0 {
			list[i].n = max(list[i].n, o.n)
		} else {
			list = append(list, o)
		}
	}
	return list
}

func find(list []charge, key quota.Key) int {
	return slices.IndexFunc(list, func(c charge) bool { return c.key == key })
}

func addCharge(list []charge, key quota.Key, n int64) []charge {
	n = min(n, ChargeMax)
	if i := find(list, key); i >= 0 {
		list[i].n = min(list[i].n+n, ChargeMax)
		return list
	}
	return append(list, charge{key, n})
}

func (b *Book) recharge(e *Entry, charges []charge) {
	if slices.Equal(e.charges, charges) {
		return
	}
	for _, c := range e.charges {
		b.charge(c.key, -c.n)
	}
	for _, c := range charges {
		b.charge(c.key, c.n)
	}
	e.charges = charges
}

func (b *Book) charge(key quota.Key, n int64) {
	b.journal.rows.add(key)
	sum := b.usage[key].Plus(n)
	if b.usage[key] = sum; sum == (resource.Wide{}) {
		delete(b.usage, key)
	}
}

// promisesOf is the pods that an admitted Job may run and that are not bound, and those
// of one that was taken back that are not seen yet.
func promisesOf(e *Entry) []promise {
	var promises []promise
	if unseen := e.unseen(); unseen > 0 && len(e.parted) > 0 {
		s := &e.parted[0]
		promises = append(promises, promise{promiseKey{s.shape, s.flavor}, min(unseen, ChargeMax)})
	}
	e.eachUnbound(func(s *set, pods int64) {
		if s.whole {
			pods = 1
		}
		promises = append(promises, promise{promiseKey{s.shape, s.flavor}, min(pods, ChargeMax)})
	})
	return promises
}

func (b *Book) repromise(e *Entry, promises []promise) {
	if slices.Equal(e.promised, promises) {
		return
	}
	for _, p := range e.promised {
		b.promise(p.key, -p.n)
	}
	for _, p := range promises {
		b.promise(p.key, p.n)
	}
	e.promised = promises
}

func (b *Book) promise(key promiseKey, n int64) {
	if b.promises[key] += n; b.promises[key] == 0 {
		delete(b.promises, key)
	}
}

// recount keeps the admitted Jobs of each queue.
func (b *Book) recount(e *Entry) {
	queue := ""
	if r := e.reservation(); r != nil {
		queue = r.Queue
	}
	if queue == e.counted {
		return
	}
	b.journal.rows.add(quota.Key{Queue: e.counted})
	b.journal.rows.add(quota.Key{Queue: queue})
	if in := b.admitted[e.counted]; in != nil {
		if delete(in, e); len(in) == 0 {
			delete(b.admitted, e.counted)
		}
	}
	if queue != "" {
		in := b.admitted[queue]
		if in == nil {
			in = map[*Entry]struct{}{}
			b.admitted[queue] = in
		}
		in[e] = struct{}{}
	}
	e.counted = queue
}
