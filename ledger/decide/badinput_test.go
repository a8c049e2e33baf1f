package decide_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

const years = 10 * 365 * 24 * 3600 * second

func TestAClockThatJumpsTakesNothingFromAnybody(t *testing.T) {
	for _, c := range []struct {
		name   string
		given  func(*world)
		jump   int64
		starts []string
		taken  map[string]string
	}{
		{"forward, and what runs goes on", func(w *world) {
			runsFor(w, w.job("a", 1, 1))
		}, years, []string{}, map[string]string{}},
		{"back, too", func(w *world) { runsFor(w, w.job("a", 1, 1)) }, -start + 1, []string{}, map[string]string{}},
		{"back, and who was let go a moment ago has time for its pods to come", func(w *world) {
			w.node("n1", 8)
			w.carryOut(w.planOf(w.job("a", 1, 1)))
		}, -start + 1, []string{}, map[string]string{}},
		{"back, and who arrived before that starts all the same", func(w *world) {
			w.node("n1", 8)
			w.job("a", 1, 1, func(j *demand.Job) { j.Arrival = demand.Arrival{Effective: start + years, Stamp: start + years} })
		}, 0, []string{"a"}, map[string]string{}},
		{"back, and a pause that it made endless ends at once", func(w *world) {
			w.node("n1", 8)
			w.job("a", 1, 1, func(j *demand.Job) {
				j.Backoff = demand.Backoff{UID: j.UID, Count: 1, Until: start + years, Code: "placement timeout"}
			})
		}, 0, []string{"a"}, map[string]string{}},
		{"back, and who was to run for a while is not displaced", func(w *world) {
			w.node("n1", 8)
			q := w.catalog.Queues["research"]
			q.Preemption.WithinQueue = policies.VictimsLowerPriority
			w.catalog.Queues["research"] = q
			j := w.job("a", 4, 1)
			w.verdicts[j.UID] = decide.Outcome{Verdict: policies.Verdict{Queue: "research", MinRuntimeSeconds: 60}}
			w.carryOut(w.planOf(j))
			w.job("urgent", 4, 1)
			w.priority("urgent", 9)
		}, -start + 1, []string{}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			w.in.Now = start + c.jump
			r := w.plan()
			if diff := cmp.Diff(c.starts, started(r)); diff != "" {
				t.Errorf("who starts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.taken, taken(r)); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
			if r.WakeAt != 0 && r.WakeAt <= w.in.Now {
				t.Errorf("it would wake at %d, which is over", r.WakeAt)
			}
		})
	}
}

// TestAnyOrderGivesEveryJobItsTurn: ranks of numbers and texts, of any length or
// missing, and with the numbers at the ends of what there is. The same who
// whatever order they are looked at in, and none is lost.
func TestAnyOrderGivesEveryJobItsTurn(t *testing.T) {
	key := rapid.OneOf(
		rapid.Map(rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}), func(n int64) policies.OrderKey { return policies.OrderKey{Number: n} }),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "b", "\x00", "NaN"}), func(s string) policies.OrderKey { return policies.OrderKey{Text: s, IsText: true} }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.node("n1", 8)
		orders := map[string][]policies.OrderKey{}
		for i := range 6 {
			name := fmt.Sprint("j", i)
			w.job(name, 1, 1)
			v := policies.Verdict{Queue: "research", Priority: rapid.SampledFrom([]int64{math.MinInt64, 0, math.MaxInt64}).Draw(rt, "priority")}
			if rapid.Bool().Draw(rt, "ranked") {
				v.Order = rapid.SliceOfN(key, 0, 3).Draw(rt, "order")
			}
			w.verdicts["uid-"+name] = decide.Outcome{Verdict: v}
			orders[name] = v.Order
		}
		r := w.plan()
		if len(r.Admit) != 4 || len(r.Waiting) != 2 {
			rt.Fatalf("%d start and %d wait of 6, for 4 GPUs", len(r.Admit), len(r.Waiting))
		}
		for _, a := range r.Admit {
			for _, waits := range r.Waiting {
				first, second := orders[a.Job.Name], orders[waits.Key[len("team/"):]]
				if first != nil && second != nil && policies.CompareOrder(first, second) > 0 {
					rt.Fatalf("%s starts with %v before %s with %v", a.Job.Name, first, waits.Key, second)
				}
			}
		}
	})
}

// TestTenThousandJobsOfOneShapeCostLittleMoreThanTheirLine: who waits is looked at
// as one, and told so each.
func TestTenThousandJobsOfOneShapeCostLittleMoreThanTheirLine(t *testing.T) {
	const many = 10_000
	w := newWorld(t)
	w.node("n1", 8)
	for i := range many {
		w.job(fmt.Sprintf("j%05d", i), 1, 1)
	}
	r := w.plan()
	if diff := cmp.Diff([]string{"j00000", "j00001", "j00002", "j00003"}, started(r)); diff != "" {
		t.Errorf("who starts (-want +got):\n%s", diff)
	}
	reasons := map[string]int{}
	for _, message := range said(r) {
		reasons[message]++
	}
	if diff := cmp.Diff(map[string]int{"WaitingForQuota: research uses 4 of 4 nvidia.com/gpu on gpu; 1 asked, 0 left": many - 4}, reasons); diff != "" {
		t.Errorf("why the others wait (-want +got):\n%s", diff)
	}
	w.carryOut(r)
	if allocs := testing.AllocsPerRun(3, func() { w.plan() }); allocs > 2*many {
		t.Errorf("a plan with nothing to do for %d Jobs makes %.0f allocations, want no more than two each", many, allocs)
	}
}
