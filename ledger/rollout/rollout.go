package rollout

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// settle is how long changes are collected before the source is read: several
// ConfigMaps applied by one command become one candidate.
const settle = 50 * time.Millisecond

// republishEvery is how often the PolicyRollout is looked at, in case somebody
// deleted or edited it; nothing is written if it says what it should.
const republishEvery = time.Minute

// tellEvery is how often what the shadow disagrees in is written down, if it
// is something new.
const tellEvery = 5 * time.Second

// retryAfter a status or a kept bundle could not be written.
const retryAfter = 5 * time.Second

// judgeAgainAfter is when a candidate that harmed too many Jobs is asked about
// them once more: they may be over by then.
const judgeAgainAfter = 5 * time.Minute

// Rollout keeps the engine at what the source says, as far as the gates and
// people's word on it allow.
type Rollout struct {
	Engine *engine.Engine
	Gates  *Gates // those that the engine asks
	Source Source
	Kept   Kept
	// Before keeps the revision that was in force before.
	Before Kept
	Client client.Client
	// Cache to watch the PolicyRollout through; nil: it is looked at once a minute.
	Cache   cache.Cache
	Metrics *Metrics
	// Shadow is asked beside the engine; nil: nobody is.
	Shadow *Shadow
	Log    logr.Logger
	Now    func() time.Time

	status   status
	asked    v1alpha1.PolicyRolloutSpec
	heard    bool   // spec was read
	restored bool   // what was kept was read
	pledge   pledge // what spec asks for that lasts
	pledged  pledge // as it is written down
	judged   string // the candidate that was judged last, and under which circumstances
	judgedAt time.Time
	shadowed string // the shadow that was judged last, and beside what
	told     string // the refusal that was told last
	answer   answer // to what spec asks for
	stuck    stuck
	again    bool // look again soon
	previous *engine.Bundle
	unkept   []keeping
	done     func(*v1alpha1.PolicyRolloutSpec) // takes out of spec what was carried out
}

// keeping is a bundle to be kept, and where.
type keeping struct {
	in     Kept
	bundle engine.Bundle
}

// Start runs until ctx ends. It returns an error only if the source cannot be
// watched at all; a bad policy never ends the manager, for it must be fixable.
func (r *Rollout) Start(ctx context.Context) error {
	changes, asks := newBell(), newBell()
	changes.ring() // look once at the start
	watch := make(chan error, 2)
	go func() { watch <- r.Source.Watch(ctx, changes.ring) }()
	if err := r.watchSpec(ctx, asks.ring); err != nil {
		return err
	}
	if r.Shadow != nil {
		go r.Shadow.work(ctx)
		go func() { watch <- r.Shadow.Source.Watch(ctx, changes.ring) }()
	}
	retry := time.NewTimer(0)
	defer retry.Stop()
	republish, tell := time.NewTicker(republishEvery), time.NewTicker(tellEvery)
	defer republish.Stop()
	defer tell.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-watch:
			return err
		case <-changes:
			if !sleep(ctx, settle) {
				return nil
			}
			r.look(ctx)
		case <-asks:
			r.heard = false
			r.look(ctx)
		case <-retry.C:
			if r.again {
				r.look(ctx)
			}
		case <-tell.C:
			r.tellShadow()
		case <-republish.C:
			r.heard, r.status.dirty = false, true
			r.keepAgain()
			r.look(ctx)
		}
		if !r.settled(ctx) || r.again {
			retry.Reset(retryAfter)
		}
	}
}

