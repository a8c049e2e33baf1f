package policycheck_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
	"github.com/holdshort/holdshort/webhook/policycheck"
)

const (
	oneJob = `nodes:
- {name: n1, has: {nvidia.com/gpu: 8}}
jobs:
- {name: big, queue: lab, requests: {nvidia.com/gpu: %d}}
expect:
# It has to fit into its quota.
- {job: big, startsBy: 1m}
`
	longStory = `nodes:
- {name: n1, has: {nvidia.com/gpu: 8}}
jobs:
- {name: many, count: 10000, queue: lab, requests: {nvidia.com/gpu: 1}, runs: 1h}
expect:
- {job: many, endsBy: 5000h}
`
	failingTest = "package a_test\n\ntest_a if 1 == 2\n"
	endlessTest = "package a_test\n\ntest_a if count([1 | some x in numbers.range(1, 20000); some y in numbers.range(1, 20000); x == y + 40000]) == 1\n"
)

func play(ctx context.Context, bundle engine.Bundle) ([]testrun.Result, error) {
	return scenario.Run(ctx, bundle, scenario.Options{})
}

func TestWhatItsTestsAndScenariosHaveAgainstAPolicyIsWarnedOf(t *testing.T) {
	const cut = "not all of its tests and scenarios were run here, since they take too long; the rollout runs them"
	for _, c := range []struct {
		name  string
		files files
		warns []string // one piece of text for each warning
	}{
		{"a scenario that comes to what it should", files{"a.scenario.yaml": fmt.Sprintf(oneJob, 4)}, nil},
		{"a scenario that does not", files{"a.scenario.yaml": fmt.Sprintf(oneJob, 5)},
			[]string{"until this is right, too: policy/a.scenario.yaml:7: the test big starts by 1m fails"}},
		{"a test and a scenario that fail", files{"a.scenario.yaml": fmt.Sprintf(oneJob, 5), "a_test.rego": failingTest},
			[]string{"a_test.rego:3: the test test_a fails", "a.scenario.yaml:7: "}},
		{"a scenario with an unknown key", files{"a.scenario.yaml": strings.Replace(fmt.Sprintf(oneJob, 4), "{job: big, startsBy", "{job: big, startBy", 1)},
			[]string{"policy/a.scenario.yaml:7: the test read gives no answer: expect[0].startBy: unknown key. Try: startsBy"}},
		{"tests without an end", files{"a_test.rego": endlessTest}, []string{cut}},
		{"scenarios that take too long, after a test that fails", files{"a.scenario.yaml": longStory, "a_test.rego": failingTest},
			[]string{cut, "the test test_a fails"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["data.yaml"] = good
			check := policycheck.New(policycheck.Options{ConfigMaps: configMaps{names: []string{"policy"}}, Scenarios: play})
			got := check.Handle(t.Context(), creation(t, configMap("policy", c.files, "")))
			if !got.Allowed || len(got.Warnings) != len(c.warns) {
				t.Fatalf("allowed: %t, warnings %q, want %d", got.Allowed, got.Warnings, len(c.warns))
			}
			for i, want := range c.warns {
				if !strings.Contains(got.Warnings[i], want) {
					t.Errorf("warning %q, want one with %q", got.Warnings[i], want)
				}
			}
		})
	}
}

func TestAScenarioThatPanicsEndsTheCheckAndNotTheManager(t *testing.T) {
	check := policycheck.New(policycheck.Options{ConfigMaps: configMaps{names: []string{"policy"}},
		Scenarios: func(context.Context, engine.Bundle) ([]testrun.Result, error) { panic("oops") }})
	got := check.Handle(t.Context(), creation(t, configMap("policy", files{"data.yaml": good}, "")))
	if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "not checked: panic: oops") {
		t.Errorf("got %+v, want it to pass with a warning", got.AdmissionResponse)
	}
}

func TestScenariosThatDoNotStopKeepNobodyFromChecking(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	check := policycheck.New(policycheck.Options{ConfigMaps: configMaps{names: []string{"policy"}},
		Scenarios: func(context.Context, engine.Bundle) ([]testrun.Result, error) {
			<-release
			return nil, nil
		}})
	for range 2 {
		got := check.Handle(t.Context(), creation(t, configMap("policy", files{"data.yaml": good}, "")))
		if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "not all of its tests and scenarios") {
			t.Fatalf("allowed %t, warnings %q", got.Allowed, got.Warnings)
		}
	}
	if got := check.Handle(t.Context(), creation(t, configMap("policy", files{"deny.rego": syntax}, ""))); got.Allowed {
		t.Errorf("the next edit is not checked: %q", got.Warnings)
	}
}
