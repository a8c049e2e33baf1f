package rollout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// turmoil is people, sources and a manager that do anything in any order. Every
// policy needs approval here, so whatever comes into force has somebody's word.
type turmoil struct {
	*stage
	beside *memory
	flaky  *flakyClient
	random *rand.Rand
	log    []string
	digest map[int]v1alpha1.Digest
	named  map[v1alpha1.Digest]bool
}

// flakyClient fails the next writes.
type flakyClient struct {
	client.Client
	failures int
}

func (f *flakyClient) fail() error {
	if f.failures > 0 {
		f.failures--
		return errors.New("no answer")
	}
	return nil
}

func (f *flakyClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return errors.Join(f.fail(), f.Client.Update(ctx, o, opts...))
}

func (f *flakyClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Client.Patch(ctx, o, p, opts...)
}

func (f *flakyClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Client.Create(ctx, o, opts...)
}

func newTurmoil(t *testing.T, seed uint64) *turmoil {
	t.Helper()
	m := &turmoil{stage: newStage(t), beside: &memory{}, random: rand.New(rand.NewPCG(seed, 1)), digest: map[int]v1alpha1.Digest{},
		named: map[v1alpha1.Digest]bool{}}
	m.flaky = &flakyClient{Client: m.c}
	for quota := 4; quota < 8; quota++ {
		m.digest[quota] = v1alpha1.Digest(engine.Bundle{Files: quotaFiles(quota)}.Digest())
	}
	m.digest[8] = v1alpha1.Digest(strings.Repeat("0", 64)) // of nothing that there is
	m.begin()
	return m
}

func quotaFiles(gpus int) map[string][]byte {
	return map[string][]byte{"data.yaml": []byte(strings.Replace(goodData, "4}", fmt.Sprintf("%d}", gpus), 1))}
}

// begin a manager.
func (m *turmoil) begin() {
	m.t.Helper()
	m.Rollout = rolloutOn(m.flaky, m.source)
	m.Gates.Approval = ApprovalAlways
	shadow, err := NewShadow(m.beside, m.Engine.Active, m.Now, prometheus.NewRegistry())
	if err != nil {
		m.t.Fatal(err)
	}
	m.Shadow = shadow
}

func (m *turmoil) asks(spec v1alpha1.PolicyRolloutSpec) {
	m.t.Helper()
	var found v1alpha1.PolicyRollout
	err := m.c.Get(m.t.Context(), types.NamespacedName{Name: v1alpha1.PolicyRolloutName}, &found)
	if apierrors.IsNotFound(err) {
		return // as for a person
	}
	found.Spec = spec
	m.named[spec.Approve], m.named[spec.Pin], m.named[spec.Promote] = true, true, true
	if err := errors.Join(err, m.c.Update(m.t.Context(), &found)); err != nil {
		m.t.Fatal(err)
	}
	m.heard = false
}

// something happens.
func (m *turmoil) something() {
	quota := 4 + m.random.IntN(5)
	digest := m.digest[quota]
	var what string
	switch kind := m.random.IntN(12); kind {
	case 0, 1:
		what = fmt.Sprintf("the source says %d", min(quota, 7))
		m.source.files, m.source.err = quotaFiles(min(quota, 7)), nil
	case 2:
		what, m.source.err = "the source is gone", errors.New("gone")
	case 3:
		what = fmt.Sprintf("the shadow says %d", min(quota, 7))
		m.beside.files = quotaFiles(min(quota, 7))
	case 4:
		what = "the manager restarts"
		m.begin()
	case 5:
		what = "the object is deleted"
		found := rolloutObject("", v1alpha1.PolicyRolloutSpec{})
		if err := client.IgnoreNotFound(m.c.Delete(m.t.Context(), found)); err != nil {
			m.t.Fatal(err)
		}
		m.heard = false
	case 6:
		what, m.flaky.failures = "writes fail", 1+m.random.IntN(3)
	case 7:
		what = fmt.Sprintf("approve %d", quota)
		m.asks(v1alpha1.PolicyRolloutSpec{Approve: digest})
	case 8:
		what = fmt.Sprintf("pin %d", quota)
		m.asks(v1alpha1.PolicyRolloutSpec{Pin: digest})
	case 9:
		what = fmt.Sprintf("promote %d", quota)
		m.asks(v1alpha1.PolicyRolloutSpec{Promote: digest})
	case 10:
		what = fmt.Sprintf("discard %d", quota)
		m.asks(v1alpha1.PolicyRolloutSpec{Discard: digest})
	default:
		what = "nothing is asked for"
		m.asks(v1alpha1.PolicyRolloutSpec{})
	}
	m.log = append(m.log, what)
}

// TestWhateverHappensOnlyWhatSomebodyNamedComesIntoForce: and what is pinned stays
// so, over restarts, deleted objects and failed writes.
func TestWhateverHappensOnlyWhatSomebodyNamedComesIntoForce(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			m := newTurmoil(t, seed)
			before := m.digest[4]
			var pinned v1alpha1.Digest
			for range 40 {
				m.something()
				m.look(t.Context())
				m.settled(t.Context())
				active := m.Engine.Active()
				if active == nil { // what was kept could not be read yet
					continue
				}
				now := v1alpha1.Digest(active.Digest())
				if now != before && !m.named[now] && now != m.digest[4] {
					t.Fatalf("%s is in force, which nobody named\n%s", now, strings.Join(m.log, "\n"))
				}
				if m.heard && pinned != "" && m.asked.Pin == pinned && now != pinned {
					t.Fatalf("%s is in force, though %s is pinned\n%s", now, pinned, strings.Join(m.log, "\n"))
				}
				pinned = ""
				if m.heard && m.asked.Pin == now {
					pinned = now
				}
				before = now
			}
			m.flaky.failures = 0
			m.heard = false
			m.step()
			m.step()
			if got := statusOf(t, m.c); got.Active == nil || got.Active.Digest != m.Engine.Active().Digest() {
				t.Errorf("shown in force is %+v, but it is %s\n%s", got.Active, m.Engine.Active().Digest(), strings.Join(m.log, "\n"))
			}
		})
	}
}
