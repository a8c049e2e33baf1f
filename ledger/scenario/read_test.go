package scenario_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

const data = `
holdshort:
  config:
    flavors: {fast: {nodeLabels: {kind: fast}}, slow: {nodeLabels: {kind: slow}}}
    classes: {urgent: {priority: 10}, normal: {priority: 1}}
    queues:
      lab:
        namespaces: {all: true}
        flavors: [fast, slow]
        quota: {fast: {nvidia.com/gpu: 2}, slow: {nvidia.com/gpu: 2}}
        preemption: {withinQueue: LowerPriority}
`

const cluster = `
nodes:
  - {name: f, labels: {kind: fast}, has: {nvidia.com/gpu: 2}}
  - {name: s, labels: {kind: slow}, has: {nvidia.com/gpu: 2}}
`

// played is what becomes of a scenario, a line for each result.
func played(t *testing.T, text string, files ...string) []string {
	t.Helper()
	bundle := engine.Bundle{Files: map[string][]byte{"data.yaml": []byte(data), "scenarios/s.yaml": []byte(text)}}
	for i := 0; i < len(files); i += 2 {
		bundle.Files[files[i]] = []byte(files[i+1])
	}
	results, err := scenario.Run(t.Context(), bundle, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range results {
		line := fmt.Sprintf("%s %d: %s", r.Outcome, r.Row, r.Name)
		if r.Outcome == testrun.Broken {
			line += ": " + r.Message + ". Try: " + r.Try
		}
		if r.Outcome == testrun.Fail {
			_, instead, _ := strings.Cut(r.Differences[0].Text, "\n")
			line += "; " + instead
		}
		lines = append(lines, line)
	}
	return lines
}

func TestWhatIsWrongWithAFileIsToldByItsRow(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"an empty file", "", []string{"error 0: read: the file is empty. Try: docs/test-policy.md, which shows one"}},
		{"a key that is nearly one", cluster + "jobs: [{name: a, qeue: lab}]\nexpect: [{job: a, startsBy: 0s}]", []string{
			"error 5: read: jobs[0].qeue: unknown key. Try: queue",
		}},
		{"what is missing", "nodes: []\njobs: [{at: 1h}]", []string{
			"error 1: read: expect is missing. Try: docs/test-policy.md, which lists every key",
			"error 2: read: jobs[0].name is missing. Try: docs/test-policy.md, which lists every key",
		}},
		{"a moment that is none, and one before the start", cluster + "jobs:\n  - {name: a, at: 1 hour}\n  - {name: b, runs: -2h}\nexpect: [{job: a, startsBy: 0s}]", []string{
			`error 6: read: jobs[0].at: "1 hour" is no duration. Try: 90m, or 26h30m`,
			"error 7: read: jobs[1].runs: -2h is before the start. Try: 2h",
		}},
		{"a Job that is not there", cluster + "jobs: [{name: train, count: 2}]\nexpect:\n  - {job: tarin, startsBy: 0s}\n  - {job: train-3, startsBy: 0s}\n  - {job: train-2, preemptedBy: x}", []string{
			"error 7: read: expect[0].job: there is no Job tarin. Try: train",
			"error 8: read: expect[1].job: there is no Job train-3. Try: train",
			"error 9: read: expect[2].preemptedBy: there is no Job x. Try: one of train",
		}},
		{"an expectation of nothing, and a code without a moment", cluster + "jobs: [{name: a}]\nexpect:\n  - {job: a}\n  - {job: a, code: X, on: fast}", []string{
			"error 7: read: expect[0]: nothing is expected of a. Try: startsBy, startsAfter, endsBy, neverStarts, waitsAt, denied, on, preemptedBy",
			"error 8: read: expect[1]: code says why a Job waits, and not when. Try: waitsAt: 1h beside it",
		}},
		{"two changes in one, a node that is not there, and no change", cluster + "jobs: [{name: a}]\nchanges:\n  - {at: 1h, nodeGone: f, delete: a}\n  - {at: 1h, nodeGone: g}\n  - {at: 1h}\nexpect: [{job: a, on: fast}]", []string{
			"error 7: read: changes[0]: says 2 things that change. Try: one of node, nodeGone, delete, in a row of its own",
			"error 8: read: changes[1]: there is no node g. Try: f",
			"error 9: read: changes[2]: says 0 things that change. Try: one of node, nodeGone, delete, in a row of its own",
		}},
		{"names that are taken, and a namespace that is missing", cluster + "namespaces: {x: {}, y: {}}\njobs:\n  - {name: a-1, namespace: x}\n  - {name: a, count: 2, namespace: z}\n  - {name: b}\nexpect: [{job: b, on: fast}]", []string{
			"error 8: read: jobs[1]: there is a Job a-1 already. Try: another name",
			"error 8: read: jobs[1]: there is no namespace z. Try: x",
			"error 9: read: jobs[2]: namespace is missing, and there are several. Try: namespace: x",
		}},
		{"more than can be played", cluster + "jobs: [{name: a, count: 1000000000}]\nexpect: [{job: a, on: fast}]", []string{
			"error 5: read: jobs[0].count: 1000000000. Try: a number from 1 to 10000",
		}},
		{"no moment to start from", cluster + "starts: Monday\njobs: [{name: a}]\nexpect: [{job: a, on: fast}]", []string{
			`error 5: read: starts: "Monday" is no moment. Try: 2026-01-05T00:00:00Z`,
		}},
		{"less than nothing", "nodes: [{name: f, has: {cpu: -1}}]\njobs: [{name: a}]\nexpect: [{job: a, on: fast}]", []string{
			"error 1: read: nodes[0].has.cpu: -1 is negative. Try: 0 or more",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, played(t, c.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScenariosThatTakeTooLongSayIt(t *testing.T) {
	text := cluster + "jobs: [{name: a, count: 5000, queue: lab, requests: {nvidia.com/gpu: 1}, runs: 1h}]\nexpect: [{job: a-5000, endsBy: 2000h}]"
	bundle := engine.Bundle{Files: map[string][]byte{"data.yaml": []byte(data), "long.scenario.yaml": []byte(text)}}
	results, err := scenario.Run(t.Context(), bundle, scenario.Options{Within: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Outcome != testrun.Broken || results[0].Message != "the scenarios took longer than 300ms together" {
		t.Errorf("%+v", results)
	}
}

func TestACatalogThatBreaksDuringAScenarioIsBlamedForThatMoment(t *testing.T) {
	got := played(t, cluster+`
starts: 2026-01-05T00:00:00Z
jobs: [{name: a, queue: lab, requests: {nvidia.com/gpu: 1}, runs: 1h}]
expect: [{job: a, endsBy: 2h}]
`, "rules.rego", `package holdshort.policy.catalog

default cohorts := {}

# METADATA
# title: A ring, ten minutes later, for two hours
cohorts := {"a": {"parent": "b"}, "b": {"parent": "a"}} if {
	input.now_ns >= 1767571800000000000
	input.now_ns < 1767578400000000000
}
`)
	want := []string{"error 1: play: the catalog at 2026-01-05T01:00:00Z: rules.rego:3: catalog.cohorts: cohorts.a.parent: a → b → a: a cohort cannot be inside of itself. Try: correct what the policy says at that moment"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
