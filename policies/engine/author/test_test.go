package author

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies/engine"
)

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
	report, err := Test(t.Context(), bundleOf(rules, allKinds), TestOptions{Timeout: 300 * time.Millisecond, Coverage: true})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "outcomes.golden", show(report))
}

func show(report *TestReport) string {
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
	report, err := Test(t.Context(), bundleOf(rules, allKinds), TestOptions{Run: regexp.MustCompile("big|prints")})
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
			_, err := Test(t.Context(), bundleOf(rules, c.tests), TestOptions{})
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
	if _, err := Test(ctx, bundleOf(rules, allKinds), TestOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was interrupted", err)
	}
}
