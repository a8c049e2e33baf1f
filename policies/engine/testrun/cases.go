package testrun

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// split makes a result of each case of a test such as
//
//	test_big[case.name] if { some case in cases; … }
//
// A case that did not hold is missing from the value; that it was tried is in
// the trace.
func (r *runner) split(ctx context.Context, t test, whole Result, value any, trace []*topdown.Event) []Result {
	passed := map[string]bool{}
	addCases(passed, "", value)
	for _, event := range trace {
		if name, ok := caseName(event); ok && !passed[name] {
			passed[name] = false
		}
	}
	if len(passed) == 0 {
		whole.Outcome, whole.Differences = Fail, r.differences(ctx, t)
		return []Result{whole}
	}
	var results []Result
	for _, name := range slices.Sorted(maps.Keys(passed)) {
		result := whole
		result.Name, result.Outcome = whole.Name+"/"+name, Pass
		if !passed[name] {
			result.Outcome, result.Differences = Fail, r.differencesOf(ctx, t, name)
		}
		results = append(results, result)
	}
	return results
}

// addCases flattens {"a": true, "b": {"c": false}}.
func addCases(into map[string]bool, prefix string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		if prefix != "" {
			into[prefix] = value == true
		}
		return
	}
	for name, below := range object {
		addCases(into, strings.TrimPrefix(prefix+"/"+name, "/"), below)
	}
}

// caseName reads the event that OPA's test runner has put at the beginning of
// each case.
func caseName(event *topdown.Event) (string, bool) {
	if event.Op != topdown.TestCaseOp {
		return "", false
	}
	expr, ok := event.Node.(*ast.Expr)
	if !ok {
		return "", false
	}
	path, ok := expr.Operand(0).Value.(*ast.Array)
	if !ok {
		return "", false
	}
	var parts []string
	path.Foreach(func(term *ast.Term) {
		if text, ok := term.Value.(ast.String); ok {
			parts = append(parts, string(text))
		} else {
			parts = append(parts, term.String())
		}
	})
	return strings.Join(parts, "/"), true
}
