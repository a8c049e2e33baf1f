package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/answer"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// judgeChanged asks the policy about the Jobs for which something it may read has
// changed; what it said of the others stands.
func (l *Loop) judgeChanged(ctx context.Context, revision *engine.Revision, now time.Time) {
	if of := digestOf(revision) + " " + digestOf(l.Shadow.Revision()); of != l.standing.of {
		l.standing.of = of
		for uid, t := range l.jobs {
			l.stale[uid] = t
		}
	}
	for uid, t := range l.refused {
		if !now.Before(t.notTill) {
			delete(l.refused, uid)
			l.stale[uid] = t
		}
	}
	for uid, t := range l.late {
		if !now.Before(t.lateTill) {
			delete(l.late, uid)
			t.mutated.from, t.verdictFrom = "", verdictSource{}
			l.stale[uid] = t
		}
	}
	// Who was slow the last time comes after the others, whom it would hold up.
	for _, slow := range []bool{false, true} {
		for uid, t := range l.stale {
			if t.slow == slow {
				l.judgeInTime(ctx, revision, uid, t, now)
			}
		}
	}
}

// judgeInTime judges a Job if the round has time for it; else it stays stale.
func (l *Loop) judgeInTime(ctx context.Context, revision *engine.Revision, uid types.UID, t *tracked, now time.Time) {
	began := l.Now()
	if began.Sub(now) > judgeBudget {
		if t.job != nil && !t.job.Admitted() {
			delete(l.standing.verdicts, string(uid)) // what was said of another state lets nobody start
			l.standing.touched[string(uid)] = true
		}
		return
	}
	before := [...]string{t.mutated.from, t.verdictFrom.verdict}
	l.judgeOne(ctx, revision, uid, t)
	delete(l.stale, uid)
	if before != [...]string{t.mutated.from, t.verdictFrom.verdict} {
		t.slow = l.Now().Sub(began) > slowJudge // something was asked
	}
}

func (l *Loop) judgeOne(ctx context.Context, revision *engine.Revision, uid types.UID, t *tracked) {
	key := string(uid)
	l.standing.touched[key] = true
	if l.jobs[uid] != t || t.job == nil || t.job.Finished || t.job.Deleting || revision == nil {
		delete(l.standing.verdicts, key)
		l.forgetHold(key)
		return
	}
	l.mutate(ctx, revision, t)
	from := l.verdictSource(revision, t)
	if from.verdict != t.verdictFrom.verdict || from.admitted != t.verdictFrom.admitted {
		t.verdict = l.judge(ctx, revision, t)
		t.verdictFrom.hold = "" // it reads the verdict
	}
	if from.hold != t.verdictFrom.hold {
		l.forgetHold(key)
		if l.letsGoAlways(ctx, revision, t) {
			l.standing.holds[key] = decide.HoldAnswer{} // no need to ask
		}
	}
	t.verdictFrom = from
	outcome := t.verdict
	if t.mutated.err != nil {
		outcome.Reason = policyError(t.mutated.err)
	}
	if l.late[uid] == nil && (tooLate(t.mutated.err) || tooLate(t.judgeFails)) {
		t.lateTill, l.late[uid] = l.Now().Add(failedStands), t
	}
	if l.refused[uid] != nil {
		outcome.Reason = &reason.Reason{
			Code: reason.BackingOff, Until: t.notTill.UnixNano(),
			Message: "the API server refused the admission: " + t.refusal,
		}
	}
	l.standing.verdicts[key] = outcome
}

// asksHold tells whether hold has to be asked for before a Job starts. Where no
// rule in force can hold it, that costs nothing and changes nothing; but the
// shadow hears of the moment, and records have it for policies that are tried on
// them.
func (l *Loop) asksHold(revision *engine.Revision, t *tracked) bool {
	labels := t.job.Policy.Labels
	return revision.HoldApplies(labels) || revision.Recorded() || l.Shadow.HoldApplies(revision, labels)
}

// letsGoAlways tells whether no hold rule has anything against a Job, and none
// will as long as it stays as it is: none is about it, or they read nothing but the
// Job. Asked when its time has come, such a rule would cost another plan.
func (l *Loop) letsGoAlways(ctx context.Context, revision *engine.Revision, t *tracked) bool {
	if !l.asksHold(revision, t) {
		return true
	}
	if noStands(revision) != holdUnchanged || t.verdict.Reason != nil ||
		revision.Recorded() || l.Shadow.HoldApplies(revision, t.job.Policy.Labels) {
		return false
	}
	in, err := l.input(revision, t)
	if err != nil {
		return false
	}
	in.Verdict = t.verdict.Verdict.Input()
	held, err := revision.Hold(ctx, in)
	return err == nil && len(held) == 0 // else it is asked, and what is wrong is said, in time
}

// verdictSource identifies everything that classify and deny read of a Job, and
// everything that hold does.
type verdictSource struct {
	verdict, hold string
	admitted      bool // deny is not asked about what runs
}

func (l *Loop) verdictSource(revision *engine.Revision, t *tracked) verdictSource {
	from := verdictSource{admitted: t.job.Admitted()}
	if in, err := l.input(revision, t); err == nil {
		from.verdict, from.hold = revision.SameVerdict(in)
	}
	if from.verdict == "" || from.hold == "" { // not certain: all that there is counts
		from.verdict = l.allOf(t)
		from.hold = from.verdict
	}
	from.verdict = revision.Digest() + " " + from.verdict
	from.hold = l.standing.of + " " + from.hold // the shadow wants to hear, too
	return from
}

