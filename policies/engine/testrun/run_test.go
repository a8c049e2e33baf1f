package testrun

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/test/golden"
)

var update = flag.Bool("update", false, "write what is expected anew")

const data = `holdshort:
  config:
    flavors: {gpu: {}}
    queues: {research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}}
    custom: {most: 4}
`

const rules = `package holdshort.policy

import data.holdshort.lib

# METADATA
# title: Big Jobs are denied
deny contains lib.reason("team.example/TooBig", message) if {
	asked := lib.total("nvidia.com/gpu")
	asked > data.holdshort.config.custom.most
	message := sprintf("%d asked", [asked])
}

# METADATA
# title: So are those of nobody
deny contains lib.reason("team.example/Nobody", "no") if input.workload.queue == "nobody"

# METADATA
# title: Priority of the policy's own
default classify.priority := 2
`

const head = `package holdshort.policy_test

import data.holdshort.policy

job(n) := {"workload": {"queue": "research", "total": {"nvidia.com/gpu": n}}}

`

// bundleOf is data, rules and tests.
func bundleOf(rules, tests string) engine.Bundle {
	return engine.Bundle{Files: map[string][]byte{
		"data.yaml": []byte(data), "limit.rego": []byte(rules), "limit_test.rego": []byte(head + tests),
	}}
}

const allKinds = `test_big_is_denied if count(policy.deny) == 1 with input as job(5)

test_value_differs if {
	reasons := policy.deny with input as job(4)
	count(reasons) == 1
}

test_nothing_of_the_kind if {
	some reason in policy.deny with input as job(4)
	reason.code == "team.example/Other"
}

test_users_field_replaces_the_default if policy.classify.priority == 7 with input as job(4)

test_cases[case.name] if {
	some case in [{"name": "four", "n": 4, "want": 0}, {"name": "five", "n": 5, "want": 0}, {"name": "six", "n": 6, "want": 1}]
	got := policy.deny with input as job(case.n)
	count(got) == case.want
}

test_prints if {
	print("hello", 7)
	true
}

test_takes_for_ever if count([x | some x in numbers.range(1, 100000000); x < 0]) == 1

test_builtin_fails if to_number("x") == 3

todo_test_later if false
`

func TestEachWayToEndIsTold(t *testing.T) {
	report, err := Run(t.Context(), bundleOf(rules, allKinds), Options{Timeout: 300 * time.Millisecond, Coverage: true})
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, *update, "outcomes.golden", show(report))
}

func show(report *Report) string {
	var b strings.Builder
	for _, r := range report.Results {
		fmt.Fprintf(&b, "%s:%d %s %s\n", r.File, r.Row, r.Name, r.Outcome)
		for _, text := range []string{r.Message, r.Try, r.Output} {
			if text != "" {
				fmt.Fprintf(&b, "  %s\n", text)
			}
		}
		for _, d := range r.Differences {
			fmt.Fprintf(&b, "  %s:%d\n%s\n", d.File, d.Row, d.Text)
		}
	}
	if c := report.Coverage; c != nil {
		fmt.Fprintf(&b, "%.1f %% covered; missed %v; untested %v\n", c.Percent, c.Files, c.Untested)
	}
	return b.String()
}

func TestOnlyTheNamedTestsRun(t *testing.T) {
	report, err := Run(t.Context(), bundleOf(rules, allKinds), Options{Run: regexp.MustCompile("big|prints")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range report.Results {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"test_big_is_denied", "test_prints"}, names); diff != "" {
		t.Errorf("tests that ran (-want +got)\n%s", diff)
	}
	if !report.OK() || report.Count(Pass) != 2 {
		t.Errorf("OK %t, %d passed; want both to pass", report.OK(), report.Count(Pass))
	}
}

func TestABrokenTestFileIsRefusedWithItsPlace(t *testing.T) {
	cases := map[string]struct{ tests, want string }{
		"a syntax error":      {"test_x if {", "limit_test.rego:7: rego_parse_error"},
		"an unknown function": {"test_x if nothing_like_this(1)", "limit_test.rego:7: rego_type_error: undefined function nothing_like_this"},
		"an impure built-in":  {"test_x if time.now_ns() > 0", "Try: input.now_ns"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Run(t.Context(), bundleOf(rules, c.tests), Options{})
			var bad *engine.BundleError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant a BundleError with %q", err, c.want)
			}
		})
	}
}

func TestInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, bundleOf(rules, allKinds), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was interrupted", err)
	}
}

