package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// ConditionFollowed is false while spec asks for what cannot be done.
const ConditionFollowed = "SpecFollowed"

// instruct reads spec. Until it was read once, the source is not looked at: spec
// may say that something else shall be in force.
func (r *Rollout) instruct(ctx context.Context) error {
	var found v1alpha1.PolicyRollout
	err := r.Client.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyRolloutName}, &found)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading what PolicyRollout %s asks for: %w", v1alpha1.PolicyRolloutName, err)
	}
	missing := apierrors.IsNotFound(err)
	if r.pledge.lost(&found, missing) {
		if err := r.pledgeAgain(ctx, &found, missing); err != nil {
			return err
		}
	}
	if found.Spec != r.asked {
		r.judged, r.stuck = "", stuck{} // what is right may be another thing now
	}
	r.asked, r.heard, r.pledge = found.Spec, true, pledgeOf(found.UID, found.Spec)
	r.status.dirty = r.status.dirty || missing
	return nil
}

// watchSpec calls changed when the PolicyRollout may ask for something else.
func (r *Rollout) watchSpec(ctx context.Context, changed func()) error {
	if r.Cache == nil {
		return nil
	}
	informer, err := r.Cache.GetInformer(ctx, &v1alpha1.PolicyRollout{})
	if err != nil {
		return fmt.Errorf("watching the PolicyRollout: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() },
		UpdateFunc: func(old, now any) {
			before, ok := old.(*v1alpha1.PolicyRollout)
			after, too := now.(*v1alpha1.PolicyRollout)
			if !ok || !too || before.Spec != after.Spec {
				changed() // not for the status, which is ours
			}
		},
		DeleteFunc: func(any) { changed() },
	})
	return err
}

// answer says whether what spec asks for is done.
type answer struct {
	done         bool
	why, message string
}

func (r *Rollout) cannot(why, message string) { r.answer = answer{false, why, message} }

// stuck is what cannot be done, and was answered once.
type stuck struct {
	digest string
	answer answer
}

// stuckAt spares trying again what failed; it stays as it was answered.
func (r *Rollout) stuckAt(digest string) bool {
	if r.stuck.digest != digest {
		return false
	}
	r.answer = r.stuck.answer
	return true
}

// follow does what spec asks for beyond the source, and says why the source's
// candidates are held back, if they are.
func (r *Rollout) follow(ctx context.Context) (held string) {
	spec := r.asked
	switch {
	case spec.Pin != "":
		return r.pin(ctx, string(spec.Pin))
	case spec.Promote != "":
		return r.promote(ctx, string(spec.Promote))
	}
	return ""
}

// pin keeps a revision in force: the active one, or the one before. While that
// cannot be, what is in force stays: somebody wants the source not to count.
func (r *Rollout) pin(ctx context.Context, digest string) (held string) {
	active := r.Engine.Active()
	if active == nil || active.Digest() != digest {
		names := "spec.pin names " + engine.Short(digest)
		if r.previous == nil || r.previous.Digest() != digest {
			r.cannot("UnknownRevision", fmt.Sprintf("spec.pin: neither the active nor the previous revision is %s, so %s", engine.Short(digest), standing(active)))
			return names + ", which is neither the active nor the previous revision"
		}
		unable := names + ", which does not load any more"
		if r.stuckAt(digest) {
			return unable
		}
		r.Gates.begin(true, "")
		revision, err := r.Engine.Restore(ctx, *r.previous)
		if err != nil {
			r.cannot("Refused", "spec.pin: the previous revision does not load any more: "+firstProblem(err))
			r.stuck = stuck{digest, r.answer}
			return unable
		}
		r.inForce(ctx, active, revision, "PolicyRolledBack", "is in force again, pinned")
	}
	r.answer = pinned(digest)
	return r.answer.message
}

func pinned(digest string) answer {
	return answer{true, "Pinned", "revision " + engine.Short(digest) + " is pinned"}
}

// standing says what becomes of what is in force.
func standing(active *engine.Revision) string {
	if active == nil {
		return "none comes into force"
	}
	return engine.Short(active.Digest()) + " stays in force"
}

// heed tells what became of approve and discard, which are about a candidate;
// candidate is the digest of the one that is not in force, if there is one.
func (r *Rollout) heed(candidate string) {
	spec := r.asked
	active := ""
	if revision := r.Engine.Active(); revision != nil {
		active = revision.Digest()
	}
	switch {
	case spec.Approve != "" && string(spec.Approve) == active:
		r.done = func(spec *v1alpha1.PolicyRolloutSpec) { spec.Approve = "" }
	case spec.Approve != "" && string(spec.Approve) != candidate:
		r.cannot("NothingToApprove", "spec.approve: "+noSuch(string(spec.Approve), candidate))
	case spec.Discard != "" && string(spec.Discard) == active:
		r.cannot("InForce", "spec.discard: "+engine.Short(active)+" is in force already. Try: kubectl holdshort policy rollback")
	case spec.Discard != "" && string(spec.Discard) != candidate:
		r.cannot("NothingToDiscard", "spec.discard: "+noSuch(string(spec.Discard), candidate))
	case spec.Promote != "" && candidate == "" && string(spec.Promote) == active:
		r.done = func(spec *v1alpha1.PolicyRolloutSpec) { spec.Promote = "" } // the source says the same
	}
}

func noSuch(digest, candidate string) string {
	if candidate == "" {
		return "there is no candidate, so nothing is done about " + engine.Short(digest)
	}
	return "the candidate is " + candidate + ", not " + digest + ", so nothing is done"
}

// takeOut removes from spec what has been carried out, unless somebody has
// written something else since.
func (r *Rollout) takeOut(ctx context.Context) error {
	if r.done == nil {
		return nil
	}
	rollout := &v1alpha1.PolicyRollout{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyRolloutName}}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(rollout), rollout)
	if apierrors.IsNotFound(err) {
		r.done = nil // it went with the object
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading PolicyRollout %s: %w", rollout.Name, err)
	}
	if rollout.Spec == r.asked {
		before := rollout.DeepCopy()
		r.done(&rollout.Spec)
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, rollout, patch); err != nil {
			return fmt.Errorf("taking what was carried out out of PolicyRollout %s: %w", rollout.Name, err)
		}
		r.asked, r.pledge = rollout.Spec, pledgeOf(rollout.UID, rollout.Spec)
	}
	r.done = nil
	return nil
}

// approvedIs tells whether a person approved this very content.
func (r *Rollout) approvedIs(b engine.Bundle) bool {
	return r.asked.Approve != "" && string(r.asked.Approve) == b.Digest()
}

// keepPledge writes down what spec asks for that lasts.
func (r *Rollout) keepPledge(ctx context.Context) error {
	if !r.heard || r.pledge == r.pledged {
		return nil
	}
	if err := r.Kept.saveAsked(ctx, r.pledge); err != nil {
		return err
	}
	r.pledged = r.pledge
	return nil
}
