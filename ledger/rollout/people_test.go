package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// stage is a rollout whose source and spec a test edits.
type stage struct {
	*Rollout
	t      *testing.T
	c      client.Client
	source *memory
}

func newStage(t *testing.T) *stage {
	t.Helper()
	source := &memory{}
	c := cluster(t)
	s := &stage{Rollout: rolloutOn(c, source), t: t, c: c, source: source}
	s.quota(4)
	return s
}

// quota edits the source: the digest of the policy that it says then.
func (s *stage) quota(gpus int, more ...string) string {
	s.t.Helper()
	s.source.files = map[string][]byte{"data.yaml": []byte(strings.Replace(goodData, "4}", fmt.Sprintf("%d}", gpus), 1))}
	for i := 0; i < len(more); i += 2 {
		s.source.files[more[i]] = []byte(more[i+1])
	}
	s.step()
	bundle, err := s.source.Read(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return bundle.Digest()
}

// spec has a person write it.
func (s *stage) spec(spec v1alpha1.PolicyRolloutSpec) {
	s.t.Helper()
	var found v1alpha1.PolicyRollout
	if err := s.c.Get(s.t.Context(), types.NamespacedName{Name: v1alpha1.PolicyRolloutName}, &found); err != nil {
		s.t.Fatal(err)
	}
	found.Spec = spec
	if err := s.c.Update(s.t.Context(), &found); err != nil {
		s.t.Fatal(err)
	}
	s.heard = false
	s.step()
}

func (s *stage) step() {
	s.t.Helper()
	s.look(s.t.Context())
	if !s.settled(s.t.Context()) {
		s.t.Fatal("not written down")
	}
}

// restart is another process with the same cluster and source.
func (s *stage) restart() {
	s.t.Helper()
	gates := *s.Gates
	s.Rollout = rolloutOn(s.c, s.source)
	s.Gates.Approval, s.Gates.Live = gates.Approval, gates.Live
	s.step()
}

// want says which revision is in force, and what the status says of the newest.
func (s *stage) want(active, verdict string) {
	s.t.Helper()
	status := statusOf(s.t, s.c)
	got := ""
	if status.Candidate != nil {
		got = status.Candidate.Verdict
	}
	if s.Engine.Active().Digest() != active || status.Active.Digest != active || got != verdict {
		s.t.Errorf("in force is %s, shown %s with candidate %q; want %s with %q",
			s.Engine.Active().Digest(), status.Active.Digest, got, active, verdict)
	}
}

// answered is what the status says of spec.
func (s *stage) answered() string {
	s.t.Helper()
	status := statusOf(s.t, s.c)
	if c := meta.FindStatusCondition(status.Conditions, ConditionFollowed); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

func (s *stage) specNow() v1alpha1.PolicyRolloutSpec {
	s.t.Helper()
	var found v1alpha1.PolicyRollout
	if err := s.c.Get(s.t.Context(), types.NamespacedName{Name: v1alpha1.PolicyRolloutName}, &found); err != nil {
		s.t.Fatal(err)
	}
	return found.Spec
}

const failingTest = "package holdshort.policy_test\n\ntest_never if 1 == 2\n"

func TestACandidateWhoseOwnTestFailsIsRefusedWithItsPlace(t *testing.T) {
	s := newStage(t)
	good := s.Engine.Active().Digest()
	s.quota(8, "quota_test.rego", failingTest)
	s.want(good, v1alpha1.VerdictRejected)
	candidate := statusOf(t, s.c).Candidate
	if candidate.Errors[0].At != "quota_test.rego:3" || !strings.Contains(candidate.Errors[0].Message, "test_never") ||
		candidate.Tests == nil || candidate.Tests.Failed != 1 {
		t.Errorf("the candidate is shown as %+v, want the failed test at its place", candidate)
	}
	s.want(s.quota(8, "quota_test.rego", strings.Replace(failingTest, "2", "1", 1)), "")
	if tests := statusOf(t, s.c).Active.Tests; tests == nil || tests.Passed != 1 {
		t.Errorf("of the active one the tests are shown as %+v, want 1 passed", tests)
	}
}

func TestWhereTestsAreRequiredABundleWithoutAnyIsRefused(t *testing.T) {
	s := newStage(t)
	good := s.Engine.Active().Digest()
	s.Gates.RequireTests = true
	s.quota(8)
	s.want(good, v1alpha1.VerdictRejected)
}

func TestACandidateWaitsForItsOwnApprovalAndNoOther(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.Gates.Approval = ApprovalAlways
	next := s.quota(8)
	s.want(first, v1alpha1.VerdictAwaitingApproval)

	s.spec(v1alpha1.PolicyRolloutSpec{Approve: "0123456789ab"})
	s.want(first, v1alpha1.VerdictAwaitingApproval)
	if got := s.answered(); got != "False NothingToApprove" {
		t.Errorf("of approving something else the status says %q", got)
	}
	s.restart()
	s.want(first, v1alpha1.VerdictAwaitingApproval)

	s.spec(v1alpha1.PolicyRolloutSpec{Approve: v1alpha1.Digest(next)})
	s.want(next, "")
	if spec := s.specNow(); spec != (v1alpha1.PolicyRolloutSpec{}) {
		t.Errorf("spec is still %+v, want what is done taken out", spec)
	}
}

func TestADiscardedCandidateStaysOutUntilTheNextEdit(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.Gates.Approval = ApprovalAlways
	unwanted := s.quota(8)
	s.spec(v1alpha1.PolicyRolloutSpec{Discard: v1alpha1.Digest(unwanted)})
	s.want(first, v1alpha1.VerdictDiscarded)
	s.restart()
	s.want(first, v1alpha1.VerdictDiscarded)
	s.spec(v1alpha1.PolicyRolloutSpec{})
	s.want(first, v1alpha1.VerdictAwaitingApproval)
	s.spec(v1alpha1.PolicyRolloutSpec{Discard: v1alpha1.Digest(unwanted)})
	s.Gates.Approval = ApprovalAuto
	s.want(s.quota(6), "")
}

func TestARollbackHoldsUntilItIsTakenOutOrACandidateIsApproved(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	second := s.quota(8)
	s.want(second, "")
	pin := v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(first)}
	s.spec(pin)
	s.want(first, v1alpha1.VerdictAwaitingApproval)
	if got := s.answered(); got != "True Pinned" {
		t.Errorf("of the pin the status says %q", got)
	}
	if previous := statusOf(t, s.c).Previous; previous == nil || previous.Digest != second {
		t.Errorf("previous is %+v, want %s", previous, second)
	}
	s.restart()
	s.want(first, v1alpha1.VerdictAwaitingApproval)

	s.spec(v1alpha1.PolicyRolloutSpec{}) // unpinned: the source counts again
	s.want(second, "")
	s.spec(pin)
	third := s.quota(6)
	s.want(first, v1alpha1.VerdictAwaitingApproval)
	s.spec(v1alpha1.PolicyRolloutSpec{Approve: v1alpha1.Digest(third)})
	s.want(third, "")
}

func TestARollbackWorksAfterARestartWithTheSourceGone(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.quota(8)
	s.source.err = errors.New("gone")
	s.restart()
	if previous := statusOf(t, s.c).Previous; previous == nil || previous.Digest != first {
		t.Fatalf("after a restart, previous is %+v, want %s", previous, first)
	}
	s.spec(v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(first)})
	s.want(first, v1alpha1.VerdictUnavailable)
}

