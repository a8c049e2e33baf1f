package author

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/test/golden"
)

var update = flag.Bool("update", false, "write what is expected anew")

const doubtful = `package holdshort.policy

import data.holdshort.lib

deny contains lib.reason("team.example/Untitled", "no") if input.workload.total["nvidia.com/gpu"] > 3

# METADATA
# title: No test makes it true
deny contains lib.reason("team.example/Untested", "no") if input.workload.queue == "nobody"

# METADATA
# title: The code is in no test
warn contains {"code": "team.example/Unmentioned", "message": "no"} if input.workload.queue == "research"

# METADATA
# title: Searches
warn contains lib.reason("team.example/Searches", "no") if {
	some name, queue in data.holdshort.config.queues
	name == input.workload.queue
	"a100" in queue.flavors
}

# METADATA
# title: Looks up
warn contains lib.reason("team.example/LooksUp", "no") if {
	name := input.workload.queue
	data.holdshort.config.queues[name].flavors
	some other, _ in data.holdshort.config.queues
	other != name
}
`

const doubtfulData = `holdshort:
  config:
    flavors:
      a100: {nodeLabels: {gpu: a100}}
      h100: {nodeLabels: {gpu: h100}}
      spot: {nodeLabels: {market: spot}}
      tainted: {nodeLabels: {gpu: a100}, taints: [{key: kept, effect: NoSchedule}]}
    queues:
      other: {namespaces: {all: true}, flavors: [spot], quota: {spot: {example.com/fpga: 1, cpu: 4}}}
      research: {namespaces: {all: true}, flavors: [a100, h100], quota: {a100: {nvidia.com/gpu: 4}, h100: {nvidia.com/gpu: 0}}}
`

const doubtfulTests = `package holdshort.policy_test

import data.holdshort.policy

job := {"workload": {"queue": "research", "labels": {}, "total": {"nvidia.com/gpu": 4}}}

test_denied if {some r in policy.deny with input as job; r.code == "team.example/Untitled"}

test_warned if {
	codes := {r.code | some r in policy.warn} with input as job
	{"team.example/Searches", "team.example/LooksUp"} - codes == set()
}
`

func doubtfulBundle() engine.Bundle {
	return engine.Bundle{Files: map[string][]byte{
		"data.yaml": []byte(doubtfulData), "rules.rego": []byte(doubtful), "rules_test.rego": []byte(doubtfulTests),
	}}
}

func TestEachLintFindsWhatItIsFor(t *testing.T) {
	verdict, err := Check(t.Context(), doubtfulBundle())
	if err != nil {
		t.Fatal(err)
	}
	if len(verdict.Problems) > 0 {
		t.Fatalf("refused: %v", verdict.Problems)
	}
	golden.Compare(t, *update, "lints.golden", list(verdict.Warnings))
}

func list(problems []engine.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s\n  %s\n  %s\n", p.Code, p, strings.TrimSpace(p.Line))
	}
	return b.String()
}

