package decide

import (
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// mayRun is how many seconds a Job that waits may run in all; 0: no limit.
func (it *item) mayRun() int64 {
	return demand.Shorter(it.job.MaxRuntimeSec, it.verdict.MaxRuntimeSeconds)
}

// timeUp takes back who has run for as long as they may, over all their admissions.
func (p *planner) timeUp() {
	up, next := p.Snapshot.TimeUp(p.Now)
	p.wake(next)
	for _, e := range up {
		j, r := e.Job(), e.Reservation()
		if j == nil || !j.Admitted() || p.Busy[j.UID] || j.HeldByOwner {
			continue
		}
		ended := *j
		ended.Ran = j.RanUntil(p.Now)
		why := outOfTime(&ended, p.Verdicts[j.UID].Verdict)
		if why == nil {
			up := reason.TimeIsUp(ended.Ran/second, demand.Shorter(r.MaxRuntimeSec, j.MaxRuntimeSec))
			why = &up
		}
		p.suspend(j, *why, nil)
	}
}

// outOfTime is why a Job does not start again, nil if it may: it has run for as
// long as its user or the policy lets it.
func outOfTime(j *demand.Job, verdict policies.Verdict) *reason.Reason {
	switch {
	case j.OutOfTime(j.MaxRuntimeSec):
		r := reason.OwnTimeIsUp(policies.AnnotationMaxRuntime, j.Ran/second, j.MaxRuntimeSec)
		return &r
	case j.OutOfTime(verdict.MaxRuntimeSeconds):
		r := reason.PolicysTimeIsUp(j.Ran/second, verdict.MaxRuntimeSeconds)
		return &r
	}
	return nil
}

// countRuns tells those who are taken back how long they have run by now.
func (p *planner) countRuns() {
	for i := range p.res.Suspend {
		s := &p.res.Suspend[i]
		s.Ran = s.Job.RanUntil(p.Now)
	}
}
