package decide

import (
	"maps"
	"slices"

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
	causePlacement  = "placement timeout"
	causeNoPods     = "no pods made"
	causeNoMachines = "no machines added"
	causePodsReady  = "readiness timeout"
	causeRecovery   = "recovery timeout"
)

// takeBack suspends what must not go on: Jobs whose owner wants them held, Jobs
// that nobody let go, and gangs that were not placed, ready, or ready again in time.
func (p *planner) takeBack() {
	p.timeUp()
	p.drain()
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
		case !p.Drained[e.Reservation().Queue]:
			p.timeOut(e)
		}
	}
}

// drain takes back what was admitted in queues that an operator wants empty,
// whatever the policy protects. Nothing is held against those Jobs.
func (p *planner) drain() {
	for _, queue := range slices.Sorted(maps.Keys(p.Drained)) {
		for _, e := range p.Snapshot.Running(queue) {
			j := e.Job()
			if !p.Drained[queue] || j == nil || !j.Admitted() || p.Busy[j.UID] || j.Bypass || j.HeldByOwner || p.outOfTime(e) {
				continue
			}
			p.suspend(j, reason.OperatorDrains(queue), p.outlived(e))
		}
	}
}

// outOfTime tells whether timeUp takes a Job back.
func (p *planner) outOfTime(e *book.Entry) bool {
	at := e.TimeUpAt()
	return at > 0 && at <= p.Now
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
	r := e.Reservation()
	if p.outOfTime(e) {
		return
	}
	queue := p.queueNamed(r.Queue)
	placement, ready, recovery := queue.PlacementTimeout(), queue.PodsReadyTimeout(), queue.RecoveryTimeoutSeconds
	elastic, wait := p.elastic(r)
	made := placement // nobody waits for machines to make pods
	placement, ready = max(placement, wait), resource.Add(ready, wait)
	admitted := max(r.Time, p.Since)
	unbound, unschedulable := e.Unbound()
	short := e.Short(p.Now)
	switch {
	case e.NeverHadPods() && p.over(admitted, made):
		p.fail(e, queue, reason.NoPodMade(made), causeNoPods)
	case e.NeverPlaced() && unschedulable > 0 && p.over(max(unschedulable, p.Since), placement):
		if len(elastic) > 0 && r.Machines > 0 {
			p.noMachines(e, queue, reason.NoneAdded(unbound, elastic, placement), elastic)
			return
		}
		p.fail(e, queue, reason.NotPlaced(unbound, placement, p.strangers(e, r.Time)), causePlacement)
	case e.NeverReady() && p.over(admitted, ready):
		p.fail(e, queue, reason.NotReady(e.Ready(), e.Wanted(), ready), causePodsReady)
	case recovery > 0 && short > 0 && p.over(max(short, p.Since), recovery):
		p.fail(e, queue, reason.NotRecovered(e.Ready(), e.Wanted(), recovery, p.strangers(e, short)), causeRecovery)
	}
}

// queueNamed is a queue of the policy; one that is not there has the defaults.
func (p *planner) queueNamed(name string) policies.Queue {
	if p.Catalog == nil {
		return policies.Queue{}
	}
	return p.Catalog.Queues[name]
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
	p.back[j.UID] = true
	p.res.Suspend = append(p.res.Suspend, effect.Suspend{Job: j, Reason: r, Backoff: b})
}
