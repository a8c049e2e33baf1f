package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Limits on the tests of a bundle: one that never ends may cost one activation
// this much, and no more.
const (
	testLimit  = 5 * time.Second
	testsLimit = 30 * time.Second
)

// TestResult is one test of a bundle, as it ended.
type TestResult struct {
	Package string // data.holdshort.policy
	Name    string
	File    string
	Row     int
	// Passed, or Skipped (todo_test_…); neither means that it failed.
	Passed, Skipped bool
	// Message says why it failed.
	Message string
	// Cases that failed, of a test with cases.
	Cases    []string
	Output   string // of print
	Duration time.Duration
}

// At is file:row.
func (r TestResult) At() string { return position(r.File, r.Row) }

// RunTests runs the tests of a bundle as stock `opa test` would, beside the
// defaults and the library and with the engine's own built-ins. Results are
// sorted by place; tests that do not even compile are a *BundleError.
func RunTests(ctx context.Context, bundle Bundle) (results []TestResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			results, err = nil, newBundleError([]Problem{{Code: CodeInternal, Message: fmt.Sprintf("running the tests: panic: %v", r)}})
		}
	}()
	if len(bundle.namesOf(kindTest)) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, testsLimit)
	defer cancel()
	run, err := newTestRun(ctx, bundle)
	if err != nil {
		return nil, err
	}
	for _, rule := range run.tests() {
		results = append(results, run.one(ctx, rule))
	}
	return results, nil
}

// testRun has everything compiled. The rules are evaluated here and not by OPA's
// own runner, whose goroutines would take the whole process along if a built-in
// panicked.
type testRun struct {
	compiler *ast.Compiler
	store    storage.Store
}

func newTestRun(ctx context.Context, bundle Bundle) (*testRun, error) {
	doc, problems := readData(bundle)
	mods, found := readModules(bundle, capabilities())
	problems = append(problems, found...)
	for _, name := range bundle.namesOf(kindTest) {
		if !strings.HasSuffix(name, ".rego") {
			continue // data beside the tests is nobody's
		}
		module, found := parseModule(name, bundle.Files[name], capabilities())
		problems = append(problems, found...)
		if module != nil {
			mods.byFile[name] = module
		}
	}
	if len(problems) > 0 {
		quoteLines(problems, bundle.Files)
		return nil, newBundleError(problems)
	}
	data, err := ast.InterfaceToValue(doc.root)
	if err != nil {
		return nil, fmt.Errorf("storing the data: %w", err)
	}
	run := &testRun{store: inmem.NewFromASTObject(data.(ast.Object)),
		compiler: ast.NewCompiler().WithCapabilities(capabilities()).WithEnablePrintStatements(true)}
	run.compiler.SetErrorLimit(0)
	// It compiles with the stages that tests need, and the filter leaves no test
	// for it to run.
	nothing, err := tester.NewRunner().SetCompiler(run.compiler).SetStore(run.store).SetModules(mods.byFile).
		Filter("^$").RunTests(ctx, nil)
	if err != nil {
		problems := unlocated(fromOPA("", err))
		quoteLines(problems, bundle.Files)
		return nil, newBundleError(problems)
	}
	for range nothing {
		continue // until it is closed
	}
	return run, nil
}

// tests are the rules that are tests, by place.
func (t *testRun) tests() []*ast.Rule {
	var tests []*ast.Rule
	for _, name := range slices.Sorted(maps.Keys(t.compiler.Modules)) {
		for _, rule := range t.compiler.Modules[name].Rules {
			if ref, _ := testRef(rule); ref != nil {
				tests = append(tests, rule)
			}
		}
	}
	slices.SortStableFunc(tests, func(a, b *ast.Rule) int {
		return cmp.Or(cmp.Compare(a.Location.File, b.Location.File), cmp.Compare(a.Location.Row, b.Location.Row))
	})
	return tests
}

// testRef is a rule's reference up to the part that makes it a test; nil if it
// is none.
func testRef(rule *ast.Rule) (ref ast.Ref, skip bool) {
	for _, term := range rule.Head.Ref().GroundPrefix() {
		ref = ref.Append(term)
		name := strings.Trim(term.String(), `"`)
		if skip = strings.HasPrefix(name, tester.SkipTestPrefix); skip || strings.HasPrefix(name, tester.TestPrefix) {
			return ref, skip
		}
	}
	return nil, false
}

func (t *testRun) one(ctx context.Context, rule *ast.Rule) (result TestResult) {
	ref, skip := testRef(rule)
	result = TestResult{Package: rule.Module.Package.Path.String(), Name: ref.String(),
		File: rule.Location.File, Row: rule.Location.Row, Skipped: skip}
	if skip {
		return result
	}
	started := time.Now()
	defer func() {
		if r := recover(); r != nil {
			result.Message = fmt.Sprintf("panic: %v", r)
		}
		result.Duration = time.Since(started)
	}()
	limited, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	var printed bytes.Buffer
	cases := tester.NewTestQueryTracer()
	query, err := rego.New(rego.Compiler(t.compiler), rego.Store(t.store), rego.StrictBuiltinErrors(true), rego.PrintHook(topdown.NewPrintHook(&printed)),
		rego.Query(rule.Module.Package.Path.Extend(ref).String())).PrepareForEval(limited)
	if err != nil {
		result.Message = oneLine(err.Error())
		return result
	}
	set, err := query.Eval(limited, rego.EvalQueryTracer(cases))
	result.Output = shorten(printed.String(), mostMessage)
	switch {
	case limited.Err() != nil:
		result.Message = fmt.Sprintf("stopped: a test may take %s, all of them %s", testLimit, testsLimit)
	case err != nil:
		result.Message = oneLine(err.Error())
	case len(set) == 0:
		result.Message = "nothing is true"
	default:
		result.judge(set[0].Expressions[0].Value, cases.Events())
	}
	return result
}

// judge a test by its value: true, or an object of cases that are all true. A
// case that was begun and is not in the object failed on the way.
func (r *TestResult) judge(value any, begun []*topdown.Event) {
	ended, isCases := value.(map[string]any)
	if !isCases {
		if r.Passed = value == true; !r.Passed {
			r.Message = "it is not true"
		}
		return
	}
	failed := map[string]bool{}
	for name, value := range ended {
		if !allTrue(value) {
			failed[name] = true
		}
	}
	for _, event := range begun {
		if name := caseName(event); name != "" && ended[name] == nil {
			failed[name] = true
		}
	}
	r.Cases = slices.Sorted(maps.Keys(failed))
	if r.Passed = len(r.Cases) == 0; !r.Passed {
		r.Message = "cases failed: " + shorten(strings.Join(r.Cases, ", "), mostMessage)
	}
}

func allTrue(value any) bool {
	nested, ok := value.(map[string]any)
	if !ok {
		return value == true
	}
	for _, inner := range nested {
		if !allTrue(inner) {
			return false
		}
	}
	return true
}

// caseName is the first name of a case of a test, from the call that OPA puts
// where the case begins.
func caseName(event *topdown.Event) string {
	expr, ok := event.Node.(*ast.Expr)
	if !ok {
		return ""
	}
	names, ok := expr.Operand(0).Value.(*ast.Array)
	if !ok || names.Len() == 0 {
		return ""
	}
	return keyText(names.Elem(0))
}
