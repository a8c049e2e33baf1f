package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

const goodData = `holdshort:
  config:
    flavors: {gpu: {}}
    queues:
      research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}
`

// memory is a source that a test edits.
type memory struct {
	files map[string][]byte
	from  string // beside the name
	err   error
}

func (m *memory) Read(context.Context) (engine.Bundle, error) {
	return engine.Bundle{Source: "memory" + m.from, Files: m.files}, m.err
}

func (m *memory) Watch(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }

func cluster(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.PolicyRollout{}).Build()
}

func rolloutOn(c client.Client, source Source) *Rollout {
	gates := &Gates{Approval: ApprovalAuto, HarmedPercentMax: 20}
	kept := func(which string) Kept {
		return Kept{Client: c, Name: types.NamespacedName{Namespace: "holdshort-system", Name: "holdshort-policy-" + which}}
	}
	return &Rollout{
		Engine: engine.New(engine.Options{Gates: gates.List()}), Gates: gates, Source: source, Client: c,
		Kept: kept("active"), Before: kept("previous"),
		Log: logr.Discard(), Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	}
}

// notesOf the events with a reason.
func notesOf(t *testing.T, c client.Client, why string) []string {
	t.Helper()
	var list eventsv1.EventList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, event := range list.Items {
		if event.Reason == why {
			notes = append(notes, event.Note)
		}
	}
	return notes
}

// rejections are the notes of the events about refused policies.
func rejections(t *testing.T, c client.Client) []string {
	t.Helper()
	return notesOf(t, c, "PolicyRejected")
}

func statusOf(t *testing.T, c client.Client) v1alpha1.PolicyRolloutStatus {
	t.Helper()
	var found v1alpha1.PolicyRollout
	if err := c.Get(t.Context(), types.NamespacedName{Name: v1alpha1.PolicyRolloutName}, &found); err != nil {
		t.Fatal(err)
	}
	return found.Status
}

func TestABadCandidateLeavesTheLastGoodOneInForceAlsoAfterARestart(t *testing.T) {
	c := cluster(t)
	source := &memory{files: map[string][]byte{"data.yaml": []byte(goodData)}}
	r := rolloutOn(c, source)
	r.look(t.Context())
	if !r.settled(t.Context()) {
		t.Fatal("the first policy is not written down")
	}
	good := statusOf(t, c).Active.Digest

	source.files = map[string][]byte{"data.yaml": []byte(strings.Replace(goodData, "4}", "-4}", 1))}
	r.look(t.Context())
	r.settled(t.Context())
	status := statusOf(t, c)
	if r.Engine.Active().Digest() != good || status.Active.Digest != good {
		t.Errorf("in force is %s, shown %s, want the good %s", r.Engine.Active().Digest(), status.Active.Digest, good)
	}
	if status.Candidate == nil || status.Candidate.Verdict != "Rejected" || status.Candidate.Errors[0].At != "data.yaml:5" {
		t.Errorf("the candidate is shown as %+v, want it rejected at data.yaml:5", status.Candidate)
	}
	if notes := rejections(t, c); len(notes) != 1 || !strings.Contains(notes[0], "data.yaml:5") {
		t.Errorf("the events are %q, want one that names data.yaml:5", notes)
	}

	again := rolloutOn(c, source) // a restart
	if err := again.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.look(t.Context())
	if active := again.Engine.Active(); active == nil || active.Digest() != good {
		t.Fatalf("after a restart %v is in force, want %s", active, good)
	}
	source.err = errors.New("gone")
	again.look(t.Context())
	if again.Engine.Active().Digest() != good {
		t.Error("a source that cannot be read took the policy out of force")
	}
}

func TestTheSameBadCandidateIsToldOnce(t *testing.T) {
	source := &memory{files: map[string][]byte{"data.yaml": []byte("holdshort: {config: {quues: {}}}\n")}}
	c := cluster(t)
	r := rolloutOn(c, source)
	for range 3 {
		r.look(t.Context())
	}
	if notes := rejections(t, c); len(notes) != 1 {
		t.Errorf("the events are %q, want one", notes)
	}
}

func TestADifferentMistakeIsToldAgain(t *testing.T) {
	source := &memory{}
	c := cluster(t)
	r := rolloutOn(c, source)
	for _, quota := range []string{"-4}", "abc}"} {
		source.files = map[string][]byte{"data.yaml": []byte(strings.Replace(goodData, "4}", quota, 1))}
		r.look(t.Context())
	}
	if notes := rejections(t, c); len(notes) != 2 || notes[0] == notes[1] {
		t.Errorf("the events are %q, want two different ones", notes)
	}
}

func TestAKeptBundleComesBackAsItWas(t *testing.T) {
	kept := Kept{Client: cluster(t), Name: types.NamespacedName{Namespace: "holdshort-system", Name: "kept"}}
	if _, found, err := kept.Load(t.Context()); found || err != nil {
		t.Fatalf("found %v, %v, want nothing", found, err)
	}
	for _, text := range []string{"a: 1\n", "a: 2\n"} {
		bundle := engine.Bundle{Source: "memory", Files: map[string][]byte{"data.yaml": []byte(text)}}
		if err := kept.Save(t.Context(), bundle); err != nil {
			t.Fatal(err)
		}
		got, found, err := kept.Load(t.Context())
		if err != nil || !found {
			t.Fatalf("found %v, %v", found, err)
		}
		if diff := cmp.Diff(bundle, got); diff != "" {
			t.Errorf("kept bundle (-want +got):\n%s", diff)
		}
	}
}

func TestWhatIsAllowedButProbablyNotMeantIsShown(t *testing.T) {
	c := cluster(t)
	source := &memory{files: map[string][]byte{
		"data.yaml": []byte(goodData), "aside.rego": []byte("package holdshort.elsewhere\n\nx := 1\n"),
	}}
	r := rolloutOn(c, source)
	r.look(t.Context())
	r.settled(t.Context())
	warnings := statusOf(t, c).Active.Warnings
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0].At, "aside.rego") {
		t.Errorf("warnings are %+v, want one at aside.rego", warnings)
	}
}
