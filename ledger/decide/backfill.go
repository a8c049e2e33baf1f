package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// booking is room at a known moment for the head of a line that is backfilled:
// everything as it will be then, with the head in it. Nobody behind the head may
// take so much of it that the head would not fit.
type booking struct {
	head     *item
	gets     *assignment
	at       int64 // unix nanoseconds, at the latest
	tree     shares
	machines *machines
	places   int64 // left in the head's queue, if it has as many Jobs as it may
	late     bool  // somebody who ranks before the head has taken some of it since
}

// end is a moment at which a Job that runs is over for certain.
type end struct {
	at    int64
	line  *line
	entry *book.Entry
}

// deadline is when the Job controller ends a Job that starts at a moment; 0: never.
// It begins anew with every start.
func deadline(j *demand.Job, start int64) int64 {
	if j.Policy == nil || j.Policy.ActiveDeadlineSec <= 0 {
		return 0
	}
	return resource.Add(start, resource.Mul(second, j.Policy.ActiveDeadlineSec))
}

// endIf is when a Job that waits is over for certain if it starts at a moment; 0 if
// nobody knows: at its deadline, or when it has run for as long as it may in all.
func (it *item) endIf(start int64) int64 {
	return demand.Shorter(deadline(it.job, start), it.job.EndsBy(it.mayRun(), start))
}

// endOfEntry is the same of one that runs.
func endOfEntry(e *book.Entry) int64 {
	at := e.TimeUpAt()
	if j := e.Subject(); j != nil {
		at = demand.Shorter(at, deadline(j, e.Reservation().Time))
	}
	return at
}

// ends is when the Jobs that run are over, as far as it is known, in that order.
func (p *planner) ends() []end {
	var all []end
	for _, l := range p.order {
		if l.name == "" {
			continue
		}
		for _, e := range p.Snapshot.Running(l.name) {
			if at := endOfEntry(e); at > 0 && !p.leaving.all[e] {
				all = append(all, end{max(at, p.Now), l, e})
			}
		}
	}
	slices.SortFunc(all, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.entry.UID(), b.entry.UID()))
	})
	return all
}

// bookFor finds the moment at which a Job that does not fit will, since others are
// over, and books its room there; false if that is not known.
func (p *planner) bookFor(it *item) bool {
	later := *p
	later.tree, later.machines = shares{p.tree.Clone()}, p.trial()
	later.now, later.leaving, later.evicted, later.ahead = later.tree, leaving{}, nil, nil
	later.tree.giveBack(p.borrowed)
	counts := make([]int64, len(it.class.sets))
	for i, s := range it.class.sets {
		counts[i] = s.count
	}
	places := p.places(it.line)
	for _, e := range p.changes() {
		e.happen(&later)
		if e.line == it.line {
			places += e.places
		}
		if places <= 0 {
			continue
		}
		a := later.assign(it, counts, nil)
		if a.mode == fits {
			later.tree.addAll(it.line.node, a.uses)
			later.machines.promiseAll(a.sets)
			p.bookings = append(p.bookings, &booking{
				head: it, gets: a, at: e.at, tree: later.tree, machines: later.machines, places: places - 1,
			})
			return true
		}
	}
	return false
}

// places is how many Jobs more a queue may have once those are gone who are leaving.
func (p *planner) places(l *line) int64 {
	if l.queue.MaxWorkloads == nil {
		return math.MaxInt64 / 2 // more come to it
	}
	left := *l.queue.MaxWorkloads - int64(len(l.started))
	for _, e := range p.Snapshot.Running(l.name) {
		if !p.leaving.all[e] {
			left--
		}
	}
	return left
}

// change is what will be otherwise from a moment on.
type change struct {
	at     int64
	line   *line
	places int64 // that it frees in the line's queue
	happen func(later *planner)
}

// changes is what is known of what will be, in order of time: Jobs end that run or
// that this plan lets go, and those start and end that have booked before.
func (p *planner) changes() []change {
	var all []change
	for _, e := range p.ends() {
		all = append(all, change{e.at, e.line, 1, func(later *planner) {
			e.entry.EachCharge(func(k quota.Key, n int64) {
				if node, pair := later.row(k); node != quota.None && pair != quota.None {
					later.tree.Remove(node, pair, n)
				}
			})
			later.machines.free(e.entry, 1)
		}})
	}
	for _, l := range p.order {
		for _, it := range l.started {
			if at := it.endIf(p.Now); it.state == admitted && at > 0 {
				all = append(all, change{at, l, 1, func(later *planner) { later.end(it.line.node, it.taken, it.given) }})
			}
		}
	}
	for _, b := range p.bookings {
		node := b.head.line.node
		all = append(all, change{b.at, b.head.line, -1, func(later *planner) {
			later.tree.addAll(node, b.gets.uses)
			later.machines.promiseAll(b.gets.sets)
		}})
		if at := b.head.endIf(b.at); at > 0 {
			all = append(all, change{at, b.head.line, 1, func(later *planner) { later.end(node, b.gets.uses, b.gets.sets) }})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return all
}

// end takes out a Job of which only promises count yet.
func (p *planner) end(n quota.NodeID, uses []use, sets []chosen) {
	p.tree.removeAll(n, uses)
	for i := range sets {
		p.machines.unpromise(sets[i].machines.shape, sets[i].count)
	}
}

// delays is the booking that an entry would be in the way of, nil if it would not:
// one that ranks before it, that is not over by then, and that does not fit beside.
// Whoever borrows from nearer has its turn first, whatever is booked.
func (p *planner) delays(e *entry) *booking {
	over := e.endIf(p.Now)
	for _, b := range p.bookings {
		if b.head == e.item || compare(b.head, e.item) > 0 || e.level < b.gets.level || over > 0 && over <= b.at {
			continue
		}
		full := e.line == b.head.line && b.places <= 0
		if full || !b.tree.fits(e.line.node, e.uses) || !p.QuotaOnly && !b.machines.allow(e.sets) {
			return b
		}
	}
	return nil
}

// crowdBookings counts a Job that starts in every booking that it outlasts.
func (p *planner) crowdBookings(it *item, a *assignment) {
	over := it.endIf(p.Now)
	for _, b := range p.bookings {
		if b.head == it || over > 0 && over <= b.at {
			continue
		}
		fits := b.tree.fits(it.line.node, a.uses) && (p.QuotaOnly || b.machines.allow(a.sets))
		if it.line == b.head.line {
			b.places--
			fits = fits && b.places >= 0
		}
		b.late = b.late || !fits
		b.tree.addAll(it.line.node, a.uses)
		b.machines.promiseAll(a.sets)
	}
}

// startBy is the moment at which a Job starts at the latest, as things are; 0 if
// that is not known, or if others are before it that may take what they like, as
// they are where it has to borrow.
func (p *planner) startBy(it *item) int64 {
	at := slices.IndexFunc(p.bookings, func(b *booking) bool { return b.head == it })
	if at < 0 || p.bookings[at].late || p.bookings[at].gets.level > 0 {
		return 0
	}
	for _, l := range p.order {
		if i := slices.IndexFunc(l.items, func(it *item) bool { return it.state != admitted }); i >= 0 && compare(l.items[i], it) < 0 {
			return 0
		}
	}
	return p.bookings[at].at
}
