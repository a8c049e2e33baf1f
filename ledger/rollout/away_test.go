package rollout

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// told are the events of one reason.
func (s *stage) told(reason string) []string {
	s.t.Helper()
	var list eventsv1.EventList
	if err := s.c.List(s.t.Context(), &list); err != nil {
		s.t.Fatal(err)
	}
	var notes []string
	for _, event := range list.Items {
		if event.Reason == reason {
			notes = append(notes, event.Note)
		}
	}
	return notes
}

// at has the clock show a minute after the beginning.
func (s *stage) at(minute int) {
	s.Now = func() time.Time { return time.Unix(1_800_000_000, 0).Add(time.Duration(minute) * time.Minute) }
}

func TestASourceThatCannotBeReadIsNoCandidateAndSaysSinceWhen(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	for minute, why := range []string{"no route", "no route", "403 Forbidden"} {
		s.at(minute)
		s.source.err = errors.New(why)
		s.step()
		s.want(first, v1alpha1.VerdictUnavailable)
		got := *statusOf(t, s.c).Candidate
		want := v1alpha1.Revision{Source: "memory", Time: got.Time, Verdict: v1alpha1.VerdictUnavailable,
			Reason: "revision " + first[:12] + " stays in force", Errors: []v1alpha1.PolicyProblem{{At: "source", Message: why}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the candidate (-want +got)\n%s", diff)
		}
		if got.Time.Unix() != 1_800_000_000 {
			t.Errorf("in minute %d it is unavailable since %s, want since the first failure", minute, got.Time)
		}
	}
	if c := meta.FindStatusCondition(statusOf(t, s.c).Conditions, ConditionActive); c.Status != metav1.ConditionUnknown || c.Reason != "Unavailable" {
		t.Errorf("the condition is %+v, want that nobody knows", c)
	}
	if notes := s.told("PolicySourceUnavailable"); len(notes) != 2 || len(rejections(t, s.c)) > 0 {
		t.Errorf("told %q, want each cause once, and no refusal", notes)
	}
	s.restart()
	if got := statusOf(t, s.c).Candidate; got.Verdict != v1alpha1.VerdictUnavailable || got.Time.Unix() != 1_800_000_000 {
		t.Errorf("after a restart the candidate is %+v, want it unavailable since the first failure", got)
	}
	s.source.err = nil
	s.step()
	s.want(first, "")
	if c := meta.FindStatusCondition(statusOf(t, s.c).Conditions, ConditionActive); c.Status != metav1.ConditionTrue {
		t.Errorf("with the source back the condition is %+v", c)
	}
	s.at(9)
	s.source.err = errors.New("no route")
	s.step()
	if got := statusOf(t, s.c).Candidate.Time.Unix(); got != 1_800_000_000+9*60 {
		t.Errorf("the second time it is unavailable since %d, want since then", got)
	}
}

func TestACandidateThatAwaitsApprovalDoesSoAgainWhenTheSourceIsBack(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.Gates.Approval = ApprovalAlways
	next := s.quota(6)
	s.want(first, v1alpha1.VerdictAwaitingApproval)
	for _, err := range []error{errors.New("no route"), &engine.BundleError{Problems: []engine.Problem{{Message: "half of it"}}}} {
		s.source.err = err
		s.step()
		s.source.err = nil
		s.step()
		s.want(first, v1alpha1.VerdictAwaitingApproval)
	}
	s.spec(v1alpha1.PolicyRolloutSpec{Approve: v1alpha1.Digest(next)})
	s.want(next, "")
}

func TestWithoutAnyPolicyAnUnavailableSourceSaysThatNothingStarts(t *testing.T) {
	source := &memory{err: errors.New("no route")}
	c := cluster(t)
	r := rolloutOn(c, source)
	r.look(t.Context())
	r.settled(t.Context())
	if got := statusOf(t, c).Candidate; got == nil || got.Verdict != v1alpha1.VerdictUnavailable || !strings.Contains(got.Reason, "no Job starts") {
		t.Errorf("the candidate is %+v", got)
	}
}

func TestWhatASourceGaveAndIsWrongIsRejectedWithItsDigest(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.source.err = fmt.Errorf("from memory: %w", &engine.BundleError{Problems: []engine.Problem{{File: "x", Row: 3, Message: "odd"}}})
	s.step()
	s.want(first, v1alpha1.VerdictRejected)
	if got := statusOf(t, s.c).Candidate; got.Digest == "" || got.Errors[0].At != "x:3" {
		t.Errorf("the candidate is %+v, want its digest and x:3", got)
	}
	s.source.files = nil
	s.source.err = fmt.Errorf("from memory: %w", &engine.BundleError{Problems: []engine.Problem{{Message: "nothing in it"}}})
	s.step()
	if got := statusOf(t, s.c).Candidate; got.Verdict != v1alpha1.VerdictRejected || got.Digest != "" {
		t.Errorf("the candidate is %+v, want it rejected without the digest of nothing", got)
	}
}

func TestAShadowWhoseSourceCannotBeReadIsUnavailable(t *testing.T) {
	s, beside := withShadow(t)
	beside.err = errors.New("no such folder")
	beside.files = nil
	s.step()
	if got := statusOf(t, s.c).Shadow; got.Verdict != v1alpha1.VerdictUnavailable || got.Digest != "" {
		t.Errorf("the shadow is %+v", got)
	}
}
