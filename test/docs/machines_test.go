package docs

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// Each page about a kind of accelerator, and the one about placement, has a policy, rules beside it or none, and a
// scenario that says what comes of them.
func TestThePolicyOfEachAcceleratorDoesWhatItsPageSays(t *testing.T) {
	pages := 0
	for _, file := range documents(t) {
		if path.Dir(file) != "docs/machines" && file != "docs/placement.md" {
			continue
		}
		pages++
		t.Run(path.Base(file), func(t *testing.T) { playPage(t, read(t, file)) })
	}
	if pages < 9 {
		t.Errorf("%d pages about accelerators were found", pages)
	}
}

func playPage(t *testing.T, text string) {
	t.Helper()
	data, played := fenced(text, "yaml"), fenced(text, "rego")
	if len(data) < 2 {
		t.Fatalf("%d blocks of YAML, want a policy and scenarios", len(data))
	}
	bundle := engine.Bundle{Source: "page", Files: map[string][]byte{"data.yaml": []byte(data[0])}}
	for i, played := range data[1:] {
		bundle.Files[fmt.Sprintf("scenarios/page-%d.yaml", i+1)] = []byte(played)
	}
	for _, rules := range played {
		bundle.Files["rules.rego"] = []byte(rules)
	}
	results, err := scenario.Run(t.Context(), bundle, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		t.Error("nothing is expected")
	}
	for _, r := range results {
		if r.Outcome != testrun.Pass {
			t.Errorf("%s: %s\n%+v", r.Name, r.Outcome, r)
		}
	}
}

// fenced is what stands in the code blocks of one language.
func fenced(text, language string) []string {
	var blocks []string
	for _, part := range strings.Split(text, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}
