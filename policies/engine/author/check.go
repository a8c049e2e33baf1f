package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdshort/holdshort/policies/engine"
)

// CodeTest is the code of a problem that is a test which does not pass.
const CodeTest = "test_failed"

// Verdict is what the manager would say to a bundle, and what else could be
// better. Without Problems it would put the bundle into force.
type Verdict struct {
	Problems []engine.Problem
	Warnings []engine.Problem
	// Revision is nil if the bundle does not compile.
	Revision *engine.Revision
	Report   *TestReport
}

// Check judges a bundle. An error means that there is no verdict.
func Check(ctx context.Context, bundle engine.Bundle) (*Verdict, error) {
	revision, err := engine.Compile(ctx, bundle, engine.Options{})
	if err != nil {
		return refused(err)
	}
	parts, err := engine.TakeApart(bundle)
	if err != nil {
		return refused(err)
	}
	report, compiled, err := run(ctx, parts, TestOptions{Coverage: true})
	if err != nil {
		return refused(err)
	}
	v := &Verdict{Revision: revision, Report: report, Problems: failures(report)}
	parts.Quote(v.Problems)
	lints := lint(parts, compiled, revision.Catalog(), report.Coverage)
	parts.Quote(lints)
	v.Warnings = append(revision.Warnings(), lints...)
	slices.SortStableFunc(v.Warnings, func(a, b engine.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Code, b.Code))
	})
	return v, nil
}

func refused(err error) (*Verdict, error) {
	var bad *engine.BundleError
	if errors.As(err, &bad) {
		return &Verdict{Problems: bad.Problems}, nil
	}
	return nil, err
}

// failures are the tests that speak against a bundle.
func failures(report *TestReport) []engine.Problem {
	var found []engine.Problem
	for _, r := range report.Results {
		problem := engine.Problem{File: r.File, Row: r.Row, Code: CodeTest, Try: "kubectl holdshort policy test, which shows what differed"}
		switch r.Outcome {
		case Fail:
			problem.Message = fmt.Sprintf("the test %s fails", r.Name)
		case Broken:
			problem.Message, problem.Try = fmt.Sprintf("the test %s gives no answer: %s", r.Name, r.Message), r.Try
		case Pass, Skipped:
			continue
		}
		found = append(found, problem)
	}
	return found
}