func TestClusterLintsCompareWithTheNodes(t *testing.T) {
	verdict, err := Check(t.Context(), doubtfulBundle())
	if err != nil {
		t.Fatal(err)
	}
	nodes := []Node{
		{Labels: map[string]string{"gpu": "a100"}, Resources: []string{"cpu", "nvidia.com/gpu"}},
		{Labels: map[string]string{"market": "spot"}, Resources: []string{"cpu", "memory"}},
	}
	found, err := LintCluster(doubtfulBundle(), verdict.Revision.Catalog(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, *update, "cluster.golden", list(found))
}

func TestAConversionOfWhatNoNodeHasIsFound(t *testing.T) {
	bundle := engine.Bundle{Files: map[string][]byte{"data.yaml": []byte("holdshort:\n  config:\n    flavors: {gpu: {}}\n" +
		"    resources:\n      conversions:\n        nvidia.com/gpu: {slices: 7}\n        nvidia.com/mig-3g.40g: {slices: 3}\n" +
		"    queues: {q: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {slices: 28}}}}\n")}}
	verdict, err := Check(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	found, err := LintCluster(bundle, verdict.Revision.Catalog(), []Node{{Resources: []string{"nvidia.com/gpu", "nvidia.com/mig-3g.40gb"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := "lint_resource\n  data.yaml:7: resources.conversions[\"nvidia.com/mig-3g.40g\"]: no node has this resource. Try: one of nvidia.com/gpu, nvidia.com/mig-3g.40gb\n  nvidia.com/mig-3g.40g: {slices: 3}\n"
	if diff := cmp.Diff(want, list(found)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestAPolicyWithoutRulesHasNothingToLint(t *testing.T) {
	verdict, err := Check(t.Context(), engine.Bundle{Files: map[string][]byte{"data.yaml": []byte(data)}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("", list(append(verdict.Problems, verdict.Warnings...))); diff != "" {
		t.Errorf("data alone is warned of (-want +got)\n%s", diff)
	}
}

func TestCheckRefusesWhatTheManagerRefuses(t *testing.T) {
	cases := map[string]struct {
		rules, tests string
		want         string
	}{
		"a rule that does not compile": {"package holdshort.policy\n\nhold contains x if true\n", "", "rules.rego:3: rego_unsafe_var_error"},
		"a misspelt entrypoint":        {"package holdshort.policy\n\nhodl contains 1 if true\n", "", "rules.rego:3: nothing asks for hodl, so it would do nothing. Try: hold"},
		"a test that fails":            {"package holdshort.policy\n", "package x_test\n\ntest_x if 1 == 2\n", "rules_test.rego:3: the test test_x fails"},
		"a test that does not compile": {"package holdshort.policy\n", "package x_test\n\ntest_x if y\n", "rules_test.rego:3: rego_unsafe_var_error"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			verdict, err := Check(t.Context(), engine.Bundle{Files: map[string][]byte{
				"data.yaml": []byte(data), "rules.rego": []byte(c.rules), "rules_test.rego": []byte("package y_test\n" + strings.TrimPrefix(c.tests, "package x_test\n")),
			}})
			if err != nil {
				t.Fatal(err)
			}
			if got := list(verdict.Problems); !strings.Contains(got, c.want) {
				t.Errorf("problems\n%s\nwant %q", got, c.want)
			}
		})
	}
}

const withoutDefaults = `package holdshort.policy

import data.holdshort.lib

# METADATA
# title: The base and a bonus
classify.priority := lib.class_priority + bonus

bonus := 50 if input.workload.labels.tier == "gold"

# METADATA
# title: Who asks for less than the number on its label
warn contains lib.reason("team.example/Less", "less") if lib.total("cpu") < to_number(lib.label("cpus", "none"))

test_x if true
`

const withoutDefaultsTests = `package holdshort.policy_test

import data.holdshort.policy

job := {"workload": {"labels": {"tier": "gold", "cpus": "5000"}, "total": {"cpu": 1}, "queue": "research", "priorityClassValue": 0}}

test_gold if policy.classify.priority == 50 with input as job

test_less if "team.example/Less" in {r.code | some r in policy.warn} with input as job
`

// Only a Job that its author did not think of shows what a rule lacks.
func TestCheckTriesTheRulesOnJobsWithoutLabels(t *testing.T) {
	verdict, err := Check(t.Context(), engine.Bundle{Files: map[string][]byte{
		"data.yaml": []byte(data), "rules.rego": []byte(withoutDefaults), "rules_test.rego": []byte(withoutDefaultsTests),
	}})
	if err != nil || len(verdict.Problems) > 0 {
		t.Fatal(err, verdict)
	}
	golden.Compare(t, *update, "tried.golden", list(verdict.Warnings))
}

// An autoscaler adds the first machine of an elastic flavor, so that none is there is no
// slip; a resource that is to count devices and that no node has is one.
func TestMachinesToComeAndCountersOfDevicesAreCompared(t *testing.T) {
	bundle := engine.Bundle{Files: map[string][]byte{"data.yaml": []byte("holdshort:\n  config:\n" +
		"    flavors: {gpu: {nodeLabels: {pool: gpu}, elastic: {max: 4, node: {nvidia.com/gpu: 8}}}}\n" +
		"    resources:\n      perDevice:\n        nvidia.com/gpumem: nvidia.com/gpus\n        nvidia.com/gpucores: nvidia.com/gpu\n" +
		"    queues: {q: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 8, nvidia.com/gpumem: 8, nvidia.com/gpucores: 8}}}}\n")}}
	verdict, err := Check(t.Context(), bundle)
	if err != nil || verdict.Revision == nil {
		t.Fatal(err, verdict.Problems)
	}
	found, err := LintCluster(bundle, verdict.Revision.Catalog(), []Node{{Resources: []string{"nvidia.com/gpu"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := list(found); len(found) != 1 || !strings.Contains(got, `resources.perDevice["nvidia.com/gpumem"]: no node has nvidia.com/gpus. Try: one of nvidia.com/gpu`) {
		t.Errorf("it finds\n%s", got)
	}
}
