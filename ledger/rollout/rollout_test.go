package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
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
	err   error
}

func (m *memory) Read(context.Context) (engine.Bundle, error) {
	return engine.Bundle{Source: "memory", Files: m.files}, m.err
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

func rolloutOn(c client.Client, source Source) (*Rollout, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(100)
	return &Rollout{
		Engine: engine.New(engine.Options{}), Source: source, Client: c, Events: recorder,
		Kept: Kept{Client: c, Name: types.NamespacedName{Namespace: "holdshort-system", Name: "holdshort-policy-active"}},
		Log:  logr.Discard(), Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	}, recorder
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
	r, recorder := rolloutOn(c, source)
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
	<-recorder.Events // of the activation
	if event := <-recorder.Events; !strings.Contains(event, "PolicyRejected") || !strings.Contains(event, "data.yaml:5") {
		t.Errorf("the event is %q", event)
	}

	again, _ := rolloutOn(c, source) // a restart
	again.restore(t.Context())
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
	r, recorder := rolloutOn(cluster(t), source)
	for range 3 {
		r.look(t.Context())
	}
	if n := len(recorder.Events); n != 1 {
		t.Errorf("%d events, want 1", n)
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