func TestLibraryAndDefaultsStandBesideTheBundle(t *testing.T) {
	report, err := Run(t.Context(), bundleOf(rules, `import data.holdshort.lib

test_default_of_the_queue if policy.classify.queue == "research" with input as job(4)

test_library if lib.reason("a.example/X", "b").code == "a.example/X"
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(Pass) != 2 || !report.OK() {
		t.Errorf("got\n%s\nwant both to pass", show(report))
	}
}

func TestABundleWithoutTestsHasNoResults(t *testing.T) {
	bundle := bundleOf(rules, "")
	delete(bundle.Files, "limit_test.rego")
	report, err := Run(t.Context(), bundle, Options{})
	if err != nil || len(report.Results) > 0 {
		t.Errorf("got %v and %v, want nothing", report, err)
	}
}

func TestTestsThatTakeTooLongTogetherAreStoppedAndSaySo(t *testing.T) {
	long := " if count([x | some x in numbers.range(1, 100000000); x < 0]) == 1\n\n"
	begun := time.Now()
	report, err := Run(t.Context(), bundleOf(rules, "test_one"+long+"test_two"+long+"test_three"+long), Options{Within: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Outcome != Broken || !strings.Contains(r.Message, "200ms together") {
			t.Errorf("%s ended as %s: %s; want that all of them took too long", r.Name, r.Outcome, r.Message)
		}
	}
	if took := time.Since(begun); len(report.Results) != 3 || took > DefaultTimeout {
		t.Errorf("%d results after %s, want 3 at once", len(report.Results), took)
	}
}

// OPA's own printer has the parts of input as undefined.
func TestADifferenceHasTheValuesOfInput(t *testing.T) {
	const x = "package holdshort.policy\n\nimport data.holdshort.lib\n\ndeny contains lib.reason(\"a.b/C\", \"no\") if {\n\tkey := \"tier\"\n\tinput.workload.labels[key] == \"gold\"\n}\n\n" +
		"deny contains lib.reason(\"a.b/D\", \"no\") if input.workload.namespace == \"x\"\n\ndeny contains lib.reason(\"a.b/E\", \"no\") if input.workload.user == \"x\"\n"
	const in = ` with input as {"workload": {"namespace": "y", "labels": {"tier": "iron"}}}`
	report, err := Run(t.Context(), bundleOf(x, "test_count if count(policy.deny) == 1"+in+"\n\ntest_some if {\n\tsome r in policy.deny"+in+"\n\tr.code == \"a.b/D\"\n}\n\n"+
		"test_bound if {\n\treasons := policy.deny"+in+"\n\tcount(reasons) == 1\n}\n\ntest_multi if {\n\tcount(policy.deny) == 1"+in+"\n}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, *update, "input.golden", show(report))
}

// What fails inside of a "not" makes its row hold.
func TestARowWithANotThatHeldIsNoDifference(t *testing.T) {
	const x = "package holdshort.policy\n\nimport data.holdshort.lib\n\ndeny contains lib.reason(\"a.b/A\", \"no\") if {\n\tnot lib.label(\"ok\", \"\") == \"yes\"\n}\n\n" +
		"deny contains lib.reason(\"a.b/B\", \"no\") if {\n\tnot lib.label(\"ok\", \"\") == \"\"\n}\n"
	const in = ` with input as {"workload": {"labels": {}}}`
	report, err := Run(t.Context(), bundleOf(x, "test_b if {\n\tsome r in policy.deny"+in+"\n\tr.code == \"a.b/B\"\n}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, d := range report.Results[0].Differences {
		rows = append(rows, fmt.Sprintf("%s:%d", d.File, d.Row))
	}
	if diff := cmp.Diff([]string{"limit_test.rego:9", "limit.rego:10"}, rows); diff != "" {
		t.Errorf("what did not hold (-want +got):\n%s", diff)
	}
}

func TestAFailureSaysWhatDidNotHold(t *testing.T) {
	report, err := Run(t.Context(), bundleOf(rules, "test_x if {\n\tsome n in [4]\n\tcount(policy.deny) == 1 with input as job(n)\n}\n\ntest_y if to_number(\"x\") == 3\n\ntodo_test_z if false\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range report.Failures() {
		got = append(got, p.String())
	}
	want := []string{
		"limit_test.rego:7: the test test_x fails: in row 9, count(policy.deny) == 1 with input as job(n) does not hold. Try: kubectl holdshort policy test, which shows what differed",
		"limit_test.rego:12: the test test_y gives no answer: limit_test.rego:12: eval_builtin_error: to_number: strconv.ParseFloat: parsing \"x\": invalid syntax. Try: a test for what makes it fail: an error holds the Job",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got)\n%s", diff)
	}
}

// Six of them took one and a half GiB, each until its time was up.
func TestTestsThatFillTheMemoryAreStopped(t *testing.T) {
	greedy := " if {\n\ts := \"" + strings.Repeat("a", 400) + "\"\n\tx := [concat(\"\", [s, sprintf(\"%d\", [i])]) | some i in numbers.range(1, 100000000)]\n\tcount(x) == 0\n}\n\n"
	report, err := Run(t.Context(), bundleOf(rules, "test_one"+greedy+"test_two"+greedy+"test_small if 1 == 1\n"), Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Name == "test_small" && r.Outcome != Pass || r.Name != "test_small" && !strings.Contains(r.Message, "of memory and was stopped") {
			t.Errorf("%s ended as %s: %s; want that the others took too much memory, and that it passes", r.Name, r.Outcome, r.Message)
		}
	}
	if len(report.Results) != 3 {
		t.Errorf("%d results, want 3", len(report.Results))
	}
}
