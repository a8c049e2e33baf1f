package decide

import (
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// fail takes a gang back that did not come up, or not again: to be tried later, or
// not at all if that happened too often.
func (p *planner) fail(e *book.Entry, q policies.Queue, r reason.Reason, cause string) {
	j, b := e.Job(), p.failed(e, q, cause)
	if q.Backoff.GivesUp(b.Count) {
		r = reason.GivingUp(r, b.Count, cause)
	} else {
		b.Until = resource.Add(p.Now, pause(j.UID, b.Count, q.Backoff))
	}
	p.suspend(j, r, b)
}

// noMachines takes a gang back that waited in vain for an autoscaler. It may start at
// once on what there is; that autoscaler is not asked again for a while, by nobody who
// wants the same.
func (p *planner) noMachines(e *book.Entry, q policies.Queue, r reason.Reason, flavors []string) {
	j, b := e.Job(), p.failed(e, q, causeNoMachines)
	if q.Backoff.GivesUp(b.Count) {
		r = reason.GivingUp(r, b.Count, causeNoMachines)
	}
	until := maps.Clone(b.NoMachines)
	if until == nil {
		until = map[string]int64{}
	}
	for _, name := range flavors {
		wait := resource.Mul(second, p.Catalog.Flavors[name].Elastic.Timeout())
		until[name] = resource.Add(p.Now, max(wait, pause(j.UID, b.Count, q.Backoff)))
	}
	b.NoMachines = until
	p.suspend(j, r, b)
}

// failed is the record of one more failure.
func (p *planner) failed(e *book.Entry, q policies.Queue, cause string) *demand.Backoff {
	j, count := e.Job(), int64(0)
	b := &demand.Backoff{UID: j.UID, Code: cause}
	if j.Backoff.UID == j.UID {
		if !p.ranWell(e, q) {
			count = j.Backoff.Count
		}
		for flavor, until := range j.Backoff.NoMachines {
			if until <= p.Now {
				continue
			}
			if b.NoMachines == nil {
				b.NoMachines = map[string]int64{}
			}
			b.NoMachines[flavor] = until
		}
	}
	b.Count = min(count, math.MaxInt64-1) + 1
	return b
}

// elastic is the flavors of an admission of which machines may be added, by name, and
// how long that may take, in seconds.
func (p *planner) elastic(r *demand.Reservation) (names []string, seconds int64) {
	if p.Catalog == nil {
		return nil, 0
	}
	for i := range r.PodSets {
		for _, name := range r.PodSets[i].Flavors {
			f := p.Catalog.Flavors[name]
			if f.Elastic.Max == 0 || f.Verify == policies.VerifyNone || slices.Contains(names, name) {
				continue
			}
			names, seconds = append(names, name), max(seconds, f.Elastic.Timeout())
		}
	}
	slices.Sort(names)
	return names, seconds
}

// ranWell tells whether what failed before is over: all pods were ready, and it ran
// for longer than the longest pause between two attempts. One that fails soon after
// each start does not get rid of its record by being up for a moment.
func (p *planner) ranWell(e *book.Entry, q policies.Queue) bool {
	longest := resource.Mul(second, q.Backoff.Longest())
	return !e.NeverReady() && p.Now >= resource.Add(e.Reservation().Time, longest)
}

// pause is how long a Job waits that failed so often, in nanoseconds: up to a
// quarter less than the queue says. How much less is not left to chance, so that
// the same input has the same plan.
func pause(uid string, count int64, b policies.Backoff) int64 {
	full := resource.Mul(second, b.Delay(count))
	const steps = 1000
	h := fnv.New64a()
	h.Write(strconv.AppendInt([]byte(uid), count, 10))
	return full - full/4/steps*int64(h.Sum64()>>11%(steps+1))
}

// forgiven is the record of a Job that its owner takes back: what went wrong
// before is not held against it. Nil if nothing did.
func forgiven(j *demand.Job) *demand.Backoff {
	if j.Backoff.UID != j.UID || j.Backoff.Count == 0 {
		return nil
	}
	return &demand.Backoff{UID: j.UID}
}

// outlived is the same for one that is taken back for others' sake after it ran
// well; nil leaves the record as it is.
func (p *planner) outlived(e *book.Entry) *demand.Backoff {
	if p.Catalog == nil || !p.ranWell(e, p.Catalog.Queues[e.Reservation().Queue]) {
		return nil
	}
	return forgiven(e.Job())
}

// tried tells a Job that was taken back and is not to start yet, or not at all.
func (p *planner) tried(it *item) {
	b := it.job.Backoff
	switch {
	case b.UID != it.job.UID || b.Count == 0 && b.Until == 0:
	case it.line.queue.Backoff.GivesUp(b.Count):
		it.found = append(it.found, reason.GivenUp(b.Count, b.Code))
	case resource.Sub(b.Until, p.Now) > resource.Mul(2*second, it.line.queue.Backoff.Longest()):
		// No pause is that long: the clock that it was written by was ahead.
	case b.Until > p.Now:
		it.found = append(it.found, reason.TryingLater(b.Count, b.Until, b.Code))
		p.wakeItem(it, b.Until)
	}
}
