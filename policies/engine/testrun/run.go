package testrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/holdshort/holdshort/policies/engine"
)

// DefaultTimeout of one test.
const DefaultTimeout = 5 * time.Second

// Options say which tests to run, and how.
type Options struct {
	// Run is matched against names such as data.holdshort.policy_test.test_x;
	// nil runs all.
	Run *regexp.Regexp
	// Timeout of one test; DefaultTimeout if it is 0.
	Timeout time.Duration
	// Within is how long all of them may take together; 0: as long as it takes.
	Within time.Duration
	// Coverage says to count which rows of the rules the tests reach.
	Coverage bool
}

// Run runs the tests of a bundle. What is wrong with the bundle itself is an
// *engine.BundleError; tests that fail are no error.
func Run(ctx context.Context, bundle engine.Bundle, o Options) (*Report, error) {
	parts, err := engine.TakeApart(bundle)
	if err != nil {
		return nil, err
	}
	report, _, err := RunParts(ctx, parts, o)
	return report, err
}

// RunParts is Run of a bundle that was taken apart. It also gives what it
// compiled: rules, defaults and tests.
func RunParts(ctx context.Context, parts *engine.Parts, o Options) (*Report, *ast.Compiler, error) {
	r, err := newRunner(ctx, parts, o)
	if err != nil {
		return nil, nil, err
	}
	limited := ctx
	if o.Within > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, o.Within, allTooLong(o.Within))
		defer cancel()
	}
	report := &Report{}
	for _, file := range slices.Sorted(maps.Keys(parts.Tests)) {
		for _, rule := range r.compiler.Modules[file].Rules {
			if err := ctx.Err(); err != nil {
				return nil, nil, fmt.Errorf("testing the policy: %w", err)
			}
			t, ok := testOf(rule)
			if ok && (o.Run == nil || o.Run.MatchString(t.ref)) && !r.stuck {
				report.Results = append(report.Results, r.run(limited, t)...)
			}
		}
	}
	if o.Coverage && !r.stuck {
		report.Coverage = r.reached.coverage(parts)
	}
	return report, r.compiler, nil
}

// allTooLong ends the run of tests that take too long together.
type allTooLong time.Duration

func (a allTooLong) Error() string {
	return fmt.Sprintf("the tests took longer than %s together and were stopped", time.Duration(a))
}

type runner struct {
	parts    *engine.Parts
	compiler *ast.Compiler
	store    storage.Store
	timeout  time.Duration
	reached  *reached // nil: not counted
	stuck    bool     // a test still runs, and may write into what it was given
}

// newRunner compiles rules and tests. OPA's own runner does it, since it makes
// the cases of a test visible, but it runs none of them: its goroutines would
// take the process along if a built-in panicked.
func newRunner(ctx context.Context, parts *engine.Parts, o Options) (r *runner, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			r, err = nil, parts.Refuse([]engine.Problem{{Code: engine.CodeInternal, Message: fmt.Sprintf("compiling the tests: panic: %v", caught)}})
		}
	}()
	compiler := ast.NewCompiler().WithCapabilities(engine.Capabilities()).WithEnablePrintStatements(true)
	compiler.SetErrorLimit(0)
	nothing := ast.MustParseRef("data.holdshort.no.such.test")
	_, err = tester.NewRunner().SetCompiler(compiler).SetModules(parts.All()).SetPrefixMatchers(nothing).RunTests(ctx, nil)
	if err != nil {
		return nil, parts.Refuse(engine.FromOPA("", err))
	}
	data, err := ast.InterfaceToValue(parts.Data)
	if err != nil {
		return nil, fmt.Errorf("storing the data: %w", err)
	}
	object, ok := data.(ast.Object)
	if !ok {
		return nil, errors.New("storing the data: it is no object")
	}
	r = &runner{parts: parts, compiler: compiler, store: inmem.NewFromASTObject(object), timeout: o.Timeout}
	if r.timeout <= 0 {
		r.timeout = DefaultTimeout
	}
	if o.Coverage {
		r.reached = newReached()
	}
	return r, nil
}

// test is a rule that is a test.
type test struct {
	rule      *ast.Rule
	pkg, name string
	ref       string // what to ask for
	skip      bool
	hasCases  bool
}

// IsTest says whether a rule of this name would be a test in a file of tests.
func IsTest(name string) bool {
	return strings.HasPrefix(name, tester.TestPrefix) || strings.HasPrefix(name, tester.SkipTestPrefix)
}

