package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outcomes are the tests of a bundle: name → how it ended.
func outcomes(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	results, err := RunTests(t.Context(), starterWith(files))
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]string{}
	for _, r := range results {
		end := "failed at " + r.At() + ": " + r.Message
		switch {
		case r.Passed:
			end = "passed"
		case r.Skipped:
			end = "skipped"
		}
		ends[r.Name] = end
	}
	return ends
}

func TestBundledTestsEndAsUnderStockOPA(t *testing.T) {
	got := outcomes(t, map[string]string{
		"rule.rego": "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"} if input.workload.name == \"bad\"\n",
		"rule_test.rego": `package holdshort.policy_test

import data.holdshort.lib
import data.holdshort.policy

test_denied if count(policy.deny) == 1 with input as {"workload": {"name": "bad"}}

test_wrong if count(policy.deny) == 1 with input as {"workload": {"name": "good"}}

test_defaults_are_there if policy.classify.queue == "research" with input as {"workload": {"queue": "research"}}

test_library_is_there if lib.reason("a", "b").code == "a"

test_cases[tc.note] if {
	some tc in [{"note": "one", "n": 1}, {"note": "two", "n": 2}, {"note": "three", "n": 1}]
	tc.n == 1
}

todo_test_later if false

test_breaks if {
	x := 1
	x == to_number(input.nothing)
}
`,
	})
	want := map[string]string{
		"test_denied": "passed", "test_defaults_are_there": "passed", "test_library_is_there": "passed",
		"test_wrong":      "failed at rule_test.rego:8: nothing is true",
		"test_cases":      "failed at rule_test.rego:14: cases failed: two",
		"todo_test_later": "skipped",
		"test_breaks":     "failed at rule_test.rego:21: nothing is true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tests (-want +got):\n%s", diff)
	}
}

func TestATestThatDoesNotCompileIsAProblemWithItsPlace(t *testing.T) {
	for name, text := range map[string]string{
		"a syntax error":        "package holdshort.policy_test\n\ntest_x if {\n",
		"an impure built-in":    "package holdshort.policy_test\n\ntest_x if http.send({\"method\": \"get\", \"url\": \"http://127.0.0.1\"}).status_code == 200\n",
		"a variable from where": "package holdshort.policy_test\n\ntest_x if nowhere == 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := RunTests(t.Context(), starterWith(map[string]string{"a_test.rego": text}))
			var bad *BundleError
			if !errors.As(err, &bad) || bad.Problems[0].File != "a_test.rego" || bad.Problems[0].Row < 3 {
				t.Errorf("got %v, want a problem with its file and row", err)
			}
		})
	}
}

func TestATestThatNeverEndsIsStopped(t *testing.T) {
	started := time.Now()
	got := outcomes(t, map[string]string{
		"a_test.rego": "package holdshort.policy_test\n\ntest_long if count([1 | some x in numbers.range(1, 100000); some y in numbers.range(1, 100000); x == y + 200000]) == 1\n"})
	if !strings.Contains(got["test_long"], "stopped") {
		t.Errorf("it ended as %q, want it stopped", got["test_long"])
	}
	if took := time.Since(started); took > 4*testLimit {
		t.Errorf("it took %v", took)
	}
}

func TestABundleWithoutTestsHasNoResults(t *testing.T) {
	if got := outcomes(t, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
