//go:build plane

package chart_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// Of what a Job has too much of, the guards look only at keys that they know.
func TestTheGuardsKnowEveryKeyThatTheLedgerWrites(t *testing.T) {
	expression := variable(t, "touched")
	listed := regexp.MustCompile(`\[([^\]]*)\]\.map\(k, 'holdshort\.dev/' \+ k\)`).FindStringSubmatch(expression)
	if listed == nil {
		t.Fatalf("no list of keys in %s", expression)
	}
	var got []string
	for _, name := range strings.Split(listed[1], ", ") {
		got = append(got, policies.Prefix+strings.Trim(name, "'"))
	}
	users := append(intake.UserLabels(), intake.UserAnnotations()...)
	want := slices.DeleteFunc(declaredKeys(t), func(key string) bool {
		// These two are the users' only where the guards let them.
		return slices.Contains(users, key) && key != policies.LabelQueue && key != policies.AnnotationBypass
	})
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys that policies declares (-) and that the guards know (+):\n%s", diff)
	}
}

func TestIntakeKnowsWhoseEveryKeyIs(t *testing.T) {
	got, want := slices.Concat(intake.UserLabels(), intake.UserAnnotations(), intake.LedgerKeys()), declaredKeys(t)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys that policies declares (-) and that intake knows (+):\n%s", diff)
	}
}

// declaredKeys are the values of policies.LabelX and policies.AnnotationX.
func declaredKeys(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../policies/labels.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if sum, ok := spec.Values[0].(*ast.BinaryExpr); ok {
			keys = append(keys, policies.Prefix+strings.Trim(sum.Y.(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	if len(keys) < 10 {
		t.Fatalf("only %v are declared", keys)
	}
	return keys
}

func TestTheGuardsAndIntakeAgreeOnWhatIsTooMuch(t *testing.T) {
	expression := variable(t, "crowded")
	for _, part := range []string{
		fmt.Sprintf("variables.labels.size() > %d ", intake.KeysMax), fmt.Sprintf("variables.owners.size() > %d ", intake.OwnersMax),
	} {
		if !strings.Contains(expression, part) {
			t.Errorf("no %q in %s", part, expression)
		}
	}
}

// variable of the policy that guards Jobs in a queue.
func variable(t *testing.T, name string) string {
	t.Helper()
	objects := render(t, "holdshort", "ns")
	for _, v := range field(t, objects["ValidatingAdmissionPolicy/holdshort-jobs"], "spec", "variables").([]any) {
		if v := v.(map[string]any); v["name"] == name {
			return v["expression"].(string)
		}
	}
	t.Fatalf("the policy has no variable %s", name)
	return ""
}
