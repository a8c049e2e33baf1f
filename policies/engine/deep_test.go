package engine

import (
	"strings"
	"testing"
)

func TestDeeplyNestedTextIsRefusedAndDoesNotStopTheProcess(t *testing.T) {
	const depth = 120_000
	cases := map[string]map[string][]byte{
		"brackets in Rego":     oneRego("package holdshort.policy\n\nx := " + strings.Repeat("[", depth) + strings.Repeat("]", depth)),
		"parentheses in Rego":  oneRego("package holdshort.policy\n\nx := " + strings.Repeat("(", depth) + "1" + strings.Repeat(")", depth)),
		"lists in YAML":        config("flavors: {}", "queues: {}", "custom: "+strings.Repeat("[", depth)+strings.Repeat("]", depth)),
		"lists in YAML blocks": config("flavors: {}", "queues: {}", "custom:", strings.Repeat("- ", depth)+"x"),
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			bad := refusal(t, Bundle{Files: files}, Options{})
			if text := bad.Error(); len(text) > 2000 || !strings.Contains(text, "depth") {
				t.Errorf("%d bytes of message, want a short one about the depth: %.300s", len(text), text)
			}
		})
	}
}
