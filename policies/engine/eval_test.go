package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

const freeze = `package holdshort.policy

import data.holdshort.lib

hold contains lib.reason_until("ops.example/Freeze", sprintf("change freeze %s until %s", [name, freeze.to]), to_ns) if {
	some name, freeze in data.holdshort.config.custom.freezes
	to_ns := time.parse_rfc3339_ns(freeze.to)
	input.now_ns >= time.parse_rfc3339_ns(freeze.from)
	input.now_ns < to_ns
	input.verdict.priority < 1000
}
`

func withFreeze() Bundle {
	b := withRego(freeze)
	b.Files["freeze.data.yaml"] = []byte("holdshort:\n  config:\n    custom:\n      freezes:\n" +
		"        xmas: {from: 2026-12-20T00:00:00Z, to: 2027-01-02T00:00:00Z}\n")
	return b
}

func TestRuleOfAnAuthorHoldsWithReasonPlaceAndEnd(t *testing.T) {
	r := mustCompile(t, withFreeze())
	in := job()
	in.Verdict = &policies.VerdictInput{Priority: 100}
	in.NowNS = time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC).UnixNano()
	until := time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano()
	want := []policies.Reason{{Code: "ops.example/Freeze", UntilNS: until, RuleAt: "policy.rego:5",
		Message: "change freeze xmas until 2027-01-02T00:00:00Z"}}
	got, err := r.Hold(context.Background(), in)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("hold: %v (-want +got):\n%s", err, diff)
	}
	in.NowNS = until
	if got, err = r.Hold(context.Background(), in); err != nil || len(got) != 0 {
		t.Errorf("after the freeze hold says %v, %v; want nothing", got, err)
	}
	if !r.HoldApplies(nil) || !r.ReadsPart("hold", "now_ns") || r.ReadsPart("hold", "usage") {
		t.Errorf("HoldApplies %v, reads now %v, reads usage %v; want true, true, false",
			r.HoldApplies(nil), r.ReadsPart("hold", "now_ns"), r.ReadsPart("hold", "usage"))
	}
}

func TestClassNobodyKnowsIsWarnedOfAndHeldAndNeverTheLowest(t *testing.T) {
	r := mustCompile(t, starter())
	in := job()
	in.Workload.Labels[policies.LabelPriority] = "urgnt"
	in.Workload.PriorityClassVal = 7
	hold, err := r.Hold(context.Background(), in)
	if err != nil || len(hold) != 1 || hold[0].Code != "holdshort.dev/UnknownClass" {
		t.Errorf("hold = %v, %v; want UnknownClass", hold, err)
	}
	warn, err := r.Warn(context.Background(), in)
	if err != nil || len(warn) != 1 || !strings.Contains(warn[0].Message, `"urgnt"`) {
		t.Errorf("warn = %v, %v; want one that names the class", warn, err)
	}
	if verdict, err := r.Classify(context.Background(), in); err != nil || verdict.Priority != 7 {
		t.Errorf("verdict %+v, %v; want the PriorityClass's 7", verdict, err)
	}
	if r.HoldApplies(map[string]string{policies.LabelQueue: "default"}) {
		t.Error("hold is asked about a Job without a priority class")
	}
}

// Who only wants another priority does not mean to give up the protection.
func TestClassNobodyKnowsIsHeldUnderAPriorityOfThePolicysOwn(t *testing.T) {
	r := mustCompile(t, withRego("package holdshort.policy.classify\n\nimport data.holdshort.lib\n\npriority := lib.class_priority + 50\n"))
	in := job()
	in.Workload.Labels[policies.LabelPriority] = "urgnt"
	for group, ask := range map[string]func(context.Context, *policies.Input) ([]policies.Reason, error){"hold": r.Hold, "warn": r.Warn} {
		reasons, err := ask(t.Context(), in)
		if err != nil || len(reasons) != 1 || reasons[0].Code != "holdshort.dev/UnknownClass" {
			t.Errorf("%s = %v, %v; want UnknownClass", group, reasons, err)
		}
	}
	in.Workload.Labels[policies.LabelPriority] = "urgent"
	if verdict, err := r.Classify(t.Context(), in); err != nil || verdict.Priority != 1050 {
		t.Errorf("verdict %+v, %v; want the class's 1000 and 50", verdict, err)
	}
	if r.HoldApplies(map[string]string{policies.LabelQueue: "default"}) {
		t.Error("hold is asked about a Job without a priority class")
	}
}

// doubling is n rules, each the text of the one before twice.
func doubling(n int) string {
	text := "t0 := input.workload.namespace\n\n"
	for i := range n {
		text += fmt.Sprintf("t%d := concat(\"\", [t%d, t%d])\n\n", i+1, i, i)
	}
	return text
}

