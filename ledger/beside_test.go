package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies/engine"
)

// bundle is a source that the test edits.
type bundle struct {
	mu      sync.Mutex
	files   map[string][]byte
	changed func()
}

func (b *bundle) Read(context.Context) (engine.Bundle, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return engine.Bundle{Source: "test", Files: b.files}, nil
}

func (b *bundle) Watch(ctx context.Context, changed func()) error {
	b.mu.Lock()
	b.changed = changed
	b.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (b *bundle) set(rules map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = map[string][]byte{"data.yaml": []byte(dynamicData)}
	for name, text := range rules {
		b.files[name] = []byte(text)
	}
	if b.changed != nil {
		b.changed()
	}
}

func bundleOf(rules map[string]string) *bundle {
	b := &bundle{}
	b.set(rules)
	return b
}

// withShadow gives a bench a rollout with a shadow of these rules, and waits until
// it is read.
func withShadow(t *testing.T, rules map[string]string) *bench {
	t.Helper()
	b := newBench(t, map[string]string{"data.yaml": dynamicData})
	policy := engine.New(engine.Options{})
	now := func() time.Time { return time.Unix(1_800_000_000, 0) }
	b.metrics, b.second = prometheus.NewRegistry(), bundleOf(rules)
	shadow, err := rollout.NewShadow(b.second, policy.Active, now, b.metrics)
	if err != nil {
		t.Fatal(err)
	}
	kept := func(name string) rollout.Kept {
		return rollout.Kept{Client: b.store, Name: types.NamespacedName{Namespace: "holdshort-system", Name: name}}
	}
	r := &rollout.Rollout{Engine: policy, Gates: &rollout.Gates{}, Source: bundleOf(nil), Kept: kept("active"), Before: kept("previous"),
		Client: b.store, Shadow: shadow, Log: logr.Discard(), Now: now}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
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

// shadowBecomes edits the shadow, and waits until it is read.
func (b *bench) shadowBecomes(rules map[string]string) {
	b.t.Helper()
	before := b.Shadow.Revision()
	b.second.set(rules)
	b.eventually("the shadow is read anew", func() bool { return b.Shadow.Revision() != before })
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

// differing is how many decisions of a kind the shadow has made otherwise.
func (b *bench) differing(kind string) float64 {
	b.t.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "holdshort_policy_shadow_differences_total" && metric.GetLabel()[0].GetValue() == kind {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}

const evening = `package holdshort.policy

hold contains {"code": "ops.example/Evening", "message": "in the evening"} if input.now_ns > 0
`

func TestTheShadowIsAskedForHoldThoughThePolicyInForceHasNoSuchRule(t *testing.T) {
	b := withShadow(t, nil)
	b.create("before", 1) // waits, and is judged, while the shadow has no hold rule either
	b.inbox.put(func(batch *batch) { batch.nodes["n1"] = nil })
	b.step()
	b.wantAdmitted(map[string]bool{"before": false})
	b.shadowBecomes(map[string]string{"evening.rego": evening})
	b.inbox.put(func(batch *batch) { batch.nodes["n1"] = node("n1", 8) })
	b.step()
	b.create("after", 1)
	b.step()
	b.eventually("both Jobs are compared", func() bool { return b.differing("hold") == 2 })
	b.wantAdmitted(map[string]bool{"before": true, "after": true})
}

const urgent = `package holdshort.policy

mutate.labels["team.example/urgent"] := "yes"

hold contains {"code": "ops.example/Calm", "message": "not urgent"} if not input.workload.labels["team.example/urgent"]

deny contains {"code": "ops.example/Calm", "message": "not urgent"} if not input.workload.labels["team.example/urgent"]

classify.priority := 7 if input.workload.labels["team.example/urgent"] else := 0
`

func TestTheShadowJudgesWhatWaitsByWhatItGivesIt(t *testing.T) {
	b := withShadow(t, map[string]string{"urgent.rego": urgent})
	b.create("waits", 1)
	b.step()
	b.eventually("priority and labels differ", func() bool { return b.differing("priority") == 1 && b.differing("mutate") == 1 })
	b.create("next", 9) // after it, all that was said of the first is compared
	b.step()
	b.eventually("so they do of the next Job", func() bool { return b.differing("priority") == 2 })
	for _, kind := range []string{"deny", "hold"} {
		if got := b.differing(kind); got != 0 {
			t.Errorf("%.0f answers of %s differ, though the shadow gives each Job what its rule asks for", got, kind)
		}
	}
}

func TestWhatHoldWasAskedIsRecordedThoughThePolicyHasNoSuchRule(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	var asked []string
	policy := engine.New(engine.Options{Observe: func(d engine.Decision) {
		if d.Entrypoint == "hold" {
			input, err := d.Input()
			if err != nil {
				t.Error(err)
			}
			parts, _ := input.(map[string]any)
			asked = append(asked, fmt.Sprint(d.Workload.Name, " ", slices.Sorted(maps.Keys(parts))))
		}
	}})
	if _, err := policy.Activate(t.Context(), engine.Bundle{Source: "test", Files: map[string][]byte{"data.yaml": []byte(loopPolicy)}}); err != nil {
		t.Fatal(err)
	}
	b.Policy = policy.Active
	b.create("free", 1)
	b.create("large", 9)
	b.step()
	b.lives() // a survey is no decision
	if diff := cmp.Diff([]string{"free [capacity now_ns usage verdict workload]"}, asked); diff != "" {
		t.Errorf("what hold was asked (-want +got):\n%s", diff)
	}
	b.wantAdmitted(map[string]bool{"free": true, "large": false})
}
