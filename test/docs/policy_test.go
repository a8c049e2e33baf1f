package docs

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

func TestExamplePolicyHoldsBigJobsByDay(t *testing.T) {
	bundle, err := engine.ReadDir(filepath.Join(root(t), "docs", "examples", "policy"))
	if err != nil {
		t.Fatal(err)
	}
	revision, err := engine.Compile(t.Context(), bundle, engine.Options{})
	if err != nil {
		t.Fatalf("the example policy is refused: %v", err)
	}
	if warnings := revision.Warnings(); len(warnings) > 0 {
		t.Errorf("the example policy is warned of: %v", warnings)
	}
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	reasons, err := revision.Hold(t.Context(), &policies.Input{
		Workload: &policies.Workload{Queue: "research", Total: map[string]int64{"nvidia.com/gpu": 16}},
		Verdict:  &policies.VerdictInput{Queue: "research"},
		NowNS:    noon.UnixNano(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(reasons) != 1 || reasons[0].UntilNS != noon.Add(8*time.Hour).UnixNano() || reasons[0].RuleAt == "" {
		t.Errorf("by day, 16 GPUs: %+v; want one reason until 20:00 with the rule's place", reasons)
	}
}

func TestRuleInTheGuideIsTheExample(t *testing.T) {
	for _, file := range []string{"daytime.rego", "centre.rego"} {
		rule := read(t, "docs/examples/policy/"+file)
		if !strings.Contains(read(t, "docs/policy.md"), "```rego\n"+rule+"```") {
			t.Errorf("docs/policy.md and docs/examples/policy/%s show different rules. Try: copy the file into the guide", file)
		}
	}
}

// TestRulesInTheGuideLoad tries each other block of Rego beside the example data.
func TestRulesInTheGuideLoad(t *testing.T) {
	data := []byte(read(t, "docs/examples/policy/data.yaml"))
	blocks := strings.Split(read(t, "docs/policy.md"), "```rego\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of Rego in docs/policy.md", len(blocks))
	}
	for _, block := range blocks {
		rule, _, _ := strings.Cut(block, "```")
		bundle := engine.Bundle{Source: "guide", Files: map[string][]byte{"data.yaml": data, "rule.rego": []byte(rule)}}
		if _, err := engine.Compile(t.Context(), bundle, engine.Options{}); err != nil {
			t.Errorf("a rule of docs/policy.md is refused: %v\n%s", err, rule)
		}
	}
}

// TestTheFactOfANamespaceReachesAHold has the guide's recipe give a Job its tier,
// and hold it by day for what it was given.
func TestTheFactOfANamespaceReachesAHold(t *testing.T) {
	_, block, found := strings.Cut(read(t, "docs/policy.md"), "`hold` does not see the namespace.")
	_, block, fenced := strings.Cut(block, "```rego\n")
	rule, _, _ := strings.Cut(block, "```")
	if !found || !fenced {
		t.Fatal("the recipe is not in docs/policy.md")
	}
	bundle := engine.Bundle{Source: "guide", Files: map[string][]byte{
		"data.yaml": []byte(read(t, "docs/examples/policy/data.yaml")), "tier.rego": []byte(rule)}}
	revision, err := engine.Compile(t.Context(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	noon, night := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 2, 22, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		labels map[string]string
		at     time.Time
		held   bool
	}{
		"gold by day":   {map[string]string{"tier": "gold"}, noon, false},
		"silver by day": {map[string]string{"tier": "silver"}, noon, true},
		"none by day":   {nil, noon, true},
		"none at night": {nil, night, false},
	} {
		t.Run(name, func(t *testing.T) {
			workload := &policies.Workload{Queue: "research", Labels: map[string]string{"team.example/tier": "gold"}} // as its user would like it
			given, err := revision.Mutate(t.Context(), &policies.Input{Workload: workload, Namespace: &policies.Namespace{Name: "research", Labels: c.labels}})
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(workload.Labels, given.Labels)
			reasons, err := revision.Hold(t.Context(), &policies.Input{Workload: workload,
				Verdict: &policies.VerdictInput{Queue: "research"}, NowNS: c.at.UnixNano()})
			if err != nil || (len(reasons) > 0) != c.held {
				t.Errorf("held by %+v, %v, given %v; want held: %t", reasons, err, given.Labels, c.held)
			}
		})
	}
}

func TestDataInTheGuideLoads(t *testing.T) {
	_, block, _ := strings.Cut(read(t, "docs/policy.md"), "```yaml\n")
	data, _, _ := strings.Cut(block, "```")
	bundle := engine.Bundle{Source: "guide", Files: map[string][]byte{"data.yaml": []byte(data)}}
	if _, err := engine.Compile(t.Context(), bundle, engine.Options{}); err != nil {
		t.Errorf("the data of docs/policy.md is refused: %v\n%s", err, data)
	}
}
