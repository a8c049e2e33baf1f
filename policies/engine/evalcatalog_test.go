package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

// share gives a queue half of the GPUs that are there, and by night all.
const share = `package holdshort.policy

catalog.queues := object.union(data.holdshort.config.queues, {"default": {
	"namespaces": {"all": true},
	"flavors": ["default"],
	"quota": {"default": {"nvidia.com/gpu": amount}},
}})

amount := input.capacity["default"]["nvidia.com/gpu"].allocatable if night

else := floor(input.capacity["default"]["nvidia.com/gpu"].allocatable / 2)

night if {
	[hour, _, _] := time.clock(input.now_ns)
	hour < 6
}
`

func gpus(allocatable int64) policies.CatalogCapacity {
	return policies.CatalogCapacity{"default": {"nvidia.com/gpu": {Allocatable: allocatable}}}
}

func TestCatalogFollowsTimeAndMachines(t *testing.T) {
	r := mustCompile(t, withRego(share))
	quota := func() int64 { return r.Catalog().Queues["default"].Quota["default"]["nvidia.com/gpu"].Nominal }
	if got := quota(); got != 0 {
		t.Errorf("before any machine is known the quota is %d, want 0", got)
	}
	noon := time.Date(2026, 5, 1, 12, 0, 31, 0, time.UTC)
	cases := []struct {
		name     string
		now      time.Time
		capacity policies.CatalogCapacity
		want     int64
	}{
		{"half by day", noon, gpus(16), 8},
		{"all by night", noon.Add(14 * time.Hour), gpus(16), 16},
		{"machines that are gone", noon, policies.CatalogCapacity{}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			catalog, err := r.EvaluateCatalog(context.Background(), c.now, c.capacity)
			if err != nil || quota() != c.want || catalog != r.Catalog() {
				t.Errorf("quota %d, %v; want %d", quota(), err, c.want)
			}
		})
	}
}

func TestWarnSeesTheCatalogAsItWasEvaluatedLast(t *testing.T) {
	r := mustCompile(t, withRego(`package holdshort.policy

catalog.queues := data.holdshort.config.queues if input.now_ns < 1000000000000000000

else := {}
`))
	warnings := func() int {
		warned, err := r.Warn(context.Background(), job())
		if err != nil {
			t.Fatal(err)
		}
		return len(warned)
	}
	for at, want := range map[int64]int{5: 0, 2000000000: 1} {
		if _, err := r.EvaluateCatalog(context.Background(), time.Unix(at, 0), nil); err != nil {
			t.Fatal(err)
		}
		if got := warnings(); got != want {
			t.Errorf("at %d: %d warnings about the queue, want %d", at, got, want)
		}
	}
}

func TestCatalogThatFailsLaterKeepsTheLastGoodOne(t *testing.T) {
	cases := []struct{ name, rule, code, message string }{
		{"undefined", "catalog.queues := data.holdshort.config.queues if input.capacity[\"default\"].cpu.held < 5\n", EvalUndefined, "no rule gives a value now"},
		{"a wrong value", "catalog.unreserved := [\"charge\", \"no\"][min([1, input.capacity[\"default\"].cpu.held])]\n", EvalType, `unknown value "no"`},
		{"an error", "catalog.unreserved := \"charge\" if 1 / (5 - input.capacity[\"default\"].cpu.held) > 0\n", EvalBuiltin, "divide by zero"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := mustCompile(t, withRego("package holdshort.policy\n\n"+c.rule))
			before := r.Catalog()
			_, err := r.EvaluateCatalog(context.Background(), time.Unix(0, 0),
				policies.CatalogCapacity{"default": {"cpu": {Held: 5}}})
			var failed *EvalError
			if !errors.As(err, &failed) || failed.Code != c.code || !strings.Contains(failed.Message, c.message) || failed.At == "" {
				t.Errorf("error %#v; want %s with %q and a place", err, c.code, c.message)
			}
			if r.Catalog() != before {
				t.Error("the catalog is another one")
			}
		})
	}
}

func TestCatalogThatDependsOnNothingIsNotEvaluatedAgain(t *testing.T) {
	asked := 0
	r, err := Compile(context.Background(), starter(), Options{Observe: func(Decision) { asked++ }})
	if err != nil {
		t.Fatal(err)
	}
	before := r.Catalog()
	if got, err := r.EvaluateCatalog(context.Background(), time.Now(), gpus(3)); got != before || err != nil || asked != 1 {
		t.Errorf("asked %d times, %v; want once, at activation", asked, err)
	}
}

func TestOneAnswerServesAllWhoDifferInNothingThatIsRead(t *testing.T) {
	shared := map[bool]int{}
	r, err := Compile(context.Background(), starter(), Options{Observe: func(d Decision) {
		if d.Entrypoint == groupClassify {
			shared[d.Shared]++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	classify := func(change func(*policies.Workload)) policies.Verdict {
		in := job()
		change(in.Workload)
		verdict, err := r.Classify(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		return verdict
	}
	classify(func(*policies.Workload) {})
	same := classify(func(w *policies.Workload) {
		w.UID, w.Name, w.User, w.Labels["app"] = "u2", "other", "bob", "x"
	})
	other := classify(func(w *policies.Workload) { delete(w.Labels, policies.LabelPriority) })
	want := []policies.Verdict{{Queue: "default", Priority: 1000, User: "bob"}, {Queue: "default", User: "alice"}}
	if diff := cmp.Diff(want, []policies.Verdict{same, other}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[bool]int{true: 1, false: 2}, shared); diff != "" {
		t.Errorf("answers that were shared (-want +got):\n%s", diff)
	}
}

func TestSameVerdictChangesWithWhatIsReadOnly(t *testing.T) {
	r := mustCompile(t, withRego(`package holdshort.policy

import data.holdshort.lib

hold contains lib.reason("a.example/B", "c") if input.workload.annotations.wait == "yes"
`))
	verdict, hold := r.SameVerdict(job())
	cases := []struct {
		name                    string
		change                  func(*policies.Workload)
		sameVerdict, sameToHold bool
	}{
		{"nothing", func(*policies.Workload) {}, true, true},
		{"a label that nobody reads", func(w *policies.Workload) { w.Labels["app"] = "x" }, true, true},
		{"the label of the class", func(w *policies.Workload) { w.Labels[policies.LabelPriority] = "x" }, false, false},
		{"an annotation for hold", func(w *policies.Workload) { w.Annotations["wait"] = "yes" }, true, false},
		{"whom it is counted to", func(w *policies.Workload) { w.User = "bob" }, false, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := job()
			c.change(in.Workload)
			v, h := r.SameVerdict(in)
			if (v == verdict) != c.sameVerdict || (h == hold) != c.sameToHold {
				t.Errorf("the same for classify and deny: %v, for hold: %v; want %v, %v", v == verdict, h == hold, c.sameVerdict, c.sameToHold)
			}
		})
	}
}

// Nothing of ours names what a bundle's own document may leave out.
func TestARuleMayMakeAsMuchOfACatalogDocumentAsItLikes(t *testing.T) {
	for document, made := range map[string]string{
		"resources":   `{"ignored": []}`,
		"cohorts":     `{}`,
		"fairSharing": `{"enabled": false}`,
		"kinds":       `{}`,
		"flavors":     `{"default": {}}`,
		"queues":      `{"default": {"namespaces": {"all": true}, "flavors": ["default"], "quota": {}}}`,
		"unreserved":  `"charge"`,
	} {
		t.Run(document, func(t *testing.T) {
			mustCompile(t, withRego("package holdshort.policy.catalog\n\n"+document+" := "+made+"\n"))
		})
	}
}