// bell can be rung by anybody; it rings once for all who did.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// restore puts the last good bundle into force, so that something is while the
// source is read, and still is if the source is broken or gone. An error is one
// that may be over the next time; until then the source has nothing to be held
// against, and must not come into force in the place of what was kept.
func (r *Rollout) restore(ctx context.Context) error {
	if r.restored {
		return nil
	}
	asked, err := r.Kept.asked(ctx)
	if err := r.unlessSpoiled(err); err != nil {
		return err
	}
	before, found, err := r.Before.Load(ctx)
	if err := r.unlessSpoiled(err); err != nil {
		return err
	}
	if found {
		r.previous = &before
	}
	kept, found, err := r.Kept.Load(ctx)
	if err := r.unlessSpoiled(err); err != nil {
		return err
	}
	r.restored, r.pledge, r.pledged = true, asked, asked
	if !found {
		return nil
	}
	if _, err := r.Engine.Restore(ctx, kept); err != nil {
		r.Log.Error(err, "the last good policy does not load any more")
		return nil
	}
	r.status.restored(r.Engine.Active(), r.previous, r.published(ctx), r.Now())
	return nil
}

// unlessSpoiled tells of what can never be read, and goes on without it.
func (r *Rollout) unlessSpoiled(err error) error {
	if errors.As(err, new(spoiled)) {
		r.Log.Error(err, "what was kept cannot be read")
		return nil
	}
	return err
}

// look reads what is asked for and what the source says, and tries to bring it
// into force.
func (r *Rollout) look(ctx context.Context) {
	r.again = false
	if err := r.restore(ctx); err != nil {
		r.Log.Error(err, "the source is not looked at before what was kept is read")
		r.again = true
		return
	}
	if !r.heard {
		if err := r.instruct(ctx); err != nil {
			r.Log.Error(err, "the source is not looked at")
			r.again = true
			return
		}
	}
	r.answer = answer{}
	r.lookAtShadow(ctx) // spec may promote it
	held := r.follow(ctx)
	bundle, err := r.Source.Read(ctx)
	switch {
	case err != nil && isAway(err):
		r.away(ctx, bundle.Source, err)
		r.heed("")
	case err != nil:
		r.judged = "" // what comes after it has to be judged, even if it is what was before
		r.refuse(ctx, bundle, err)
		r.heed("")
	default:
		r.judge(ctx, bundle, held)
	}
	r.status.answered(r.answer)
	r.doubt(ctx)
	r.settled(ctx)      // whatever becomes of the shadow
	r.lookAtShadow(ctx) // beside what is in force now
}

// judge tries to bring what the source says into force, once per content and
// circumstances.
func (r *Rollout) judge(ctx context.Context, bundle engine.Bundle, held string) {
	key := bundle.Fingerprint() + "\n" + held
	if active := r.Engine.Active(); active != nil && active.Digest() == bundle.Digest() {
		r.accept(ctx, active, bundle, key, held)
		return
	}
	if digest := v1alpha1.Digest(bundle.Digest()); digest == r.asked.Pin || digest == r.asked.Promote {
		held = "" // it is what is asked for
	}
	if key == r.judged && !r.olderVerdict() {
		r.heed(bundle.Digest())
		return
	}
	r.judged, r.judgedAt = key, r.Now()
	if string(r.asked.Discard) == bundle.Digest() {
		r.discard(ctx, bundle)
		r.heed(bundle.Digest())
		return
	}
	before := r.Engine.Active()
	r.Gates.begin(r.approvedIs(bundle), held)
	revision, err := r.activate(ctx, bundle)
	if err != nil {
		r.refuse(ctx, bundle, err)
		r.heed(bundle.Digest())
		return
	}
	r.inForce(ctx, before, revision, "PolicyActivated", "from "+revision.Source()+" is in force")
	if string(r.asked.Pin) == revision.Digest() {
		r.answer = pinned(revision.Digest())
	}
	r.heed("")
}

func (r *Rollout) activate(ctx context.Context, bundle engine.Bundle) (*engine.Revision, error) {
	revision, err := r.Engine.Activate(ctx, bundle)
	return revision, later(err)
}

// later has looked at again what could not be judged now.
func later(err error) error {
	if errors.Is(err, engine.ErrBusy) {
		return unavailable{err}
	}
	return err
}