func TestNothingComesIntoForceBeforeSpecWasRead(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	deaf := &deafClient{Client: s.c}
	s.Client, s.heard = deaf, false
	s.source.files["data.yaml"] = []byte(strings.Replace(goodData, "4}", "8}", 1))
	s.look(t.Context())
	if s.Engine.Active().Digest() != first || !s.again {
		t.Errorf("in force is %s, want %s until spec can be read, and another look", s.Engine.Active().Digest(), first)
	}
}

// deafClient cannot read.
type deafClient struct{ client.Client }

func (deafClient) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no answer")
}

func TestTheSameFromElsewhereIsShownAndKeptAndNothingElseChanges(t *testing.T) {
	s := newStage(t)
	first := statusOf(t, s.c).Active
	s.source.files = map[string][]byte{"moved.data.yaml": s.source.files["data.yaml"]}
	s.source.from = " moved"
	s.step()
	s.want(first.Digest, "")
	got := statusOf(t, s.c)
	if got.Active.Source != "memory moved" || !got.Active.Time.Equal(&first.Time) || got.Previous != nil {
		t.Errorf("in force is shown as %+v, before it %+v", got.Active, got.Previous)
	}
	kept, found, err := s.Kept.Load(t.Context())
	if err != nil || !found || kept.Files["moved.data.yaml"] == nil {
		t.Errorf("kept is %v, %v, %v", kept.Files, found, err)
	}
	s.source.files[".manifest"] = []byte("{}") // says what it is not
	s.step()
	s.want(first.Digest, v1alpha1.VerdictRejected)
	s.source.files[".manifest"] = []byte(`{"roots": ["holdshort"], "metadata": {"holdshort": {"contract": 1}}}`)
	s.step() // the digest is that of the one that was refused
	s.want(first.Digest, "")
}

func TestScenariosAreHeldAgainstACandidateAsTestsAre(t *testing.T) {
	s := newStage(t)
	good := s.Engine.Active().Digest()
	s.Gates.RequireTests = true
	result := testrun.Result{Package: "scenario.day", Name: "a starts by 1h", File: "day.scenario.yaml", Row: 7, Outcome: testrun.Fail}
	s.Gates.Scenarios = func(_ context.Context, bundle engine.Bundle, within time.Duration) ([]testrun.Result, error) {
		if len(bundle.Scenarios()) == 0 || within <= 0 {
			return nil, nil
		}
		return []testrun.Result{result}, nil
	}
	s.quota(8, "day.scenario.yaml", "# first")
	s.want(good, v1alpha1.VerdictRejected)
	if failed := statusOf(t, s.c).Candidate.Errors[0]; failed.At != "day.scenario.yaml:7" || !strings.Contains(failed.Message, "a starts by 1h") {
		t.Errorf("the candidate is shown with %+v, want the expectation at its place", failed)
	}
	result.Outcome = testrun.Pass
	s.want(s.quota(8, "day.scenario.yaml", "# second"), "")
	if tests := statusOf(t, s.c).Active.Tests; tests == nil || tests.Passed != 1 {
		t.Errorf("of the active one %+v passed, want the expectation", tests)
	}
}
