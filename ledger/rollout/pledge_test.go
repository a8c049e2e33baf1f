package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// deleteRollout deletes the object and has another in its place, if there is one.
func (s *stage) deleteRollout(other *v1alpha1.PolicyRollout) {
	s.t.Helper()
	gone := &v1alpha1.PolicyRollout{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyRolloutName}}
	if err := s.c.Delete(s.t.Context(), gone); err != nil {
		s.t.Fatal(err)
	}
	if other != nil {
		if err := s.c.Create(s.t.Context(), other); err != nil {
			s.t.Fatal(err)
		}
	}
	s.heard = false
}

func rolloutObject(uid types.UID, spec v1alpha1.PolicyRolloutSpec) *v1alpha1.PolicyRollout {
	return &v1alpha1.PolicyRollout{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyRolloutName, UID: uid}, Spec: spec}
}

func TestWhatSpecAsksForOutlivesTheObjectThatSaysIt(t *testing.T) {
	cases := []struct {
		name    string
		other   *v1alpha1.PolicyRollout
		restart bool
	}{
		{"the object is deleted", nil, false},
		{"it is deleted while no manager runs", nil, true},
		{"somebody makes an empty one in its place", rolloutObject("two", v1alpha1.PolicyRolloutSpec{}), false},
		{"somebody does so while no manager runs", rolloutObject("two", v1alpha1.PolicyRolloutSpec{}), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			first := s.Engine.Active().Digest()
			pin := v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(first)}
			s.spec(pin)
			s.deleteRollout(c.other)
			if c.restart {
				s.restart()
			}
			s.quota(8)
			s.want(first, v1alpha1.VerdictAwaitingApproval)
			if got := s.specNow(); got != pin || s.answered() != "True Pinned" {
				t.Errorf("spec is %+v, which is answered by %q; want the pin again", got, s.answered())
			}
			if got := notesOf(t, s.c, "PolicySpecKept"); len(got) != 1 || !strings.Contains(got[0], "pin: "+first[:12]) {
				t.Errorf("the events say %q, want one that names the pin", got)
			}
			s.spec(v1alpha1.PolicyRolloutSpec{}) // now a person takes it out
			s.restart()
			if s.Engine.Active().Digest() == first || s.specNow() != (v1alpha1.PolicyRolloutSpec{}) {
				t.Errorf("still pinned after spec was emptied: %+v", s.specNow())
			}
		})
	}
}

func TestAnObjectThatSaysSomethingElseReplacesThePin(t *testing.T) {
	s := newStage(t)
	s.spec(v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(s.Engine.Active().Digest())})
	next := s.quota(8)
	s.deleteRollout(rolloutObject("two", v1alpha1.PolicyRolloutSpec{Approve: v1alpha1.Digest(next)}))
	s.step()
	s.want(next, "")
}

func TestAPinThatCannotBeWrittenAgainHoldsTheSource(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.spec(v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(first)})
	s.deleteRollout(nil)
	s.source.files["data.yaml"] = []byte(strings.Replace(goodData, "4}", "8}", 1))
	s.Client = dumbClient{s.c}
	s.look(t.Context())
	if s.Engine.Active().Digest() != first || !s.again {
		t.Errorf("in force is %s, want %s and another look", s.Engine.Active().Digest(), first)
	}
}

// dumbClient cannot create.
type dumbClient struct{ client.Client }

func (dumbClient) Create(context.Context, client.Object, ...client.CreateOption) error {
	return errors.New("no")
}

func TestAPinOnWhatIsNotKeptHoldsTheSourceAndSaysSo(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	next := s.quota(8)
	s.want(next, "")
	unknown := strings.Repeat("0123456789abcdef", 4)
	s.spec(v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(unknown)})
	third := s.quota(6)
	for range 2 {
		s.want(next, v1alpha1.VerdictAwaitingApproval)
		if got := statusOf(t, s.c).Candidate.Reason; !strings.Contains(got, "spec.pin names 0123456789ab") {
			t.Errorf("the candidate waits because %q, want the pin named", got)
		}
		if got := s.answered(); got != "False UnknownRevision" {
			t.Errorf("of the pin the status says %q", got)
		}
		s.restart()
	}
	s.spec(v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(third)}) // what the source says itself
	s.want(third, "")
	if got := s.answered(); got != "True Pinned" || third == first {
		t.Errorf("of the pin on the source's own content the status says %q", got)
	}
}

func TestAPinWithNothingKeptHoldsTheSourceToo(t *testing.T) {
	s := newStage(t)
	s.spec(v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(s.Engine.Active().Digest())})
	for _, kept := range []Kept{s.Kept, s.Before} {
		gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kept.Name.Namespace, Name: kept.Name.Name}}
		if err := client.IgnoreNotFound(s.c.Delete(t.Context(), gone)); err != nil {
			t.Fatal(err)
		}
	}
	s.source.files = map[string][]byte{"data.yaml": []byte(strings.Replace(goodData, "4}", "8}", 1))}
	s.restart()
	status := statusOf(t, s.c)
	if s.Engine.Active() != nil || status.Candidate == nil || status.Candidate.Verdict != v1alpha1.VerdictAwaitingApproval {
		t.Errorf("in force is %v, the candidate is %+v; want none, and one that awaits approval", s.Engine.Active(), status.Candidate)
	}
}

func TestAPromotionOfWhatIsNoShadowHoldsTheSource(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.spec(v1alpha1.PolicyRolloutSpec{Promote: "0123456789abcdef"})
	s.quota(8)
	s.want(first, v1alpha1.VerdictAwaitingApproval)
}

func TestWhatIsKeptIsReadBeforeTheSourceCounts(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.source.files = map[string][]byte{"data.yaml": []byte(strings.Replace(goodData, "4}", "8}", 1))}
	s.Rollout = rolloutOn(s.c, s.source)
	s.Gates.Approval = ApprovalAlways
	s.Kept.Client = deafClient{s.c}
	s.look(t.Context())
	if s.Engine.Active() != nil || !s.again {
		t.Errorf("%v is in force before the last good policy was read", s.Engine.Active())
	}
	s.Kept.Client = s.c
	s.step()
	s.want(first, v1alpha1.VerdictAwaitingApproval)
}

func TestWhatIsKeptIsWrittenAgainWhenItWasDeleted(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	s.spec(v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(first)})
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Kept.Name.Namespace, Name: s.Kept.Name.Name}}
	if err := s.c.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	s.keepAgain()
	s.step()
	s.deleteRollout(nil)
	s.quota(8)
	s.restart()
	s.want(first, v1alpha1.VerdictAwaitingApproval)
}
