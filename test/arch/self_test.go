package arch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests below hold the checks themselves to what they say.

func TestAllowed(t *testing.T) {
	tests := map[string]struct {
		from, imported string
		want           bool
	}{
		"decide reads the book":                          {"ledger/decide", module + "/ledger/book", true},
		"decide never asks OPA itself":                   {"ledger/decide", "github.com/open-policy-agent/opa/v1/rego", false},
		"decide knows no engine":                         {"ledger/decide", module + "/policies/engine", false},
		"the loop drives everything below it":            {"ledger", module + "/ledger/apply", true},
		"the loop does not know the webhook":             {"ledger", module + "/webhook", false},
		"the webhook does not know the book":             {"webhook", module + "/ledger/book", false},
		"parts of the plugin import each other":          {"cmd/kubectl-holdshort/internal/render", module + "/cmd/kubectl-holdshort/internal/report", true},
		"the plugin does not know the loop":              {"cmd/kubectl-holdshort/internal/report", module + "/ledger", false},
		"a prefix ends at a slash":                       {"ledger/intake", "k8s.io/apiserver/pkg/admission", false},
		"the contract takes quantities from Kubernetes":  {"policies", "k8s.io/apimachinery/pkg/api/resource", true},
		"the contract takes nothing else from it":        {"policies", "k8s.io/apimachinery/pkg/apis/meta/v1", false},
		"tests may import anything":                      {"test/stories", module + "/ledger", true},
		"certificates have a row of their own, not ours": {"webhook/certs", module + "/ledger/intake", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			row, ok := rowOf(Table(), module+"/"+test.from)
			if !ok {
				t.Fatalf("%s has no row", test.from)
			}
			if got := allowed(row, test.imported); got != test.want {
				t.Errorf("%s imports %s: allowed %t, want %t", test.from, test.imported, got, test.want)
			}
		})
	}
}

func TestOutside(t *testing.T) {
	tests := map[string]struct {
		line string
		want bool
	}{
		"a home folder is somebody's":              {"see /hom" + "e/ann/notes", true},
		"so is root's":                             {"cd /roo" + "t/holdshort", true},
		"a path in an address is not":              {"https://example.org/wor" + "k/x", false},
		"a longer word is not":                     {"/workload/x and /rooted/x", false},
		"a path below the project is not":          {"test/wor" + "k/x", false},
		"what lies beside the project is not ours": {"../share" + "d/x.md", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := outside().MatchString(test.line); got != test.want {
				t.Errorf("%q: %t, want %t", test.line, got, test.want)
			}
		})
	}
}

func TestImpurities(t *testing.T) {
	const text = `package p

import (
	"log"
	"time"
)

func f() time.Duration { log.Print(); return time.Since(time.Unix(0, 0)) }
`
	want := []string{"p.go imports log", "p.go:8:46: time.Since"}
	if diff := cmp.Diff(want, impurities(t, "p.go", []byte(text))); diff != "" {
		t.Errorf("impurities (-want +got):\n%s", diff)
	}
}
