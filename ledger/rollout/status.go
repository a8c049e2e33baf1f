package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// readsMax bounds how many paths of one kind are shown that an entrypoint reads.
const readsMax = 50

// ConditionActive is true while the newest content of the source is in force.
const ConditionActive = "PolicyActive"

// status is what PolicyRollout should say.
type status struct {
	want  v1alpha1.PolicyRolloutStatus
	dirty bool
}

// shown is a revision as the status shows it.
func shown(b engine.Bundle, verdict string, found report, now time.Time) *v1alpha1.Revision {
	next := &v1alpha1.Revision{
		Source: outside(b.Source, problemMax), Time: metav1.NewTime(now), Verdict: verdict,
		Tests: found.tests, Preflight: found.preflight, Reads: found.reads,
	}
	if len(b.Files) > 0 { // else nothing could be read
		next.Digest = b.Digest()
		next.Short = engine.Short(next.Digest)
	}
	return next
}

// readsOf is what the rules of a revision read, as the status shows it.
func readsOf(revision *engine.Revision) []v1alpha1.PolicyReads {
	var list []v1alpha1.PolicyReads
	for _, reads := range revision.Reads() {
		list = append(list, v1alpha1.PolicyReads{Entrypoint: reads.Entrypoint, Input: fewPaths(reads.Input), Config: fewPaths(reads.Config)})
	}
	return list
}

// fewPaths bounds what one entrypoint may take of the status.
func fewPaths(paths []string) []string {
	if more := len(paths) - readsMax; more > 0 {
		return append(slices.Clone(paths[:readsMax-1]), fmt.Sprintf("and %d more", more+1))
	}
	return paths
}

func (s *status) activated(revision *engine.Revision, found report, now time.Time) {
	next := shown(revision.Bundle(), v1alpha1.VerdictActive, found, now)
	next.Warnings, next.Reads = listed(revision.Warnings()), readsOf(revision)
	s.want.Previous, s.want.Active = s.want.Active, next
	s.accepted("")
	s.dirty = true
}

// renewed: the same from elsewhere.
func (s *status) renewed(revision *engine.Revision) {
	s.want.Active.Source, s.want.Active.Warnings = outside(revision.Source(), problemMax), listed(revision.Warnings())
	s.dirty = true
}

// restored after a restart: what was published of the same revisions stands.
func (s *status) restored(revision *engine.Revision, previous *engine.Bundle, before v1alpha1.PolicyRolloutStatus, now time.Time) {
	s.activated(revision, report{}, now)
	if was := before.Active; was != nil && was.Digest == revision.Digest() {
		s.want.Active = was
	}
	if was := before.Candidate; was != nil && was.Verdict == v1alpha1.VerdictUnavailable {
		s.want.Candidate = was // since when, should it be so still
	}
	if previous == nil {
		return
	}
	s.want.Previous = shown(*previous, v1alpha1.VerdictActive, report{}, now)
	if was := before.Previous; was != nil && was.Digest == previous.Digest() {
		s.want.Previous = was
	}
}

// accepted: what the source says is in force, so no candidate is left. It may be
// held there besides.
func (s *status) accepted(held string) {
	s.dirty = s.dirty || s.want.Candidate != nil
	s.want.Candidate = nil
	s.condition(metav1.ConditionTrue, "InForce", sentence("the newest policy is in force", held))
}

func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

func (s *status) rejected(b engine.Bundle, err error, found report, now time.Time) {
	s.want.Candidate = shown(b, v1alpha1.VerdictRejected, found, now)
	s.want.Candidate.Errors = problems(err)
	standing := "the last good one stays in force"
	if s.want.Active == nil {
		standing = "none is in force, so no Job starts"
	}
	s.condition(metav1.ConditionFalse, v1alpha1.VerdictRejected, sentence(firstProblem(err), standing))
	s.dirty = true
}

// waiting: a person has to say yes first.
func (s *status) waiting(b engine.Bundle, why string, found report, now time.Time) {
	s.want.Candidate = shown(b, v1alpha1.VerdictAwaitingApproval, found, now)
	s.want.Candidate.Reason = why
	s.condition(metav1.ConditionFalse, v1alpha1.VerdictAwaitingApproval, sentence(why, "kubectl holdshort policy approve brings it into force"))
	s.dirty = true
}

// discarded: a person said no.
func (s *status) discarded(b engine.Bundle, now time.Time) {
	s.want.Candidate = shown(b, v1alpha1.VerdictDiscarded, report{}, now)
	s.want.Candidate.Reason = "spec.discard names it"
	s.condition(metav1.ConditionFalse, v1alpha1.VerdictDiscarded, "the newest policy is discarded; the last good one stays in force")
	s.dirty = true
}

// answered tells whether what spec asks for is done; nothing, if it asks nothing.
func (s *status) answered(to answer) {
	if to.why == "" {
		s.dirty = meta.RemoveStatusCondition(&s.want.Conditions, ConditionFollowed) || s.dirty
		return
	}
	value := metav1.ConditionFalse
	if to.done {
		value = metav1.ConditionTrue
	}
	s.set(ConditionFollowed, value, to.why, to.message)
}

func (s *status) condition(value metav1.ConditionStatus, why, message string) {
	s.set(ConditionActive, value, why, message)
}

func (s *status) set(kind string, value metav1.ConditionStatus, why, message string) {
	changed := meta.SetStatusCondition(&s.want.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: why, Message: message,
	})
	s.dirty = s.dirty || changed
}

func problems(err error) []v1alpha1.PolicyProblem {
	var bad *engine.BundleError
	if !errors.As(err, &bad) {
		return []v1alpha1.PolicyProblem{{At: "bundle", Message: outside(err.Error(), problemMax)}}
	}
	return listed(bad.Problems)
}

// listed is problems as the status shows them.
func listed(found []engine.Problem) []v1alpha1.PolicyProblem {
	var list []v1alpha1.PolicyProblem
	for _, p := range found[:min(len(found), problemsMax)] {
		list = append(list, v1alpha1.PolicyProblem{
			At: outside(at(p), problemMax), Message: outside(p.Message, problemMax), Try: outside(p.Try, problemMax)})
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

// published is the status as it was written last, by whoever.
func (r *Rollout) published(ctx context.Context) v1alpha1.PolicyRolloutStatus {
	var found v1alpha1.PolicyRollout
	if err := r.Client.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyRolloutName}, &found); err != nil {
		return v1alpha1.PolicyRolloutStatus{} // only the times are lost with it
	}
	return found.Status
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
