package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies/engine"
)

// still is a bundle that nobody edits.
type still engine.Bundle

func (s still) Read(context.Context) (engine.Bundle, error) { return engine.Bundle(s), nil }

func (s still) Watch(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }

func stillOf(rules map[string]string) still {
	bundle := engine.Bundle{Source: "test", Files: map[string][]byte{"data.yaml": []byte(dynamicData)}}
	for name, text := range rules {
		bundle.Files[name] = []byte(text)
	}
	return still(bundle)
}

// withShadow gives a bench a rollout with a shadow of these rules, and waits until
// it is read.
func withShadow(t *testing.T, rules map[string]string) *bench {
	t.Helper()
	b := newBench(t, map[string]string{"data.yaml": dynamicData})
	policy := engine.New(engine.Options{})
	now := func() time.Time { return time.Unix(1_800_000_000, 0) }
	shadow, err := rollout.NewShadow(stillOf(rules), policy.Active, now, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	kept := func(name string) rollout.Kept {
		return rollout.Kept{Client: b.store, Name: types.NamespacedName{Namespace: "holdshort-system", Name: name}}
	}
	r := &rollout.Rollout{Engine: policy, Gates: &rollout.Gates{}, Source: stillOf(nil), Kept: kept("active"), Before: kept("previous"),
		Client: b.store, Shadow: shadow, Log: logr.Discard(), Now: now}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	b.Policy, b.Shadow = policy.Active, shadow
	b.eventually("the shadow is read", func() bool { return shadow.Revision() != nil })
	return b
}

func (b *bench) eventually(what string, is func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func (b *bench) shadowQuota() int64 {
	return b.Shadow.Revision().Catalog().Queues["research"].Quota["gpu"]["nvidia.com/gpu"].Nominal
}

func TestTheShadowsCatalogFollowsTheTime(t *testing.T) {
	b := withShadow(t, map[string]string{"minutes.rego": minutes})
	for _, minute := range []int64{3, 4, 9} {
		b.now = time.Date(2026, 3, 1, 12, int(minute), 50, 0, time.UTC)
		if next := b.round(t.Context()); next > 10*time.Second {
			t.Errorf("the next round is in %s, after the minute's end", next)
		}
		b.eventually("the shadow has the minute's quota", func() bool { return b.shadowQuota() == minute })
	}
	if got := b.quota(); got != 2 {
		t.Errorf("the policy in force has the quota %d, want its own 2", got)
	}
}

func TestTheShadowsCatalogFollowsTheMachinesDampedAsTheActiveOnes(t *testing.T) {
	b := withShadow(t, map[string]string{"half.rego": half})
	b.step()
	b.eventually("the shadow knows the 8 GPUs", func() bool { return b.shadowQuota() == 4 })
	b.inbox.put(func(batch *batch) { batch.nodes["n2"] = node("n2", 8) })
	for range 11 {
		b.now = b.now.Add(capacityEvery)
		b.step()
	}
	if got := b.shadowQuota(); got != 4 {
		t.Errorf("after less than two minutes the quota is %d, want 4 still", got)
	}
	for range 3 {
		b.now = b.now.Add(capacityEvery)
		b.step()
	}
	b.eventually("the shadow knows the 16 GPUs", func() bool { return b.shadowQuota() == 8 })
	gone := node("n1", 8)
	gone.Status.Conditions[0].Status = corev1.ConditionFalse
	b.inbox.put(func(batch *batch) { batch.nodes["n1"] = gone })
	for range 14 {
		b.now = b.now.Add(capacityEvery)
		b.step()
	}
	b.eventually("the shadow knows that 8 are left", func() bool { return b.shadowQuota() == 4 })
}
