package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

func TestTheTextsOfAReasonAreSafeToShow(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	r := mustCompile(t, withRego("package holdshort.policy\n\ndeny contains {\"code\": \"a.example/B\\u001b\", \"message\": concat(\"\", [\"\\u001b[31mred\\n\\u202eabc\\u0000 Größe 日本\"]), \"docs\": \""+long+"\"}\n"))
	reasons, err := r.Deny(t.Context(), &policies.Input{Workload: &policies.Workload{Name: "x"}, Namespace: &policies.Namespace{}})
	if err != nil || len(reasons) != 1 {
		t.Fatalf("got %v and %v, want one reason", reasons, err)
	}
	reasons[0].RuleAt = ""
	want := policies.Reason{Code: `a.example/B\x1b`, Message: `\x1b[31mred\n\u202eabc\x00 Größe 日本`, Docs: strings.Repeat("ä", mostReason/2) + "…"}
	if diff := cmp.Diff(want, reasons[0]); diff != "" {
		t.Errorf("reason (-want +got)\n%s", diff)
	}
}
