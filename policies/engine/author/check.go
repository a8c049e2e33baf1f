package author

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// Verdict is what the manager would say to a bundle, and what else could be
// better. Without Problems it would put the bundle into force.
type Verdict struct {
	Problems []engine.Problem
	Warnings []engine.Problem
	// Revision is nil if the bundle does not compile.
	Revision *engine.Revision
	Report   *testrun.Report
}

// Check judges a bundle. An error means that there is no verdict.
func Check(ctx context.Context, bundle engine.Bundle) (*Verdict, error) {
	return CheckSigned(ctx, bundle, engine.Verification{})
}

// CheckSigned is Check by a manager that believes these keys.
func CheckSigned(ctx context.Context, bundle engine.Bundle, keys engine.Verification) (*Verdict, error) {
	revision, err := engine.Compile(ctx, bundle, engine.Options{Verification: keys})
	if err != nil {
		return refused(err)
	}
	parts, err := engine.TakeApart(bundle)
	if err != nil {
		return refused(err)
	}
	report, compiled, err := testrun.RunParts(ctx, parts, testrun.Options{Coverage: true})
	if err != nil {
		return refused(err)
	}
	v := &Verdict{Revision: revision, Report: report, Problems: report.Failures()}
	parts.Quote(v.Problems)
	lints := append(lint(parts, compiled, revision.Catalog(), report.Coverage), tryOut(ctx, revision, time.Now())...)
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
