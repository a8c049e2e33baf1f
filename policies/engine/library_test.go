package engine

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
)

const libraryFile = "../../docs/library.md"

func TestLibraryDocumentIsMadeOfItsMetadata(t *testing.T) {
	want := libraryDocument(t)
	if *update {
		if err := os.WriteFile(libraryFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(libraryFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/library.md is stale. Try: go test ./policies/engine -update\n(-rules +document)\n%s", diff)
	}
}

// helper is one rule of the library, as its users see it.
type helper struct{ form, title, description string }

func libraryDocument(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("<!-- Generated from policies/default/lib*.rego by: go test ./policies/engine -update -->\n\n# Library\n\n" +
		"Helpers for your rules, in `data.holdshort.lib`: `import data.holdshort.lib` at the top of the file, then `lib.total(…)`.\n" +
		"They are part of every policy. What one reads of `input`, the rule that calls it must be granted: see the table in\n" +
		"[policy.md](policy.md#what-a-rule-may-read).\n")
	modules := defaultModules(t)
	for _, section := range []struct{ file, title string }{
		{"lib.rego", "Reasons and workloads"}, {"lib_amounts.rego", "Amounts"}, {"lib_time.rego", "Time"},
	} {
		b.WriteString("\n## " + section.title + "\n\n| rule | gives |\n| --- | --- |\n")
		for _, h := range helpers(t, modules[section.file]) {
			fmt.Fprintf(&b, "| `%s` | **%s.** %s |\n", h.form, h.title, h.description)
		}
	}
	return b.String()
}

// helpers lists each rule of a module once, with the metadata of its first part.
func helpers(t *testing.T, module *ast.Module) []helper {
	t.Helper()
	var found []helper
	for _, rule := range module.Rules {
		form := "lib." + rule.Head.Name.String()
		if len(rule.Head.Args) > 0 {
			var arguments []string
			for _, argument := range rule.Head.Args {
				arguments = append(arguments, argumentName(argument))
			}
			form += "(" + strings.Join(arguments, ", ") + ")"
		}
		known := slices.ContainsFunc(found, func(h helper) bool {
			return strings.SplitN(h.form, "(", 2)[0] == strings.SplitN(form, "(", 2)[0]
		})
		if known {
			continue
		}
		if len(rule.Annotations) == 0 || rule.Annotations[0].Title == "" || rule.Annotations[0].Description == "" {
			t.Fatalf("%s: %s has no title and description. Try: a METADATA block above it", rule.Location, form)
		}
		metadata := rule.Annotations[0]
		found = append(found, helper{form, metadata.Title, strings.Join(strings.Fields(metadata.Description), " ")})
	}
	slices.SortStableFunc(found, func(a, b helper) int { return cmp.Compare(a.form, b.form) })
	return found
}

// argumentName is what an argument is called where one part of a rule ignores it.
func argumentName(argument *ast.Term) string {
	if name, ok := argument.Value.(ast.Var); ok && !name.IsWildcard() {
		return string(name)
	}
	return "namespace"
}