// accept what says the same as what is in force. Where it comes from and who
// signed it may have changed: that is checked, shown and kept.
func (r *Rollout) accept(ctx context.Context, active *engine.Revision, bundle engine.Bundle, key, held string) {
	was := active.Bundle()
	if was.Fingerprint() != bundle.Fingerprint() {
		if r.judged == key { // it was refused
			r.heed(bundle.Digest())
			return
		}
		r.judged, r.judgedAt = key, r.Now()
		renewed, err := r.Engine.Renew(ctx, bundle)
		if err != nil {
			err = later(err)
			r.Gates.begin(false, "")
			r.refuse(ctx, bundle, err)
			r.heed(bundle.Digest())
			return
		}
		r.unkept = append(r.unkept, keeping{r.Kept, bundle})
		r.status.renewed(renewed)
	}
	r.judged, r.told = key, ""
	r.status.accepted(held)
	r.heed("")
}

// olderVerdict tells whether the last one was about Jobs that may be over.
func (r *Rollout) olderVerdict() bool {
	candidate := r.status.want.Candidate
	return candidate != nil && candidate.Preflight != nil && r.Now().Sub(r.judgedAt) >= judgeAgainAfter
}

// inForce records that another revision is.
func (r *Rollout) inForce(ctx context.Context, before, revision *engine.Revision, why, note string) {
	// What is in force first: it may be what Before has, and is nowhere else.
	r.told, r.unkept = "", []keeping{{r.Kept, revision.Bundle()}}
	if before != nil {
		bundle := before.Bundle()
		r.previous = &bundle
		r.unkept = append(r.unkept, keeping{r.Before, bundle})
	}
	r.status.activated(revision, r.Gates.report, r.Now())
	r.count("active", strings.TrimPrefix(why, "Policy"))
	r.Log.Info("policy is in force", "revision", revision.Digest(), "source", revision.Source())
	for _, warning := range revision.Warnings() {
		r.Log.Info("policy warning", "at", at(warning), "message", warning.Message, "try", warning.Try)
	}
	r.event(ctx, "Normal", why, "revision "+engine.Short(revision.Digest())+" "+note)
}

// refuse records a candidate that does not come into force; each error of the
// source itself is told once.
func (r *Rollout) refuse(ctx context.Context, bundle engine.Bundle, err error) {
	told := bundle.Fingerprint() + "\n" + err.Error()
	if told == r.told {
		return
	}
	r.told = told
	var wait awaiting
	switch {
	case errors.As(err, &wait):
		r.status.waiting(bundle, wait.why, r.Gates.report, r.Now())
		r.Log.Info("a policy awaits approval", "revision", bundle.Digest(), "why", wait.why)
		r.event(ctx, "Normal", "PolicyAwaitsApproval", "revision "+engine.Short(bundle.Digest())+": "+wait.why+". Try: kubectl holdshort policy status")
		r.count("awaiting", because(err))
		return
	case errors.As(err, new(unavailable)):
		r.again, r.judged = true, ""
	}
	r.status.rejected(bundle, err, r.Gates.report, r.Now())
	r.Log.Error(err, "policy refused; the last good one stays in force")
	r.event(ctx, "Warning", "PolicyRejected", firstProblem(err))
	r.count("rejected", because(err))
}

// discard records a candidate that a person does not want.
func (r *Rollout) discard(ctx context.Context, bundle engine.Bundle) {
	r.told = ""
	r.status.discarded(bundle, r.Now())
	r.event(ctx, "Normal", "PolicyDiscarded", "revision "+engine.Short(bundle.Digest())+" is discarded, as spec asks")
	r.count("discarded", "asked")
}

// settled writes what has to be written; false: try again later.
func (r *Rollout) settled(ctx context.Context) bool {
	var problems []error
	for len(r.unkept) > 0 {
		if err := r.unkept[0].in.Save(ctx, r.unkept[0].bundle); err != nil {
			problems = append(problems, err)
			break
		}
		r.unkept = r.unkept[1:]
	}
	problems = append(problems, r.keepPledge(ctx), r.publish(ctx))
	if len(r.unkept) == 0 { // else a restart has to hear it again
		problems = append(problems, r.takeOut(ctx))
	}
	err := errors.Join(problems...)
	if err != nil && ctx.Err() == nil {
		r.Log.Error(err, "the rollout is not written down")
	}
	return err == nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
