package scenario_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

func TestReadyMadeScenariosHold(t *testing.T) {
	for name, least := range map[string]int{"night-and-weekend": 8, "teams-with-cohorts": 12} {
		t.Run(name, func(t *testing.T) {
			bundle, err := engine.ReadDir("../../policies/bundles/" + name)
			if err != nil {
				t.Fatal(err)
			}
			results, err := scenario.Run(t.Context(), bundle, scenario.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(results) < least {
				t.Errorf("%d results, want at least %d", len(results), least)
			}
			for _, r := range results {
				t.Logf("%s %s:%d %s (%s)", r.Outcome, r.File, r.Row, r.Name, r.Duration)
				if r.Outcome != testrun.Pass {
					t.Errorf("%s:%d: %s: %s %v", r.File, r.Row, r.Name, r.Message, r.Differences)
				}
			}
		})
	}
}

func TestTheScenarioOfTheDocumentIsTheBundles(t *testing.T) {
	document, err := os.ReadFile("../../docs/test-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	played, err := os.ReadFile("../../policies/bundles/night-and-weekend/scenarios/one-night.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(document), "```yaml\n"+string(played)+"```\n") {
		t.Error("docs/test-policy.md shows another scenario than policies/bundles/night-and-weekend has")
	}
}
