package docs

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/author"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

const starter = "cmd/kubectl-holdshort/internal/policy/starter"

func TestRulesOfTheFirstPolicyAreTheFiles(t *testing.T) {
	guide := read(t, "docs/first-policy.md")
	for _, file := range []string{starter + "/gpus.rego", "docs/examples/first-policy/cost.rego"} {
		if !strings.Contains(guide, "```rego\n"+read(t, file)+"```") {
			t.Errorf("docs/first-policy.md shows another rule than %s. Try: copy the file into the guide", file)
		}
	}
}

// TestFirstPolicyWithItsOwnRuleIsGood is what a reader of the guide ends up with.
func TestFirstPolicyWithItsOwnRuleIsGood(t *testing.T) {
	bundle, err := engine.ReadDir(filepath.Join(root(t), starter))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cost.rego", "cost_test.rego"} {
		bundle.Files[file] = []byte(read(t, "docs/examples/first-policy/"+file))
	}
	verdict, err := author.Check(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	if len(verdict.Problems)+len(verdict.Warnings) > 0 {
		t.Errorf("problems %v\nwarnings %v", verdict.Problems, verdict.Warnings)
	}
	if got := len(verdict.Report.Results); got != 5 {
		t.Errorf("%d tests ran, want the starter's 3 and the guide's 2", got)
	}
}

func TestTestInTheGuidePasses(t *testing.T) {
	_, block, _ := strings.Cut(read(t, "docs/test-policy.md"), "```rego\n")
	text, _, _ := strings.Cut(block, "```")
	bundle, err := engine.ReadDir(filepath.Join(root(t), starter))
	if err != nil {
		t.Fatal(err)
	}
	files := maps.Clone(bundle.Files)
	delete(files, "gpus_test.rego")
	files["guide_test.rego"] = []byte(text)
	report, err := testrun.Run(t.Context(), engine.Bundle{Files: files}, testrun.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(testrun.Pass) != 1 || !report.OK() {
		t.Errorf("the test of docs/test-policy.md: %+v", report.Results)
	}
}