func testOf(rule *ast.Rule) (test, bool) {
	ref := rule.Head.Ref().GroundPrefix()
	for i, term := range ref {
		name := strings.Trim(term.String(), `"`)
		if !IsTest(name) {
			continue
		}
		skip := strings.HasPrefix(name, tester.SkipTestPrefix)
		pkg := rule.Module.Package.Path
		return test{
			rule: rule, pkg: pkg.String(), name: ref[:i+1].String(), ref: pkg.Extend(ref[:i+1]).String(),
			skip: skip, hasCases: rule.Head.DocKind() == ast.PartialObjectDoc,
		}, true
	}
	return test{}, false
}

func (r *runner) run(ctx context.Context, t test) []Result {
	result := Result{Package: t.pkg, Name: t.name, File: t.rule.Location.File, Row: t.rule.Location.Row, Outcome: Skipped}
	if t.skip {
		return []Result{result}
	}
	var output bytes.Buffer
	var cases *tester.TestQueryTracer
	var tracers []topdown.QueryTracer
	if t.hasCases {
		cases = tester.NewTestQueryTracer()
		tracers = append(tracers, cases)
	}
	if r.reached != nil {
		tracers = append(tracers, r.reached)
	}
	begun := time.Now()
	value, err := r.eval(ctx, t, &output, tracers)
	result.Duration = time.Since(begun)
	if !r.stuck {
		result.Output = strings.TrimSpace(output.String())
	}
	switch {
	case err != nil:
		result.Outcome = Broken
		result.Message, result.Try = r.explain(ctx, err)
	case t.hasCases:
		return r.split(ctx, t, result, value, cases.Events())
	case value == true:
		result.Outcome = Pass
	default:
		result.Outcome, result.Differences = Fail, r.differences(ctx, t)
	}
	return []Result{result}
}

// eval is the value of a test; nil if it is undefined.
func (r *runner) eval(ctx context.Context, t test, output *bytes.Buffer, tracers []topdown.QueryTracer, more ...rego.EvalOption) (any, error) {
	var said struct {
		value any
		err   error
	}
	err := engine.Bounded(ctx, r.timeout, func(cancel topdown.Cancel) {
		said.value, said.err = r.ask(ctx, t, output, tracers, append(more, rego.EvalExternalCancel(cancel)))
	})
	if r.stuck = r.stuck || errors.As(err, new(engine.StuckError)); err != nil {
		return nil, err
	}
	return said.value, said.err
}

func (r *runner) ask(ctx context.Context, t test, output *bytes.Buffer, tracers []topdown.QueryTracer, more []rego.EvalOption) (value any, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			value, err = nil, fmt.Errorf("panic: %v", caught)
		}
	}()
	query, err := rego.New(rego.Store(r.store), rego.Compiler(r.compiler), rego.Query(t.ref),
		rego.StrictBuiltinErrors(true), rego.PrintHook(topdown.NewPrintHook(output))).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	for _, tracer := range tracers {
		more = append(more, rego.EvalQueryTracer(tracer))
	}
	set, err := query.Eval(ctx, more...)
	if err != nil || len(set) == 0 {
		return nil, err
	}
	return set[0].Expressions[0].Value, nil
}

// explain says why a test gave no answer.
func (r *runner) explain(ctx context.Context, err error) (message, try string) {
	if errors.As(err, new(engine.MemoryError)) {
		return err.Error(), "smaller values in the test, or a rule that counts or looks up instead of collecting"
	}
	if errors.As(err, new(engine.StuckError)) {
		return fmt.Sprintf("took longer than %s and %v; the tests after it are not run", r.timeout, err), "smaller numbers in the test"
	}
	if topdown.IsCancel(err) || errors.Is(err, context.DeadlineExceeded) {
		var all allTooLong
		if errors.As(context.Cause(ctx), &all) {
			return all.Error(), "fewer or smaller tests"
		}
		if ctx.Err() != nil {
			return "it was interrupted", "the same once more"
		}
		return fmt.Sprintf("took longer than %s and was stopped", r.timeout),
			"smaller numbers in the test, or a lookup by key instead of a search in the rule"
	}
	if strings.HasPrefix(err.Error(), "panic: ") {
		return err.Error(), "an issue at holdshort's repository; the policy is not to blame"
	}
	var failed *topdown.Error
	if errors.As(err, &failed) && failed.Code == topdown.ConflictErr {
		return engine.FromOPA("", asOPA(err))[0].String(), engine.ConflictAdvice
	}
	return engine.FromOPA("", asOPA(err))[0].String(), "a test for what makes it fail: an error holds the Job"
}

// asOPA gives an error of an evaluation the form of one of the compiler, which
// has a place.
func asOPA(err error) error {
	var failed *topdown.Error
	if !errors.As(err, &failed) {
		return err
	}
	return &ast.Error{Code: failed.Code, Message: failed.Message, Location: failed.Location}
}
