package rollout

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/policies/engine"
)

// settle is how long changes are collected before the source is read: several
// ConfigMaps applied by one command become one candidate.
const settle = 50 * time.Millisecond

// republishEvery is how often the PolicyRollout is looked at, in case somebody
// deleted or edited it; nothing is written if it says what it should.
const republishEvery = time.Minute

// retryAfter a status or a kept bundle could not be written.
const retryAfter = 5 * time.Second

// Rollout keeps the engine at what the source says.
type Rollout struct {
	Engine *engine.Engine
	Source Source
	Kept   Kept
	Client client.Client
	Log    logr.Logger
	Now    func() time.Time

	status  status
	refused string // digest of the candidate that was refused last
	unkept  *engine.Bundle
}

// Start runs until ctx ends. It returns an error only if the source cannot be
// watched at all; a bad policy never ends the manager, for it must be fixable.
func (r *Rollout) Start(ctx context.Context) error {
	changes := make(chan struct{}, 1)
	changes <- struct{}{} // look once at the start
	watch := make(chan error, 1)
	go func() {
		watch <- r.Source.Watch(ctx, func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		})
	}()
	r.restore(ctx)
	retry := time.NewTimer(0)
	defer retry.Stop()
	republish := time.NewTicker(republishEvery)
	defer republish.Stop()
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
		case <-retry.C:
		case <-republish.C:
			r.status.dirty = true
		}
		if !r.settled(ctx) {
			retry.Reset(retryAfter)
		}
	}
}

// restore puts the last good bundle into force, so that something is while the
// source is read, and still is if the source is broken or gone.
func (r *Rollout) restore(ctx context.Context) {
	kept, found, err := r.Kept.Load(ctx)
	if err != nil {
		r.Log.Error(err, "the last good policy could not be read")
		return
	}
	if !found {
		return
	}
	if _, err := r.Engine.Activate(ctx, kept); err != nil {
		r.Log.Error(err, "the last good policy does not load any more")
		return
	}
	r.status.activated(r.Engine.Active(), r.Now())
}

// look reads the source and tries to bring it into force.
func (r *Rollout) look(ctx context.Context) {
	bundle, err := r.Source.Read(ctx)
	if err != nil {
		r.refuse(ctx, bundle, err)
		return
	}
	before := r.Engine.Active()
	revision, err := r.Engine.Activate(ctx, bundle)
	if err != nil {
		r.refuse(ctx, bundle, err)
		return
	}
	r.refused = ""
	r.status.accepted()
	if before != nil && before.Digest() == revision.Digest() {
		return
	}
	r.unkept = &bundle
	r.status.activated(revision, r.Now())
	r.Log.Info("policy is in force", "revision", revision.Digest(), "source", revision.Source())
	for _, warning := range revision.Warnings() {
		r.Log.Info("policy warning", "at", at(warning), "message", warning.Message, "try", warning.Try)
	}
	r.event(ctx, "Normal", "PolicyActivated", "revision "+revision.Digest()+" from "+revision.Source()+" is in force")
}

// refuse records a candidate that will not come into force; once per candidate.
func (r *Rollout) refuse(ctx context.Context, bundle engine.Bundle, err error) {
	digest := bundle.Digest() + "\n" + err.Error()
	if digest == r.refused {
		return
	}
	r.refused = digest
	r.status.rejected(bundle, err, r.Now())
	r.Log.Error(err, "policy refused; the last good one stays in force")
	r.event(ctx, "Warning", "PolicyRejected", firstProblem(err))
}

// settled writes what has to be written; false: try again later.
func (r *Rollout) settled(ctx context.Context) bool {
	ok := true
	if r.unkept != nil {
		if err := r.Kept.Save(ctx, *r.unkept); err != nil {
			r.Log.Error(err, "the active policy is not kept")
			ok = false
		} else {
			r.unkept = nil
		}
	}
	if err := r.publish(ctx); err != nil && !errors.Is(err, context.Canceled) {
		r.Log.Error(err, "PolicyRollout not written")
		ok = false
	}
	return ok
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
