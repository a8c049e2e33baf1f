package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// verdicts returns what the policy says of every Job that may be admitted,
// asking it only about those for which something it may read has changed.
func (l *Loop) verdicts(ctx context.Context, revision *engine.Revision, now time.Time) map[string]decide.Outcome {
	all := make(map[string]decide.Outcome, len(l.jobs))
	for uid, t := range l.jobs {
		if t.job == nil || t.job.Finished || t.job.Deleting {
			continue
		}
		if now.Before(t.notTill) {
			all[string(uid)] = decide.Outcome{Verdict: t.verdict.Verdict, Reason: &reason.Reason{
				Code: reason.BackingOff, Until: t.notTill.UnixNano(),
				Message: "the API server refused the admission: " + t.refusal,
			}}
			continue
		}
		if revision == nil {
			continue
		}
		if from := l.verdictSource(revision, t); from != t.verdictFrom {
			t.verdict, t.verdictFrom = l.judge(ctx, revision, t), from
			t.noHold = !revision.HoldApplies(t.job.Policy.Labels)
		}
		all[string(uid)] = t.verdict
	}
	return all
}

// verdictSource identifies everything that classify and deny may read.
type verdictSource struct{ revision, job, namespace string }

func (l *Loop) verdictSource(revision *engine.Revision, t *tracked) verdictSource {
	from := verdictSource{revision: revision.Digest(), job: t.job.Digest}
	if ns := l.world.namespaces[t.raw.Namespace]; ns != nil {
		from.namespace = ns.ResourceVersion
	}
	return from
}

// judge evaluates deny, then classify. The webhook asked deny before, but it may
// have been away, or the policy another one.
func (l *Loop) judge(ctx context.Context, revision *engine.Revision, t *tracked) decide.Outcome {
	in, err := l.input(revision, t)
	if err != nil {
		return decide.Outcome{Reason: policyError(err)}
	}
	verdict, err := revision.Classify(ctx, in)
	if err != nil {
		return decide.Outcome{Reason: policyError(err)}
	}
	if t.job.Reservation != nil {
		return decide.Outcome{Verdict: verdict} // deny is about being admitted
	}
	denied, err := revision.Deny(ctx, in)
	if err != nil {
		return decide.Outcome{Verdict: verdict, Reason: policyError(err)}
	}
	if len(denied) > 0 {
		return decide.Outcome{Verdict: verdict, Reason: policyReason(reason.DeniedByPolicy, denied)}
	}
	return decide.Outcome{Verdict: verdict}
}

func (l *Loop) input(revision *engine.Revision, t *tracked) (*policies.Input, error) {
	ns := l.namespace(t.raw.Namespace)
	in := &policies.Input{Workload: t.job.Policy, Namespace: &ns}
	if !revision.ReadsJob() {
		return in, nil
	}
	var err error
	in.Job, err = intake.RawJob(t.raw)
	return in, err
}

// askHold evaluates hold for a Job that quota and machines would allow.
func (l *Loop) askHold(ctx context.Context, revision *engine.Revision, uid string, plan decide.Result, now time.Time) decide.HoldAnswer {
	t := l.jobs[types.UID(uid)]
	if t == nil || revision == nil {
		return decide.HoldAnswer{Reason: &reason.Reason{Code: reason.PolicyUnavailable, Message: "no policy is in force"}}
	}
	doc, err := l.input(revision, t)
	if err != nil {
		return decide.HoldAnswer{Reason: policyError(err)}
	}
	verdict, usage := t.verdict.Verdict, plan.AskUsage[uid]
	doc.NowNS = now.UnixNano()
	doc.Verdict = &policies.VerdictInput{
		Queue: verdict.Queue, Priority: verdict.Priority, Flavors: verdict.Flavors, User: verdict.User,
	}
	doc.Usage, doc.Capacity = &usage, plan.AskCapacity
	held, err := revision.Hold(ctx, doc)
	switch {
	case err != nil:
		t.hold = &standingHold{from: t.verdictFrom, at: now, reason: policyError(err)}
	case len(held) > 0:
		t.hold = &standingHold{from: t.verdictFrom, at: now, reason: policyReason(reason.HeldByPolicy, held)}
	default:
		t.hold = nil
		return decide.HoldAnswer{} // good for this round only
	}
	return decide.HoldAnswer{Reason: t.hold.reason}
}

// standingHold is a "no" of a hold rule. It stands for a moment, so that many
// held Jobs don't cost an evaluation each in every round; a "yes" never does.
type standingHold struct {
	from   verdictSource
	at     time.Time
	reason *reason.Reason
}

func (l *Loop) standingHolds(now time.Time) map[string]decide.HoldAnswer {
	holds := map[string]decide.HoldAnswer{}
	for uid, t := range l.jobs {
		if t.hold == nil {
			if t.noHold {
				holds[string(uid)] = decide.HoldAnswer{} // no hold rule is about it: no need to ask
			}
			continue
		}
		ended := t.hold.reason.Until > 0 && now.UnixNano() >= t.hold.reason.Until
		if ended || t.hold.from != t.verdictFrom || now.Sub(t.hold.at) >= holdStands {
			t.hold = nil
			continue
		}
		holds[string(uid)] = decide.HoldAnswer{Reason: t.hold.reason}
	}
	return holds
}

// busy are the Jobs that a writer has: nothing more is decided about them.
func (l *Loop) busy() map[string]bool {
	busy := map[string]bool{}
	for uid, t := range l.jobs {
		if t.writing {
			busy[string(uid)] = true
		}
	}
	return busy
}

func policyError(err error) *reason.Reason {
	r := &reason.Reason{Code: reason.PolicyError, Message: err.Error()}
	var eval *engine.EvalError
	if errors.As(err, &eval) {
		r.Message, r.RuleAt = fmt.Sprintf("%s: %s", eval.Entrypoint, eval.Message), eval.At
	}
	return r
}

// policyReason joins what the policy's rules say under our code.
func policyReason(code reason.Code, said []policies.Reason) *reason.Reason {
	r := &reason.Reason{Code: code, PolicyCode: said[0].Code, RuleAt: said[0].RuleAt}
	var messages []string
	for _, s := range said {
		messages = append(messages, s.Code+": "+s.Message)
		if s.UntilNS > r.Until {
			r.Until = s.UntilNS // held until the last of them lets go
		}
	}
	r.Message = strings.Join(messages, "; ")
	return r
}

func (l *Loop) namespaceLabels() map[string]map[string]string {
	all := make(map[string]map[string]string, len(l.world.namespaces))
	for name, ns := range l.world.namespaces {
		all[name] = ns.Labels
	}
	return all
}

func (l *Loop) heldQueues() map[string]bool {
	held := map[string]bool{}
	for name, queue := range l.world.queues {
		if queue.Spec.Hold == v1alpha1.HoldStart {
			held[name] = true
		}
	}
	return held
}
