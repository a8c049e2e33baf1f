package engine

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/policies"
)

// The encoder must give policies exactly the JSON of the contract's types.
func TestInputIsTheSameAsItsJSON(t *testing.T) {
	seconds := int64(5)
	in := job()
	in.Workload.Owner = &policies.Owner{Kind: "CronJob", Name: "nightly"}
	in.Workload.PodSets[0].NodeSelector = map[string]string{"kind": "h100"}
	in.Workload.PodSets[0].Tolerations = []policies.Toleration{{Key: "gpu", Operator: "Exists", TolerationSeconds: &seconds}}
	in.Request = &policies.Request{Operation: "CREATE", User: "alice", Groups: []string{"dev"}, DryRun: true}
	in.Verdict = &policies.VerdictInput{Queue: "default", Order: []policies.OrderKey{}, Flavors: []string{"default"}}
	in.Usage = &policies.Usage{Queue: policies.ResourceUsage{"cpu": {"default": {Used: 1, Nominal: 2}}}, Cohort: policies.ResourceUsage{}, User: policies.ResourceUsage{}}
	in.Capacity = map[string]policies.FlavorCapacity{"default": {"cpu": {Allocatable: 9}}}
	in.Job = map[string]any{"spec": map[string]any{"parallelism": int64(4)}}
	in.NowNS = 1
	in.Old = in.Workload

	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	want := ast.MustParseTerm(string(text)).Value
	got, err := newEncoder().value(in, &view{all: true})
	if err != nil {
		t.Fatal(err)
	}
	if want.Compare(got) != 0 {
		t.Errorf("-want +got:\n%s", cmp.Diff(ast.MustJSON(want), ast.MustJSON(got)))
	}
}

func TestInputHasOnlyWhatIsReadAndNeverNull(t *testing.T) {
	seen := &view{parts: map[string]*view{}}
	seen.add([]string{"workload", "labels", "team"})
	seen.add([]string{"workload", "podSets"})
	in := &policies.Input{Workload: &policies.Workload{Name: "x"}, NowNS: 5}
	got, err := newEncoder().value(in, seen)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"workload": {"labels": {}, "podSets": []}}`; got.String() != want {
		t.Errorf("input %s, want %s", got, want)
	}
}

func TestAmountIsExactOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n")
		if got, err := parseAmount("nvidia.com/gpu", strconv.FormatInt(n, 10)); err != nil || got != n {
			t.Fatalf("%d became %d, %v", n, got, err)
		}
		text := rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,6})?(m|k|M|G|Ki|Mi|Gi|Ti|e3|E)?`).Draw(t, "text")
		name := rapid.SampledFrom([]string{"cpu", "memory", "nvidia.com/gpu"}).Draw(t, "name")
		got, err := parseAmount(name, text)
		if err != nil {
			return
		}
		back := resource.NewQuantity(got, resource.DecimalSI)
		if name == "cpu" {
			back = resource.NewMilliQuantity(got, resource.DecimalSI)
		}
		if q := resource.MustParse(text); got < 0 || q.Cmp(*back) != 0 {
			t.Fatalf("%s of %s became %d", text, name, got)
		}
	})
}

func TestAnAmountOfABillionZerosIsRefusedAndNotWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"1e999999999": "", "1E999999999": "", "1e+99999999999999999999": "", "1e-999999999": "", "0e999999999": "", "1e31": "",
		"1E": "1000000000000000000", "1Ei": "1152921504606846976", "2e18": "2000000000000000000", "4e0": "4",
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			n, err := parseAmount("nvidia.com/gpu", text)
			if got := strconv.FormatInt(n, 10); err == nil && got != want || err != nil && want != "" {
				t.Errorf("%s became %s, %v; want %q", text, got, err, want)
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s is still written out after a minute", text)
		}
	}
}

func TestWholeNumberIsExactOrRefused(t *testing.T) {
	cases := map[string]string{"5": "5", "5.0": "5", "1e3": "1000", "-9223372036854775808": "-9223372036854775808",
		"5.5": "", "9223372036854775808": "", "1e400": "", "1e999999999": "", "1e-5": ""}
	for text, want := range cases {
		n, err := wholeNumber(ast.Number(text))
		if got := strconv.FormatInt(n, 10); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%s became %s, %v; want %q", text, got, err, want)
		}
	}
}

// Whatever somebody writes, it compiles or is refused in an orderly way.
func FuzzCompile(f *testing.F) {
	f.Add(string(policies.Starter()), freeze)
	f.Add("holdshort: {config: {flavors: {a: }, queues: [1]}}", "package holdshort.policy\n\ndeny contains x if x := 1\n")
	f.Add("a: &a [*a]", "package holdshort\n\npolicy.classify.queue := input\n")
	f.Add("holdshort: &h {config: {<<: *h}}", "package holdshort.policy\n\nhold contains input[x]\n")
	f.Fuzz(func(t *testing.T, data, text string) {
		b := Bundle{Files: map[string][]byte{"data.yaml": []byte(data), "policy.rego": []byte(text)}}
		r, err := Compile(t.Context(), b, Options{Deadline: 50_000_000, CatalogDeadline: 50_000_000})
		if err != nil {
			bad, ok := errors.AsType[*BundleError](err)
			if !ok || len(bad.Problems) == 0 {
				t.Fatalf("neither compiled nor refused: %v", err)
			}
			for _, p := range bad.Problems {
				if p.Code == CodeInternal {
					t.Fatalf("not orderly: %v", p)
				}
			}
			return
		}
		if r.Catalog() == nil {
			t.Fatal("compiled without a catalog")
		}
		_, _ = r.Classify(t.Context(), job())
	})
}
