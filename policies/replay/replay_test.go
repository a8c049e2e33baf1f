package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/record"
	"github.com/holdshort/holdshort/policies/replay"
)

func compile(t *testing.T, rego string, observe func(engine.Decision)) *engine.Revision {
	t.Helper()
	b := engine.Bundle{Files: map[string][]byte{"data.yaml": policies.Starter()}}
	if rego != "" {
		b.Files["rules.rego"] = []byte("package holdshort.policy\n\n" + rego)
	}
	r, err := engine.Compile(context.Background(), b, engine.Options{Observe: observe})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded is what a policy says of three Jobs.
func recorded(t *testing.T, rego string, masks ...string) []byte {
	t.Helper()
	recorder, err := record.New(record.Options{Size: 100, Masks: masks, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	r := compile(t, rego, recorder.Observe)
	for _, name := range []string{"a", "b", "c"} {
		in := &policies.Input{
			Workload: &policies.Workload{UID: "uid-" + name, Name: name, Namespace: "ns", Queue: "default", User: "user-" + name,
				Labels: map[string]string{}, Annotations: map[string]string{}, Total: map[string]int64{"cpu": 1000}},
			Namespace: &policies.Namespace{Name: "ns", Labels: map[string]string{}},
		}
		if _, err := r.Classify(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Deny(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Join(recorder.Lines(), nil)
}

func TestARuleOfAKindThatTheRecordedPolicyHadNoneOfIsTriedToo(t *testing.T) {
	recorder, err := record.New(record.Options{Size: 100, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	r := compile(t, "", recorder.Observe)
	in := &policies.Input{
		Workload: &policies.Workload{UID: "u", Name: "big", Namespace: "ns", Queue: "default", Labels: map[string]string{},
			Annotations: map[string]string{}, Total: map[string]int64{"cpu": 1000}},
		Namespace: &policies.Namespace{Name: "ns", Labels: map[string]string{}},
		Verdict:   &policies.VerdictInput{Queue: "default"}, Usage: &policies.Usage{}, NowNS: 1,
		Capacity: map[string]policies.FlavorCapacity{},
	}
	for _, of := range []func(context.Context, *policies.Input) ([]policies.Reason, error){r.Deny, r.Hold} {
		if said, err := of(t.Context(), in); err != nil || len(said) > 0 {
			t.Fatalf("a policy without such rules says %v, %v", said, err)
		}
	}
	rule := "%s contains {\"code\": \"team.example/Big\", \"message\": \"big\"} if input.workload.name == \"big\"\n"
	next := compile(t, fmt.Sprintf(rule, "deny")+fmt.Sprintf(rule, "hold")+fmt.Sprintf(rule, "warn")+"mutate.labels[\"size\"] := \"big\" if input.workload.name == \"huge\"\n", nil)
	report, err := replay.Run(t.Context(), bytes.NewReader(bytes.Join(recorder.Lines(), nil)), next)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"newly denied": 1, "newly held": 1}, report.Kinds); diff != "" {
		t.Errorf("what would differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mutate", "warn"}, report.Untried); diff != "" {
		t.Errorf("what no record is about (-want +got):\n%s", diff)
	}
}

// The policy that was in force gave each Job the label "by: old".
func TestWhatTheNewPolicyGivesOtherwiseIsNotComparedByWhatTheOldOneGave(t *testing.T) {
	const why = "the new policy's mutate gives the Job something else than it had, so it would be asked about another Job"
	const gives, needs = "mutate.labels[\"by\"] := \"old\"\n\n", "deny contains {\"code\": \"team.example/By\", \"message\": \"by whom?\"} if not input.workload.labels.by\n"
	for _, c := range []struct {
		name, old, new string
		kinds, skipped map[string]int
	}{
		{"the same is given", gives, gives + needs, map[string]int{}, map[string]int{}},
		{"it is given no longer", gives, needs, map[string]int{"mutate.labels": 1}, map[string]int{why: 2}},
		{"something else is", gives, strings.Replace(gives, `"old"`, `"new"`, 1) + needs, map[string]int{"mutate.labels": 1}, map[string]int{why: 2}},
		{"nothing was given, and now it is", "", gives + needs, map[string]int{}, map[string]int{why: 2}},
		{"nothing was given, and nothing is", "", gives[:len(gives)-2] + " if input.workload.name == \"b\"\n\n" + needs, map[string]int{"newly denied": 1}, map[string]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder, err := record.New(record.Options{Size: 100, Failed: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			old := compile(t, c.old, recorder.Observe)
			in := &policies.Input{
				Workload: &policies.Workload{UID: "u", Name: "a", Namespace: "ns", Queue: "default", Labels: map[string]string{},
					Annotations: map[string]string{}, Total: map[string]int64{"cpu": 1000}},
				Namespace: &policies.Namespace{Name: "ns", Labels: map[string]string{}},
			}
			if old.HasMutate() {
				said, err := old.Mutate(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				in.Workload.Labels = said.Labels
			}
			if _, err := old.Deny(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if _, err := old.Classify(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			report, err := replay.Run(t.Context(), bytes.NewReader(bytes.Join(recorder.Lines(), nil)), compile(t, c.new, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{c.kinds, c.skipped}, []any{report.Kinds, report.Skipped}); diff != "" {
				t.Errorf("kinds and skipped (-want +got):\n%s", diff)
			}
		})
	}
}

const noB = "deny contains {\"code\": \"team.example/NoB\", \"message\": \"no b\"} if input.workload.name == \"b\"\n"

func TestWhatWouldDifferIsListedAndCounted(t *testing.T) {
	cases := []struct {
		name, old, new string
		kinds, skipped map[string]int
		same           int
	}{
		{"the same policy", noB, noB, map[string]int{}, map[string]int{}, 7},
		{"somebody is denied no longer, another newly", noB, strings.ReplaceAll(noB, `"b"`, `"c"`),
			map[string]int{"no longer denied": 1, "newly denied": 1}, map[string]int{}, 5},
		{"the same in other words", noB, strings.ReplaceAll(noB, "no b", "not b"), map[string]int{"denied in other words": 1}, map[string]int{}, 6},
		{"another code", noB, strings.ReplaceAll(noB, "NoB", "Not"), map[string]int{"denied for other reasons": 1}, map[string]int{}, 6},
		{"a field of the verdict, and one that was not there", noB, noB + "\nclassify.queue := \"x\"\n\nclassify.user := \"team\"\n",
			map[string]int{"classify.queue": 3, "classify.user": 3}, map[string]int{}, 4},
		{"one that fails", noB, noB + "\nclassify.priority := 1 / count([x | x := 1; input.workload.name != \"a\"])\n",
			map[string]int{"classify fails": 1, "classify.priority": 2}, map[string]int{}, 4},
		{"a part that was not recorded", noB, noB + "\nclassify.order := [input.job.spec.rank]\n", map[string]int{},
			map[string]int{"the new policy reads input.job, which was not recorded": 3}, 4},
		{"a part that was recorded though the old policy did not read it", noB, noB + "\nclassify.priority := 5 if input.workload.user == \"user-a\"\n\nelse := 0\n",
			map[string]int{"classify.priority": 1}, map[string]int{}, 6},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := replay.Run(context.Background(), bytes.NewReader(recorded(t, c.old)), compile(t, c.new, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.kinds, report.Kinds); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.skipped, report.Skipped); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
			if report.Same != c.same || report.Records != 7 || report.Changed != len(report.Differences) {
				t.Errorf("%d of %d are the same, want %d of 7; %d changed, %d listed",
					report.Same, report.Records, c.same, report.Changed, len(report.Differences))
			}
		})
	}
}

func TestADifferenceHasBothAnswers(t *testing.T) {
	report, err := replay.Run(context.Background(), bytes.NewReader(recorded(t, noB)), compile(t, strings.ReplaceAll(noB, "no b", "not b"), nil))
	if err != nil || len(report.Differences) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	d := report.Differences[0]
	reason := func(message string) any { return []any{map[string]any{"code": "team.example/NoB", "message": message}} }
	if diff := cmp.Diff([]any{reason("no b"), reason("not b"), "b"}, []any{d.Before.Result, d.After.Result, d.Workload.Name}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMaskedRecordsAreNotGuessed(t *testing.T) {
	report, err := replay.Run(context.Background(), bytes.NewReader(recorded(t, noB, "/input/workload/name")), compile(t, noB, nil))
	if err != nil || report.Skipped["a mask took out a part of it"] != 6 || report.Changed != 0 {
		t.Errorf("%+v, %v; want 6 skipped", report, err)
	}
}

func TestWhatIsNoRecordIsToldByItsLine(t *testing.T) {
	_, err := replay.Run(context.Background(), strings.NewReader("{}\n\nnonsense\n"), compile(t, "", nil))
	if err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("error %v; want one that names line 3", err)
	}
}
