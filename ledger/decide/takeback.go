package decide

import (
	"math"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

const second = int64(1e9)

// Why a gang was taken back, as written in its backoff.
const (
	causePlacement = "placement timeout"
	causeNoPods    = "no pods made"
	causePodsReady = "readiness timeout"
	causeRecovery  = "recovery timeout"
)

// takeBack suspends what must not go on: Jobs whose owner wants them held, Jobs
// that nobody let go, and gangs that were not placed, ready, or ready again in time.
func (p *planner) takeBack() {
	p.timeUp()
	for _, e := range p.Snapshot.Watched() {
		j := e.Job()
		if p.Busy[j.UID] || j.Bypass {
			continue
		}
		switch {
		case j.HeldByOwner:
			p.suspend(j, reason.OwnerHolds(), forgiven(j))
		case e.Reservation() == nil:
			p.takeUnreserved(e)
		default:
			p.timeOut(e)
		}
	}
}

// takeUnreserved: a Job that runs without a reservation is left alone and
// charged, unless the policy says otherwise or it has no pods yet. Without a
// policy nobody knows.
func (p *planner) takeUnreserved(e *book.Entry) {
	if p.Catalog == nil {
		return
	}
	j := e.Job()
	none := e.Live() == 0 && j.Active+j.Terminating+j.Ended == 0
	if p.Catalog.Unreserved == policies.UnreservedSuspend || none {
		p.suspend(j, reason.NotAdmitted(p.queueOf(j)), nil)
	}
}

// queueOf is the queue that a Job is charged to without a reservation.
func (p *planner) queueOf(j *demand.Job) string {
	if outcome, ok := p.Verdicts[j.UID]; ok && outcome.Verdict.Queue != "" {
		return outcome.Verdict.Queue
	}
	return j.Queue
}

func (p *planner) timeOut(e *book.Entry) {
	j, r := e.Job(), e.Reservation()
	if at := e.TimeUpAt(); at > 0 && at <= p.Now {
		return // see timeUp
	}
	var queue policies.Queue
	if p.Catalog != nil {
		queue = p.Catalog.Queues[r.Queue]
	}
	placement, ready, recovery := queue.PlacementTimeout(), queue.PodsReadyTimeout(), queue.RecoveryTimeoutSeconds
	admitted := max(r.Time, p.Since)
	unbound, unschedulable := e.Unbound()
	switch {
	case e.NeverHadPods() && p.over(admitted, placement):
		p.suspend(j, reason.NoPodMade(placement), p.backoff(e, queue, causeNoPods))
	case e.NeverPlaced() && unschedulable > 0 && p.over(max(unschedulable, p.Since), placement):
		p.suspend(j, reason.NotPlaced(unbound, placement), p.backoff(e, queue, causePlacement))
	case e.NeverReady() && p.over(admitted, ready):
		p.suspend(j, reason.NotReady(e.Ready(), e.Wanted(), ready), p.backoff(e, queue, causePodsReady))
	case recovery > 0 && e.Short(p.Now) > 0 && p.over(max(e.Short(p.Now), p.Since), recovery):
		p.suspend(j, reason.NotRecovered(e.Ready(), e.Wanted(), recovery), p.backoff(e, queue, causeRecovery))
	}
}

// over tells whether so many seconds have passed, and wakes the plan when they
// will have.
func (p *planner) over(since, seconds int64) bool {
	end := resource.Add(since, resource.Mul(second, seconds))
	p.wake(end)
	return p.Now >= end
}

func (p *planner) suspend(j *demand.Job, r reason.Reason, b *demand.Backoff) {
	if b != nil {
		r.Until = b.Until
	}
	p.res.Suspend = append(p.res.Suspend, effect.Suspend{Job: j, Reason: r, Backoff: b})
}

// forgiven is the record of a Job that its owner takes back: what went wrong
// before is not held against it. Nil if nothing did.
func forgiven(j *demand.Job) *demand.Backoff {
	if j.Backoff.UID != j.UID || j.Backoff.Count == 0 {
		return nil
	}
	return &demand.Backoff{UID: j.UID}
}

// countsOn tells whether a failure goes with the ones before it. One whose pods all
// found a node starts anew, unless it failed to get ready before too; one that was
// ready, unless it lost pods the last time as well and did not run for long.
func (p *planner) countsOn(e *book.Entry, q policies.Queue, cause string) bool {
	before := e.Job().Backoff.Code
	if cause != causeRecovery {
		return e.NeverPlaced() || before == causePodsReady
	}
	longest := resource.Mul(second, q.Backoff.Longest())
	return before == causeRecovery && p.Now < resource.Add(e.Reservation().Time, longest)
}

// backoff is the record of one more time that a Job is taken back.
func (p *planner) backoff(e *book.Entry, q policies.Queue, cause string) *demand.Backoff {
	j, count := e.Job(), int64(0)
	if j.Backoff.UID == j.UID && p.countsOn(e, q, cause) {
		count = j.Backoff.Count
	}
	count = min(count, math.MaxInt64-1) + 1
	pause := q.Backoff.Delay(count)
	return &demand.Backoff{
		UID: j.UID, Count: count, Code: cause,
		Until: resource.Add(p.Now, resource.Mul(second, pause)),
	}
}
