package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/record"
)

const rules = `package holdshort.policy

import data.holdshort.lib

catalog.queues := object.union(data.holdshort.config.queues, {"half": {
	"flavors": ["default"],
	"namespaces": {"all": true},
	"quota": {"default": {"nvidia.com/gpu": floor(input.capacity["default"]["nvidia.com/gpu"].allocatable / 2)}},
}})

classify.order := [-classify.priority, input.job.spec.parallelism, input.workload.name]

deny contains lib.reason("team.example/Big", sprintf("%d GPUs", [lib.total("nvidia.com/gpu")])) if lib.total("nvidia.com/gpu") > 2

deny contains lib.reason("team.example/Guest", "guests don't train") if lib.label("guest", "") == "yes"

hold contains lib.reason_until("team.example/Noon", "not before noon", 1800000000000000000) if input.now_ns < 1800000000000000000

hold contains lib.reason("team.example/Busy", "the queue is busy") if {
	some _, flavors in input.usage.queue
	flavors["default"].used > flavors["default"].nominal / 2
}
`

func bundle(t testing.TB) engine.Bundle {
	t.Helper()
	return engine.Bundle{Source: "test", Files: map[string][]byte{"data.yaml": policies.Starter(), "rules.rego": []byte(rules)}}
}

func input() *policies.Input {
	return &policies.Input{
		Workload: &policies.Workload{
			UID: "u1", Name: "train", Namespace: "research", Kind: "Job", Queue: "default", User: "alice",
			Labels:      map[string]string{policies.LabelQueue: "default", "guest": "yes"},
			Annotations: map[string]string{"secret": "s3cret"}, ArrivalNS: 1700000000000000000,
			PodSets: []policies.PodSet{{Name: "main", Count: 4, Requests: map[string]int64{"nvidia.com/gpu": 1}}},
			Total:   map[string]int64{"nvidia.com/gpu": 4},
		},
		Namespace: &policies.Namespace{Name: "research", Labels: map[string]string{"team": "nlp"}},
		Job:       map[string]any{"spec": map[string]any{"parallelism": int64(4), "other": []any{"x", 1.5, true, nil}}},
		Request:   &policies.Request{Operation: "CREATE", User: "alice", Groups: []string{"dev"}},
		Verdict:   &policies.VerdictInput{Queue: "default", Flavors: []string{"default"}, User: "alice"},
		Usage: &policies.Usage{Queue: policies.ResourceUsage{"nvidia.com/gpu": {"default": {Used: 3, Nominal: 4}}},
			User: policies.ResourceUsage{}},
		Capacity: map[string]policies.FlavorCapacity{"default": {"nvidia.com/gpu": {Allocatable: 8}}},
		NowNS:    1790000000000000000,
	}
}

// ask asks everything once and returns the revision.
func ask(t testing.TB, observe func(engine.Decision), in *policies.Input) *engine.Revision {
	t.Helper()
	ctx := context.Background()
	r, err := engine.Compile(ctx, bundle(t), engine.Options{Observe: observe})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.EvaluateCatalog(ctx, time.Unix(1790000000, 0), policies.CatalogCapacity{"default": {"nvidia.com/gpu": {Allocatable: 9}}}); err != nil {
		t.Fatal(err)
	}
	askAgain(t, r, in)
	return r
}