func TestEvaluationThatFailsSaysWhyAndWhere(t *testing.T) {
	const classify = "package holdshort.policy.classify\n\n"
	const hold = "package holdshort.policy\n\nhold contains {\"code\": \"a/B\", \"message\": m} if {\n\t"
	cases := []struct {
		name, rego, entrypoint, code, at, message string
	}{
		{"no rule matches", classify + "priority := 1 if input.workload.user == \"bob\"\n",
			"classify.priority", EvalUndefined, "policy.rego:3", "no rule gives a value for this Job"},
		{"two rules disagree", classify + "priority := 1 if input.workload.user == \"alice\"\n\npriority := 2 if input.workload.queue == \"default\"\n",
			"classify", EvalConflict, "policy.rego:5", "rule data.holdshort.policy.classify.priority produced conflicting values: 1 at policy.rego:3, 2 at policy.rego:5"},
		{"a number comes as a string", classify + "priority := input.workload.labels[\"holdshort.dev/priority\"]\n",
			"classify.priority", EvalType, "policy.rego:3", `want a number, got the string "urgent"`},
		{"a fraction", classify + "priority := count(input.workload.podSets) / 2\n",
			"classify.priority", EvalType, "policy.rego:3", "want a whole number, got 0.5"},
		{"beyond counting", classify + "priority := input.workload.arrival_ns * 1000000\n",
			"classify.priority", EvalType, "policy.rego:3", "1700000000000000000000000 is more than can be counted"},
		{"null", classify + "queue := object.get(input.workload.labels, \"nothing\", null)\n",
			"classify.queue", EvalType, "policy.rego:3", "want a string, got null"},
		{"a flavor that is not", classify + "flavors := [input.workload.user]\n",
			"classify.flavors", EvalType, "policy.rego:3", `flavors[0]: there is no flavor "alice"`},
		{"a rank that is no number", classify + "order := [to_number(\"NaN\")]\n",
			"classify", EvalType, "policy.rego:3", "to_number: operand 1 must be valid number string but got string"},
		{"a rank without end", classify + "order := [to_number(\"Inf\"), input.workload.name]\n",
			"classify", EvalType, "policy.rego:3", "to_number: operand 1 must be valid number string but got string"},
		{"a rank that is a fraction", classify + "order := [input.workload.arrival_ns / 3]\n",
			"classify.order", EvalType, "policy.rego:3", "order[0]: want a whole number, got 5.6666666666666666666e+17"},
		{"a rank that is true or false", classify + "order := [input.workload.name == \"train\", 1]\n",
			"classify.order", EvalType, "policy.rego:3", "order[0]: want a number or a string, got the boolean true"},
		{"a rank of ranks", classify + "order := [[1, 2], input.workload.podSets]\n",
			"classify.order", EvalType, "policy.rego:3", "order[0]: want a number or a string, got the array [1, 2]"},
		{"a rank that is null", classify + "order := [object.get(input.workload.labels, \"nothing\", null)]\n",
			"classify.order", EvalType, "policy.rego:3", "order[0]: want a number or a string, got null"},
		{"a rank beyond counting", classify + "order := [input.workload.arrival_ns * 1000000]\n",
			"classify.order", EvalType, "policy.rego:3", "order[0]: 1700000000000000000000000 is more than can be counted"},
		{"a longest run below zero", classify + "maxRuntimeSeconds := count(input.workload.podSets) - 2\n",
			"classify.maxRuntimeSeconds", EvalType, "policy.rego:3", "-1 is no duration"},
		{"one longer than can be", classify + "maxRuntimeSeconds := input.workload.arrival_ns\n",
			"classify.maxRuntimeSeconds", EvalType, "policy.rego:3", "1700000000000000000 is no duration"},
		{"a shortest run that is no number", classify + "minRuntimeSeconds := input.workload.arrival_ns\n",
			"classify.minRuntimeSeconds", EvalType, "policy.rego:3", "1700000000000000000 is no duration"},
		{"a built-in that fails", classify + "priority := to_number(input.workload.user)\n",
			"classify", EvalBuiltin, "policy.rego:3", `to_number: strconv.ParseFloat: parsing "alice": invalid syntax`},
		{"an endless search", classify + "priority := count(numbers.range(1, 200000000))\n",
			"classify", EvalDeadline, "", "took longer than 40ms and was stopped. Try: look up by key instead of searching"},
		{"an exploding comprehension", classify + "priority := count({[a, b, c] | some a in numbers.range(1, 1000); some b in numbers.range(1, 1000); some c in numbers.range(1, 1000)})\n",
			"classify", EvalDeadline, "", "took longer than 40ms and was stopped. Try: look up by key instead of searching"},
		{"a slow hold", hold + "m := sprintf(\"%d\", [count(numbers.range(1, 200000000))])\n}\n",
			"hold", EvalDeadline, "", "took longer than 40ms and was stopped. Try: look up by key instead of searching"},
		{"a reason whose message is a number", hold + "m := input.workload.total.cpu\n}\n",
			"hold", EvalType, "policy.rego:3", "message: want a string, got the number 4000"},
		{"a reason without words", hold + "m := input.workload.priorityClass\n}\n",
			"hold", EvalType, "policy.rego:3", "a reason needs a code and a message"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := Compile(context.Background(), withRego(c.rego), Options{Deadline: 40 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if _, err = r.Classify(context.Background(), job()); c.entrypoint == "hold" {
				_, err = r.Hold(context.Background(), job())
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			var got *EvalError
			if !errors.As(err, &got) {
				t.Fatalf("want an EvalError, got %v", err)
			}
			want := &EvalError{Entrypoint: c.entrypoint, Code: c.code, At: c.at, Message: c.message}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMemoryThatAPolicyTakesIsBounded(t *testing.T) {
	const classify = "package holdshort.policy.classify\n\n"
	r, err := Compile(context.Background(), withRego(classify+doubling(36)+"priority := count(t36)\n"), Options{Deadline: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = r.Classify(context.Background(), job())
	runtime.ReadMemStats(&after)
	var failed *EvalError
	if !errors.As(err, &failed) || failed.Code != EvalMemory || failed.Entrypoint != groupClassify {
		t.Errorf("a text of 512 GiB: %v; want that it took too much memory", err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 2048 {
		t.Errorf("it took %d MiB until it was stopped", took)
	}
	if _, err := r.Deny(context.Background(), job()); err != nil {
		t.Errorf("deny, which asks for nothing of this: %v", err)
	}
}

func TestCancelledContextIsNotBlamedOnThePolicy(t *testing.T) {
	r := mustCompile(t, withRego("package holdshort.policy.classify\n\npriority := count(numbers.range(1, 200000000))\n"))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := r.Classify(ctx, job())
	var blamed *EvalError
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &blamed) {
		t.Errorf("error %v; want the context's own", err)
	}
}

func TestReasonsAreSortedAndSayWhichRuleGaveThem(t *testing.T) {
	r := mustCompile(t, withRego(`package holdshort.policy

import data.holdshort.lib

deny contains lib.reason("b.example/Second", "two")

deny contains lib.reason("a.example/First", "one") if input.workload.user == "alice"

deny contains lib.reason("a.example/First", "one") if input.request.operation == "CREATE"

deny contains lib.reason("z.example/Counted", sprintf("%d other reasons", [count(others)])) if {
	others := {c | some c in ["x"]}
}
`))
	in := job()
	in.Request = &policies.Request{Operation: "CREATE"}
	got, err := r.Deny(context.Background(), in)
	want := []policies.Reason{
		{Code: "a.example/First", Message: "one", RuleAt: "policy.rego:7"},
		{Code: "b.example/Second", Message: "two", RuleAt: "policy.rego:5"},
		{Code: "z.example/Counted", Message: "1 other reasons", RuleAt: "policy.rego:11"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if !r.ReadsPart("deny", "request") || r.ReadsJob() {
		t.Error("deny reads the request and not the raw Job")
	}
}

func TestPolicyOwnRulesReplaceTheDefaultOfTheSameFieldOnly(t *testing.T) {
	r := mustCompile(t, withRego(`package holdshort.policy

classify.queue := "gold" if input.namespace.labels.team == "nlp"

classify.order := [input.job.spec.rank, input.workload.name]

classify.user := sprintf("%s@example", [input.workload.user])

classify.flavors := ["default"]

classify.maxRuntimeSeconds := 3600 * count(input.workload.podSets)
`))
	in := job()
	in.Job = map[string]any{"spec": map[string]any{"rank": int64(3)}}
	got, err := r.Classify(context.Background(), in)
	want := policies.Verdict{Queue: "gold", Priority: 1000, User: "alice@example", Flavors: []string{"default"}, MaxRuntimeSeconds: 3600,
		Order: []policies.OrderKey{{Number: 3}, {Text: "train", IsText: true}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if !r.ReadsJob() {
		t.Error("the policy reads input.job")
	}
}

func TestOneRevisionServesManyGoroutines(t *testing.T) {
	r := mustCompile(t, withFreeze())
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				if v, err := r.Classify(context.Background(), job()); err != nil || v.Priority != 1000 {
					t.Errorf("verdict %+v, %v", v, err)
				}
				if _, err := r.Hold(context.Background(), job()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}
