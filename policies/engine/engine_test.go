package engine

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

func starter() Bundle {
	return Bundle{Source: "starter", Files: map[string][]byte{"data.yaml": policies.Starter()}}
}

func withRego(text string) Bundle {
	b := starter()
	b.Files["policy.rego"] = []byte(text)
	return b
}

func mustCompile(t testing.TB, b Bundle) *Revision {
	t.Helper()
	r, err := Compile(context.Background(), b, Options{})
	if err != nil {
		t.Fatalf("compiling: %v", err)
	}
	return r
}

func job() *policies.Input {
	return &policies.Input{
		Workload: &policies.Workload{
			UID: "u1", Name: "train", Namespace: "research", Kind: "Job", Queue: "default", User: "alice",
			Labels:      map[string]string{policies.LabelQueue: "default", policies.LabelPriority: "urgent"},
			Annotations: map[string]string{}, ArrivalNS: 1700000000000000000,
			PodSets: []policies.PodSet{{Name: "main", Count: 4, Requests: map[string]int64{"cpu": 1000, "nvidia.com/gpu": 1}}},
			Total:   map[string]int64{"cpu": 4000, "nvidia.com/gpu": 4},
		},
		Namespace: &policies.Namespace{Name: "research", Labels: map[string]string{"team": "nlp"}},
	}
}

func TestStarterBundleClassifiesWithoutAnyRego(t *testing.T) {
	r := mustCompile(t, starter())
	got, err := r.Classify(context.Background(), job())
	if err != nil {
		t.Fatal(err)
	}
	want := policies.Verdict{Queue: "default", Priority: 1000, User: "alice"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if w := r.Warnings(); len(w) != 0 {
		t.Errorf("the starter bundle warns: %v", w)
	}
	warn, err := r.Warn(context.Background(), job())
	if err != nil || len(warn) != 0 {
		t.Errorf("Warn = %v, %v; want none", warn, err)
	}
}