func askAgain(t testing.TB, r *engine.Revision, in *policies.Input) {
	t.Helper()
	ctx := context.Background()
	if _, err := r.Classify(ctx, in); err != nil {
		t.Fatal(err)
	}
	for _, of := range []func(context.Context, *policies.Input) ([]policies.Reason, error){r.Deny, r.Warn, r.Hold} {
		if _, err := of(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
}

func records(t testing.TB, text []byte) []record.Record {
	t.Helper()
	var all []record.Record
	if err := record.Read(bytes.NewReader(text), func(r record.Record) error { all = append(all, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func newRecorder(t testing.TB, o record.Options) *record.Recorder {
	t.Helper()
	o.Failed = func(err error) { t.Error(err) }
	recorder, err := record.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return recorder
}

func TestEveryDecisionIsALineWithTheNamesOfOPA(t *testing.T) {
	recorder := newRecorder(t, record.Options{Size: 100, Labels: map[string]string{"app": "holdshort"}})
	revision := ask(t, recorder.Observe, input())
	var paths []string
	for _, r := range records(t, bytes.Join(recorder.Lines(), nil)) {
		paths = append(paths, r.Path)
		if r.Input == nil || r.Result == nil || r.DecisionID == "" || r.Timestamp.IsZero() ||
			r.Bundles["holdshort"].Revision != revision.Digest() || r.Metrics["timer_rego_query_eval_ns"] < 0 {
			t.Errorf("incomplete: %+v", r)
		}
	}
	want := []string{"holdshort/policy/catalog", "holdshort/policy/catalog", "holdshort/policy/classify",
		"holdshort/policy/deny", "holdshort/policy/warn", "holdshort/policy/hold"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRepeatsAreSampledAndChangesNever(t *testing.T) {
	recorder := newRecorder(t, record.Options{Size: 1000, Every: 10})
	in := input()
	revision := ask(t, recorder.Observe, in)
	deny := func(times int) (count int, repeats []int) {
		before := len(recorder.Lines())
		for range times {
			if _, err := revision.Deny(context.Background(), in); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range records(t, bytes.Join(recorder.Lines()[before:], nil)) {
			count++
			repeats = append(repeats, r.Holdshort.Repeats)
		}
		return count, repeats
	}
	if count, repeats := deny(25); count != 2 || repeats[0] != 10 {
		t.Errorf("25 repeats make %d records with %v repeats, want 2 of 10", count, repeats)
	}
	in.Workload.Labels["guest"] = "no"
	if count, repeats := deny(3); count != 1 || repeats[0] != 5 {
		t.Errorf("another answer makes %d records with %v repeats, want 1 that tells of 5", count, repeats)
	}
	in.Workload.Labels["guest"] = "yes"
	if count, _ := deny(1); count != 1 {
		t.Error("the change back is not recorded")
	}
}

func TestOnlyTheNewestAreKeptInMemory(t *testing.T) {
	recorder := newRecorder(t, record.Options{Size: 2})
	ask(t, recorder.Observe, input())
	var paths []string
	for _, r := range records(t, bytes.Join(recorder.Lines(), nil)) {
		paths = append(paths, r.Holdshort.Entrypoint)
	}
	if diff := cmp.Diff([]string{"warn", "hold"}, paths); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMasksTakePartsOutAndSaySo(t *testing.T) {
	masks := []string{"/input/workload/annotations", "/input/workload/labels/holdshort.dev~1queue", "/input/workload/podSets/*/name",
		"/input/nothing/there", "/result/*/message"}
	recorder := newRecorder(t, record.Options{Size: 100, Masks: masks})
	ask(t, recorder.Observe, input())
	text := bytes.Join(recorder.Lines(), nil)
	for _, secret := range []string{"s3cret", `"holdshort.dev/queue"`, "guests don't train"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the records tell %s", secret)
		}
	}
	for _, r := range records(t, text) {
		if r.Holdshort.Entrypoint == "deny" {
			want := []string{masks[0], masks[1], masks[2], masks[4]}
			if diff := cmp.Diff(want, r.Erased); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
	}
	for _, bad := range []string{"input/workload", "/labels/x", "/input"} {
		if _, err := record.New(record.Options{Masks: []string{bad}}); err == nil || !strings.Contains(err.Error(), "Try: ") {
			t.Errorf("mask %q: %v; want an error with advice", bad, err)
		}
	}
}

func TestAFullFileIsPutAside(t *testing.T) {
	name := filepath.Join(t.TempDir(), "decisions.jsonl")
	recorder := newRecorder(t, record.Options{File: name, FileBytes: 6000, Files: 2})
	ask(t, recorder.Observe, input())
	for i := range 30 {
		in := input()
		in.Workload.UID = fmt.Sprint(i)
		ask(t, recorder.Observe, in)
	}
	for _, file := range []string{name, name + ".1", name + ".2"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 6000 || len(records(t, text)) == 0 {
			t.Errorf("%s has %d bytes", file, len(text))
		}
	}
	if _, err := os.Stat(name + ".3"); err == nil {
		t.Error("more files are kept than were asked for")
	}
}

func TestRecordsAreServedToReadersOnly(t *testing.T) {
	recorder := newRecorder(t, record.Options{Size: 100})
	ask(t, recorder.Observe, input())
	answer := httptest.NewRecorder()
	recorder.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/decisions", http.NoBody))
	if answer.Code != http.StatusOK || len(records(t, answer.Body.Bytes())) != 6 {
		t.Errorf("status %d, %s", answer.Code, answer.Body)
	}
	answer = httptest.NewRecorder()
	recorder.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/debug/decisions", http.NoBody))
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST gives %d", answer.Code)
	}
}

func TestAnErrorIsRecordedWithItsPlace(t *testing.T) {
	recorder := newRecorder(t, record.Options{Size: 100})
	b := bundle(t)
	b.Files["rules.rego"] = []byte("package holdshort.policy\n\nclassify.priority := to_number(input.workload.user)\n")
	r, err := engine.Compile(context.Background(), b, engine.Options{Observe: recorder.Observe})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Classify(context.Background(), input()); err == nil {
		t.Fatal("no error")
	}
	lines := recorder.Lines()
	var got record.Record
	if err := json.Unmarshal(lines[len(lines)-1], &got); err != nil {
		t.Fatal(err)
	}
	if got.Error == nil || got.Error.Code != engine.EvalBuiltin || got.Error.At != "rules.rego:3" || got.Result != nil {
		t.Errorf("recorded %+v", got.Error)
	}
}
