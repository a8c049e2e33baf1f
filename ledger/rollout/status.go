package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// problemsMax bounds how many errors of a candidate are shown.
const problemsMax = 20

// ConditionActive is true while the newest content of the source is in force.
const ConditionActive = "PolicyActive"

// status is what PolicyRollout should say.
type status struct {
	want  v1alpha1.PolicyRolloutStatus
	dirty bool
}

func (s *status) activated(revision *engine.Revision, now time.Time) {
	next := v1alpha1.Revision{
		Digest: revision.Digest(), Source: revision.Source(), Time: metav1.NewTime(now), Verdict: "Active",
		Warnings: listed(revision.Warnings()),
	}
	if s.want.Active != nil && s.want.Active.Digest == next.Digest {
		return
	}
	s.want.Previous, s.want.Active = s.want.Active, &next
	s.accepted()
	s.dirty = true
}

// accepted: what the source says is in force, so no candidate is left.
func (s *status) accepted() {
	s.dirty = s.dirty || s.want.Candidate != nil
	s.want.Candidate = nil
	s.condition(metav1.ConditionTrue, "InForce", "the newest policy is in force")
}

func (s *status) rejected(b engine.Bundle, err error, now time.Time) {
	s.want.Candidate = &v1alpha1.Revision{
		Digest: b.Digest(), Source: b.Source, Time: metav1.NewTime(now), Verdict: "Rejected", Errors: problems(err),
	}
	standing := "the last good one stays in force"
	if s.want.Active == nil {
		standing = "none is in force, so no Job starts"
	}
	s.condition(metav1.ConditionFalse, "Rejected", firstProblem(err)+"; "+standing)
	s.dirty = true
}

func (s *status) condition(value metav1.ConditionStatus, why, message string) {
	meta.SetStatusCondition(&s.want.Conditions, metav1.Condition{
		Type: ConditionActive, Status: value, Reason: why, Message: message,
	})
}

func problems(err error) []v1alpha1.PolicyProblem {
	var bad *engine.BundleError
	if !errors.As(err, &bad) {
		return []v1alpha1.PolicyProblem{{At: "bundle", Message: err.Error()}}
	}
	return listed(bad.Problems)
}

// listed is problems as the status shows them.
func listed(found []engine.Problem) []v1alpha1.PolicyProblem {
	var list []v1alpha1.PolicyProblem
	for _, p := range found[:min(len(found), problemsMax)] {
		list = append(list, v1alpha1.PolicyProblem{At: at(p), Message: p.Message, Try: p.Try})
	}
	return list
}

func at(p engine.Problem) string {
	switch {
	case p.File == "":
		return "bundle"
	case p.Row == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Row)
}

func firstProblem(err error) string {
	p := problems(err)[0]
	text := p.At + ": " + p.Message
	if p.Try != "" {
		text += ". Try: " + p.Try
	}
	return text
}

// publish writes the status if it changed.
func (r *Rollout) publish(ctx context.Context) error {
	if !r.status.dirty {
		return nil
	}
	rollout, err := r.object(ctx)
	if err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(rollout.Status, r.status.want) {
		before := rollout.DeepCopy()
		rollout.Status = *r.status.want.DeepCopy()
		if err := r.Client.Status().Patch(ctx, rollout, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("writing the status of PolicyRollout %s: %w", rollout.Name, err)
		}
	}
	r.status.dirty = false
	return nil
}

// object gets the PolicyRollout, or makes it.
func (r *Rollout) object(ctx context.Context) (*v1alpha1.PolicyRollout, error) {
	rollout := &v1alpha1.PolicyRollout{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyRolloutName}}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(rollout), rollout)
	if apierrors.IsNotFound(err) {
		err = r.Client.Create(ctx, rollout)
	}
	if err != nil {
		return nil, fmt.Errorf("getting PolicyRollout %s: %w", rollout.Name, err)
	}
	return rollout, nil
}
