package engine

import (
	"context"
	"io/fs"
	"os"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/holdshort/holdshort/policies"
)

// defaultModules are the default rules with their tests, as stock OPA reads them.
func defaultModules(t *testing.T) map[string]*ast.Module {
	t.Helper()
	folder := os.DirFS("..")
	var found []string
	for _, pattern := range []string{"default/*.rego", "tests/*.rego"} {
		names, err := fs.Glob(folder, pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	modules := map[string]*ast.Module{}
	for _, name := range found {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		module, problems := parseModule(name, text, capabilities())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		modules[path.Base(name)] = module
		if formatted, err := format.Source(name, text); err != nil || cmp.Diff(string(formatted), string(text)) != "" {
			t.Errorf("%s is not formatted (%v). Try: opa fmt -w policies/default policies/tests", name, err)
		}
	}
	return modules
}

func TestDefaultRulesPassTheirOwnTests(t *testing.T) {
	modules := defaultModules(t)
	compiler := ast.NewCompiler().WithCapabilities(capabilities()).WithStrict(true)
	runner := tester.NewRunner().SetCompiler(compiler).SetModules(modules).
		SetStore(inmem.New()).RaiseBuiltinErrors(true)
	results, err := runner.RunTests(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for result := range results {
		if !result.Pass() {
			t.Errorf("%s: %s", result.Location, result)
		}
		passed++
	}
	if passed < 15 {
		t.Errorf("only %d Rego tests were found", passed)
	}
}

func TestEveryDefaultRuleHasATitle(t *testing.T) {
	for name, module := range defaultModules(t) {
		if kindOf(name) != kindModule {
			continue
		}
		for _, rule := range module.Rules {
			f, ok := fieldAt(rulePath(rule))
			if ok && !rule.Default && (len(rule.Annotations) == 0 || rule.Annotations[0].Title == "") {
				t.Errorf("%s: a rule of %s has no title", rule.Location, f.path())
			}
		}
	}
}

// What the queue's rule says in Rego, for warnings, and in Go, for admission, is one.
func TestLibraryAcceptsNamespacesAsTheLedgerDoes(t *testing.T) {
	cases := []struct {
		name string
		rule string
		want bool
	}{
		{"no rule takes none", "{}", false},
		{"all", "{all: true}", true},
		{"by name", "{names: [research]}", true},
		{"by another name", "{names: [other]}", false},
		{"by label", "{labels: {team: nlp}}", true},
		{"by two labels of which one differs", "{labels: {team: nlp, tier: gold}}", false},
		{"by an empty selector", "{labels: {}}", false},
		{"by another name or the right label", "{names: [other], labels: {team: nlp}}", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := mustCompile(t, Bundle{Files: config("flavors: {a: {}}", "queues:",
				"  default: {flavors: [a], quota: {}, namespaces: "+c.rule+"}", "classes: {urgent: {priority: 1}}")})
			in := job()
			queue := r.Catalog().Queues["default"]
			if got := queue.Accepts(in.Namespace.Name, in.Namespace.Labels); got != c.want {
				t.Errorf("Go accepts: %v, want %v", got, c.want)
			}
			warnings, err := r.Warn(context.Background(), in)
			if err != nil || (len(warnings) == 0) != c.want {
				t.Errorf("Rego warns %v, %v; accepted: want %v", warnings, err, c.want)
			}
		})
	}
}

func TestStarterIsWhatTheChartShips(t *testing.T) {
	r := mustCompile(t, starter())
	queue := r.Catalog().Queues["default"]
	if got := r.Catalog().ResourceClass(queue, "nvidia.com/gpu"); got != policies.Limited {
		t.Errorf("GPUs are %s in the starter policy, want limited", got)
	}
	if !queue.Accepts("anything", nil) {
		t.Error("the starter queue takes no Jobs")
	}
}

// Stock tools need library and defaults beside the bundle; they must not clash
// with the embedded ones then.
func TestLibraryAndDefaultsMayLieInTheBundle(t *testing.T) {
	b := starter()
	if err := fs.WalkDir(policies.Defaults(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(policies.Defaults(), name)
		b.Files["vendor/"+name] = text
		return err
	}); err != nil {
		t.Fatal(err)
	}
	in := job()
	in.Workload.Labels[policies.LabelPriority] = "urgnt"
	hold, err := mustCompile(t, b).Hold(context.Background(), in)
	if err != nil || len(hold) != 1 {
		t.Errorf("hold = %v, %v; want one reason", hold, err)
	}
}
