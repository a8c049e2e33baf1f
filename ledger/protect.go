package ledger

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// spared is a Job that a rule keeps from making room for another, for a moment.
type spared struct {
	of   string // the policy that says so
	why  *reason.Reason
	till time.Time
}

// protects is every "no" that still stands. A "yes" counts for one round only.
func (l *Loop) protects(now time.Time) map[decide.Displacement]decide.ProtectAnswer {
	answers := map[decide.Displacement]decide.ProtectAnswer{}
	for d, s := range l.standing.spared {
		if s.of != l.revision() || !now.Before(s.till) {
			delete(l.standing.spared, d)
			l.standing.touched[d.Victim] = true
			continue
		}
		answers[d] = decide.ProtectAnswer{Reason: s.why}
	}
	return answers
}

// askProtect evaluates protect for one displacement. On an error the victim stays.
func (l *Loop) askProtect(ctx context.Context, revision *engine.Revision, ask decide.ProtectAsk, now time.Time) decide.ProtectAnswer {
	victim, by := l.jobs[types.UID(ask.Victim)], l.jobs[types.UID(ask.By)]
	if victim == nil || by == nil || victim.job == nil || by.job == nil {
		return decide.ProtectAnswer{Reason: &reason.Reason{Code: reason.CatchingUp, Message: "one of the two is gone"}}
	}
	in := &policies.Input{
		Workload: victim.job.Policy, NowNS: now.UnixNano(),
		Victim: &policies.Victim{
			Workload: victim.job.Policy, Verdict: victim.verdict.Verdict.Input(), AdmittedNS: ask.Admitted,
			RanSec: max(0, now.UnixNano()-ask.Admitted) / int64(time.Second), Flavors: ask.Flavors, Borrowing: ask.Borrowing,
		},
		Incoming: &policies.Incoming{Workload: by.job.Policy, Verdict: by.verdict.Verdict.Input()},
	}
	why, err := revision.Protect(ctx, in)
	l.Shadow.Hear(rollout.Asked{Revision: revision, Entrypoint: "protect", Input: in, Reasons: why, Err: err})
	switch {
	case err != nil:
		return l.spare(ask.Displacement, policyError(err), now.Add(failedStands))
	case len(why) > 0:
		return l.spare(ask.Displacement, policyReason(reason.HeldByPolicy, why), now.Add(holdStands))
	}
	return decide.ProtectAnswer{}
}

func (l *Loop) spare(d decide.Displacement, why *reason.Reason, till time.Time) decide.ProtectAnswer {
	l.standing.spared[d] = spared{l.revision(), why, till}
	return decide.ProtectAnswer{Reason: &reason.Reason{Code: why.Code, Message: why.Message, Until: till.UnixNano()}}
}
