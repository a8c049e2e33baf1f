package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// Approval says when a person has to approve a candidate.
type Approval string

// The values of Approval.
const (
	// ApprovalAuto: if it harms more Jobs than the threshold.
	ApprovalAuto Approval = "auto"
	// ApprovalAlways: each one.
	ApprovalAlways Approval = "always"
	// ApprovalNever: one that harms too many is refused for good.
	ApprovalNever Approval = "never"
)

// Gates are what a candidate has to pass before it replaces what is in force.
// One candidate is judged at a time.
type Gates struct {
	// RequireTests refuses a bundle without tests.
	RequireTests bool
	Approval     Approval
	// HarmedPercentMax of the Jobs may be harmed without approval.
	HarmedPercentMax int64
	// Scenarios plays those of a bundle, within a time; nil: they are not looked at.
	Scenarios func(ctx context.Context, bundle engine.Bundle, within time.Duration) ([]testrun.Result, error)
	// Live returns the Jobs that are not over; nil: there is no pre-flight.
	Live func(context.Context) ([]Live, error)

	approved bool   // a person approved this candidate
	held     string // why no candidate comes into force now
	report   report
}

// report is what the gates found out about a candidate.
type report struct {
	tests     *v1alpha1.PolicyTests
	preflight *v1alpha1.Preflight
	reads     []v1alpha1.PolicyReads
}

// List is the gates for engine.Options.
func (g *Gates) List() []engine.Gate { return []engine.Gate{g.test, g.fly, g.ask} }

// begin a candidate.
func (g *Gates) begin(approved bool, held string) {
	g.approved, g.held, g.report = approved, held, report{}
}

// awaiting is a candidate that only a person can let pass.
type awaiting struct{ why string }

func (a awaiting) Error() string { return a.why }

// harmful is a candidate that harms too many Jobs and that nobody can approve.
type harmful struct{ why string }

func (h harmful) Error() string { return h.why }

// unavailable is a gate that could not look; it looks again.
type unavailable struct{ error }

func (u unavailable) Unwrap() error { return u.error }

// testsWithin is how long the tests of a bundle may take together, and so its
// scenarios.
const testsWithin = 30 * time.Second

// test runs the bundle's own tests and scenarios.
func (g *Gates) test(ctx context.Context, _, candidate *engine.Revision) error {
	g.report.reads = readsOf(candidate)
	found, err := testrun.Run(ctx, candidate.Bundle(), testrun.Options{Within: testsWithin})
	if err != nil {
		return err
	}
	if g.Scenarios != nil {
		played, err := g.Scenarios(ctx, candidate.Bundle(), testsWithin)
		if err != nil {
			return err
		}
		found.Results = append(found.Results, played...)
	}
	if len(found.Results) == 0 {
		if g.RequireTests {
			return &engine.BundleError{Problems: []engine.Problem{{Code: testrun.CodeTest, Message: "the bundle has no tests",
				Try: "a file such as policy_test.rego, or --require-policy-tests=false"}}}
		}
		return nil
	}
	failed := found.Failures()
	g.report.tests = &v1alpha1.PolicyTests{Passed: int64(found.Count(testrun.Pass)), Failed: int64(len(failed))}
	if len(failed) > 0 {
		return &engine.BundleError{Problems: failed}
	}
	return nil
}

// fly asks the candidate about the Jobs that there are. Where no policy is in
// force nothing starts, so there is nothing that could get worse.
func (g *Gates) fly(ctx context.Context, old, candidate *engine.Revision) error {
	if g.Live == nil || old == nil {
		return nil
	}
	jobs, err := g.Live(ctx)
	if err != nil {
		return unavailable{fmt.Errorf("looking at the Jobs that there are: %w", err)}
	}
	found, err := preflight(ctx, jobs, old, candidate)
	if errors.As(err, new(slow)) {
		return err
	}
	if err != nil {
		return unavailable{err}
	}
	g.report.preflight = found
	if found.HarmedPercent <= g.HarmedPercentMax || g.approved {
		return nil
	}
	why := fmt.Sprintf("it would harm %d %% of the Jobs that there are, more than %d %%", found.HarmedPercent, g.HarmedPercentMax)
	if g.Approval == ApprovalNever {
		return harmful{why + ". Try: kubectl holdshort policy status shows which; mend the policy"}
	}
	return awaiting{why}
}

// ask for a person where one has to say yes.
func (g *Gates) ask(_ context.Context, old, _ *engine.Revision) error {
	switch {
	case g.approved:
		return nil
	case g.held != "":
		return awaiting{g.held}
	case g.Approval == ApprovalAlways && old != nil:
		return awaiting{"every policy has to be approved here"}
	}
	return nil
}

// because names, in a word for metrics, why a candidate did not pass.
func because(err error) string {
	var bad *engine.BundleError
	var wait awaiting
	var harm harmful
	var later unavailable
	switch {
	case errors.As(err, &wait):
		return "approval"
	case errors.As(err, &harm):
		return "preflight"
	case errors.As(err, &later):
		return "unavailable"
	case errors.As(err, &bad) && len(bad.Problems) > 0 && bad.Problems[0].Code == testrun.CodeTest:
		return "tests"
	case errors.As(err, &bad):
		return "invalid"
	}
	return "unreadable"
}
