package rollout

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// AskedAnnotation of the kept bundle is what spec asks for that lasts.
const AskedAnnotation = "holdshort.dev/asked"

// pledge is what spec asks for that lasts. A person ends it by taking it out of
// the object that has it. That object's loss does not: whoever deletes it may
// not know that it holds a policy back.
type pledge struct {
	UID     types.UID       `json:"uid,omitempty"`
	Pin     v1alpha1.Digest `json:"pin,omitempty"`
	Promote v1alpha1.Digest `json:"promote,omitempty"`
	Discard v1alpha1.Digest `json:"discard,omitempty"`
}

// pledgeOf is none where nothing is asked for. An approval is none: it is over
// once it was followed, and nobody misses one that was lost.
func pledgeOf(uid types.UID, spec v1alpha1.PolicyRolloutSpec) pledge {
	if spec.Pin == "" && spec.Promote == "" && spec.Discard == "" {
		return pledge{}
	}
	return pledge{UID: uid, Pin: spec.Pin, Promote: spec.Promote, Discard: spec.Discard}
}

func (p pledge) spec() v1alpha1.PolicyRolloutSpec {
	return v1alpha1.PolicyRolloutSpec{Pin: p.Pin, Promote: p.Promote, Discard: p.Discard}
}

// String is the pledge as a line of spec.
func (p pledge) String() string {
	switch {
	case p.Pin != "":
		return "pin: " + engine.Short(string(p.Pin))
	case p.Promote != "":
		return "promote: " + engine.Short(string(p.Promote))
	}
	return "discard: " + engine.Short(string(p.Discard))
}

// lost tells whether the object that had the pledge is gone, and none that says
// something of its own is in its place.
func (p pledge) lost(found *v1alpha1.PolicyRollout, missing bool) bool {
	return p != (pledge{}) && found.Spec == (v1alpha1.PolicyRolloutSpec{}) && (missing || found.UID != p.UID)
}

// pledgeAgain writes it into the object that is there now, or makes one.
func (r *Rollout) pledgeAgain(ctx context.Context, found *v1alpha1.PolicyRollout, missing bool) error {
	var err error
	if missing {
		found.Name, found.Spec = v1alpha1.PolicyRolloutName, r.pledge.spec()
		err = r.Client.Create(ctx, found)
	} else {
		before := found.DeepCopy()
		found.Spec = r.pledge.spec()
		err = r.Client.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return fmt.Errorf("writing %q into PolicyRollout %s again: %w", r.pledge, v1alpha1.PolicyRolloutName, err)
	}
	r.Log.Info("a PolicyRollout was deleted; what it asked for counts still", "spec", r.pledge.String())
	r.event(ctx, "Warning", "PolicySpecKept", fmt.Sprintf("the PolicyRollout that said %q was deleted, so it is written down again. Try: kubectl holdshort policy rollback --undo, which ends it", r.pledge))
	return nil
}

// asked is the pledge that was saved last.
func (k Kept) asked(ctx context.Context) (p pledge, err error) {
	var kept corev1.ConfigMap
	err = k.Client.Get(ctx, k.Name, &kept)
	if apierrors.IsNotFound(err) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("reading ConfigMap %s: %w", k.Name, err)
	}
	text, there := kept.Annotations[AskedAnnotation]
	if !there {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return pledge{}, spoiled{fmt.Errorf("reading the annotation %s of ConfigMap %s: %w", AskedAnnotation, k.Name, err)}
	}
	return p, nil
}

// saveAsked keeps it beside the bundle, so that it outlives the object.
func (k Kept) saveAsked(ctx context.Context, p pledge) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return k.edit(ctx, "what spec asks for", func(kept *corev1.ConfigMap) bool {
		before, there := kept.Annotations[AskedAnnotation]
		if p == (pledge{}) {
			delete(kept.Annotations, AskedAnnotation)
			return there
		}
		if kept.Annotations == nil {
			kept.Annotations = map[string]string{}
		}
		kept.Annotations[AskedAnnotation] = string(text)
		return before != string(text)
	})
}