// allOf identifies all that there is of a Job.
func (l *Loop) allOf(t *tracked) string {
	version := ""
	if ns := l.world.namespaces[t.raw.Namespace]; ns != nil {
		version = ns.ResourceVersion
	}
	return "all " + t.job.Digest + " " + version
}

// judge evaluates deny, then classify. The webhook asked deny before, but it may
// have been away, or the policy another one.
func (l *Loop) judge(ctx context.Context, revision *engine.Revision, t *tracked) decide.Outcome {
	in, err := l.input(revision, t)
	if err != nil {
		return decide.Outcome{Reason: policyError(err)}
	}
	given := l.givenByShadow(t)
	verdict, err := revision.Classify(ctx, in)
	t.judgeFails = err
	l.Shadow.Hear(rollout.Asked{Revision: revision, Entrypoint: "classify", Input: in, Given: given, Verdict: verdict, Err: err})
	if err != nil {
		return decide.Outcome{Reason: policyError(err)}
	}
	if t.job.Admitted() {
		return decide.Outcome{Verdict: verdict} // deny is about being admitted
	}
	denied, err := revision.Deny(ctx, in)
	t.judgeFails = err
	l.Shadow.Hear(rollout.Asked{Revision: revision, Entrypoint: "deny", Input: in, Given: given, Reasons: denied, Err: err})
	if err != nil {
		return decide.Outcome{Verdict: verdict, Reason: policyError(err)}
	}
	if len(denied) > 0 {
		return decide.Outcome{Verdict: verdict, Reason: policyReason(reason.DeniedByPolicy, denied)}
	}
	return decide.Outcome{Verdict: verdict}
}

// input is what the policy may read of a Job, as it will be when it is admitted.
func (l *Loop) input(revision *engine.Revision, t *tracked) (*policies.Input, error) {
	return l.inputOf(revision, t.job.Policy, t.wants)
}

func (l *Loop) inputOf(revision *engine.Revision, workload *policies.Workload, job *batchv1.Job) (*policies.Input, error) {
	ns := l.namespace(job.Namespace)
	in := &policies.Input{Workload: workload, Namespace: &ns}
	if !revision.ReadsJob() && !l.Shadow.ReadsJob() {
		return in, nil
	}
	var err error
	in.Job, err = intake.RawJob(job)
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
	usage := plan.AskUsage[uid]
	doc.NowNS, doc.Verdict = now.UnixNano(), t.verdict.Verdict.Input()
	doc.Usage, doc.Capacity = &usage, plan.AskCapacity
	held, err := revision.Hold(ctx, doc)
	l.Shadow.Hear(rollout.Asked{Revision: revision, Entrypoint: "hold", Input: doc, Given: l.givenByShadow(t), Reasons: held, Err: err})
	switch {
	case err != nil:
		return l.holdStands(t, policyError(err), now.Add(failedStands))
	case len(held) > 0:
		return l.holdStands(t, policyReason(reason.HeldByPolicy, held), now.Add(noStands(revision)))
	}
	return decide.HoldAnswer{} // good for this round only
}

// holdStands keeps a "no" of a hold rule for a moment, so that many held Jobs
// don't cost an evaluation each in every round; a "yes" is never kept.
func (l *Loop) holdStands(t *tracked, why *reason.Reason, till time.Time) decide.HoldAnswer {
	t.heldTill = till
	if until := time.Unix(0, why.Until); why.Until > 0 && until.Before(t.heldTill) {
		t.heldTill = until
	}
	held := decide.HoldAnswer{Reason: why}
	l.standing.holds[string(t.raw.UID)] = held
	l.standing.noes[string(t.raw.UID)] = true
	return held
}

// noStands is how long a "no" stands: until time, usage or machines may have
// made it another one.
func noStands(revision *engine.Revision) time.Duration {
	for _, part := range []string{"now_ns", "usage", "capacity"} {
		if revision.ReadsPart("hold", part) {
			return holdStands
		}
	}
	return holdUnchanged
}

// dropOldHolds forgets each "no" that stood long enough.
func (l *Loop) dropOldHolds(now time.Time) {
	for uid := range l.standing.noes {
		if t := l.jobs[types.UID(uid)]; t == nil || !now.Before(t.heldTill) {
			l.forgetHold(uid)
		}
	}
}

func (l *Loop) forgetHold(uid string) {
	delete(l.standing.holds, uid)
	delete(l.standing.noes, uid)
	l.standing.touched[uid] = true
}

// tooLate: the next time there may be an answer. Every other error is one of what
// was asked.
func tooLate(err error) bool {
	var eval *engine.EvalError
	return errors.As(err, &eval) && slices.Contains([]string{engine.EvalDeadline, engine.EvalMemory, engine.EvalInternal}, eval.Code)
}

func policyError(err error) *reason.Reason { return answer.Failed(err) }

func policyReason(code reason.Code, said []policies.Reason) *reason.Reason {
	return answer.No(code, said)
}

// heldQueues is the queues that an operator holds, and which of them are drained.
func (l *Loop) heldQueues() (held, drained map[string]bool) {
	held, drained = map[string]bool{}, map[string]bool{}
	for name, queue := range l.world.queues {
		if queue.Spec.Hold.Holds() {
			held[name] = true
		}
		if queue.Spec.Hold == v1alpha1.HoldDrain {
			drained[name] = true
		}
	}
	return held, drained
}
