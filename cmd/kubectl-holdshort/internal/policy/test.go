package policy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

const formatJUnit = "junit"

// scenariosWithin is how long they may take together, as in the manager.
const scenariosWithin = 30 * time.Second

type testFlags struct {
	format    string
	run       string
	timeout   time.Duration
	coverage  bool
	threshold float64
	watch     bool
	verbose   bool
}

func (p Plugin) test() *cobra.Command {
	var f testFlags
	c := &cobra.Command{
		Use:   "test DIR",
		Short: "Run a policy's tests and scenarios, and say what differed",
		Long: `Run a policy's tests and scenarios, and say what differed.

Tests are the rules named test_… in *_test.rego. Library and defaults are there, and a field that the policy defines
stands in the default's place, as in the manager. Scenarios are scenarios/*.yaml and *.scenario.yaml: machines, Jobs as
they arrive, what changes over hours or days, and what is to come of it, decided as the manager would.`,
		Example: `  kubectl holdshort policy test my-policy
  kubectl holdshort policy test my-policy --run denied --watch
  kubectl holdshort policy test my-policy --coverage --threshold 90 -o junit`,
		Args: oneDir,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(f.format, render.FormatJSON, formatJUnit); err != nil {
				return err
			}
			return p.runTest(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVarP(&f.format, "output", "o", "", "one of: json, junit")
	c.Flags().StringVar(&f.run, "run", "", "only tests whose name, such as data.holdshort.policy_test.test_x or scenarios/night.yaml train starts by 3h, has a match for this regular expression")
	c.Flags().DurationVar(&f.timeout, "timeout", testrun.DefaultTimeout, "how long one test may take")
	c.Flags().BoolVar(&f.coverage, "coverage", false, "say which rows of the rules no test reaches")
	c.Flags().Float64Var(&f.threshold, "threshold", 0, "fail if less than so many percent are covered; implies --coverage")
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "run the tests again at every change, until ^C")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "list the tests that pass, too")
	return c
}

func (f testFlags) options() (testrun.Options, error) {
	o := testrun.Options{Timeout: f.timeout, Coverage: f.coverage || f.threshold > 0}
	if f.timeout <= 0 {
		return o, failure.New("--timeout 5s", "--timeout %s leaves no time", f.timeout)
	}
	if f.threshold < 0 || f.threshold > 100 {
		return o, failure.New("--threshold 80", "--threshold %g is no percentage", f.threshold)
	}
	if f.watch && f.format != render.FormatText {
		return o, failure.New("one of the two", "--watch prints for people, not -o %s", f.format)
	}
	if f.run == "" {
		return o, nil
	}
	filter, err := regexp.Compile(f.run)
	if err != nil {
		return o, failure.New("--run test_x", "--run: %w", err)
	}
	o.Run = filter
	return o, nil
}

func (p Plugin) runTest(ctx context.Context, dir string, f testFlags) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	if f.watch {
		return p.watchTests(ctx, dir, f, options)
	}
	bundle, err := readBundle(dir)
	if err != nil {
		return p.untested(err, dir, f)
	}
	return p.testOnce(ctx, dir, bundle, f, options)
}

func (p Plugin) testOnce(ctx context.Context, dir string, bundle engine.Bundle, f testFlags, options testrun.Options) error {
	// The rules alone first: what is wrong with them is told as check tells it.
	if _, err := engine.Compile(ctx, bundle, engine.Options{}); err != nil {
		return p.untested(err, dir, f)
	}
	tests, err := testrun.Run(ctx, bundle, options)
	if err != nil {
		return p.untested(err, dir, f)
	}
	played, err := scenario.Run(ctx, bundle, scenario.Options{Run: options.Run, Within: scenariosWithin})
	if err != nil {
		return p.untested(err, dir, f)
	}
	tests.Results = append(tests.Results, played...)
	if len(tests.Results) == 0 && f.run != "" {
		return failure.New("--run with a part of a name, or none", "no test of %s matches --run %s", dir, f.run)
	}
	if err := p.printTests(dir, tests, f); err != nil {
		return err
	}
	return testVerdict(dir, tests, f)
}

// untested is refusal in the format that was asked for.
func (p Plugin) untested(err error, dir string, f testFlags) error {
	var bad *engine.BundleError
	if f.format == render.FormatText || !errors.As(err, &bad) {
		return p.refusal(err, dir)
	}
	if f.format == formatJUnit {
		if err := printJUnit(p.Streams.Out, uncompiled(dir, bad)); err != nil {
			return err
		}
	} else if _, err := render.Document(p.Streams.Out, f.format, policyTests{
		Kind: testKind(), Bundle: dir, Tests: []policyTest{}, Problems: problemsOf(bad.Problems),
	}); err != nil {
		return err
	}
	return wouldBeRefused(dir)
}

// testVerdict is what the exit code says.
func testVerdict(dir string, tests *testrun.Report, f testFlags) error {
	if !tests.OK() {
		return failure.New("the rule or the test, whichever is wrong; the manager refuses a policy whose tests fail",
			"%s of %s failed", counted(tests.Count(testrun.Fail)+tests.Count(testrun.Broken), "test"), dir)
	}
	if tests.Coverage != nil && tests.Coverage.Percent < f.threshold {
		return failure.New("tests for the rows above", "%.1f %% is covered, and --threshold wants %g %%", tests.Coverage.Percent, f.threshold)
	}
	return nil
}

// watchInterval is how often files are looked at. It sees every kind of change
// on every kind of file system, which notifications do not.
const watchInterval = 300 * time.Millisecond

// watchTests runs the tests at each change; what fails is printed and watched on.
func (p Plugin) watchTests(ctx context.Context, dir string, f testFlags, options testrun.Options) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	last, first := "", true
	for {
		bundle, err := readBundle(dir)
		seen := bundle.Fingerprint()
		if err != nil {
			seen = err.Error()
		}
		if first || seen != last {
			first, last = false, seen
			fmt.Fprintf(p.Streams.Out, "--- %s\n", p.Now().Format(time.TimeOnly))
			if err == nil {
				err = p.testOnce(ctx, dir, bundle, f, options)
			} else {
				err = p.refusal(err, dir)
			}
			if ctx.Err() != nil {
				return nil
			}
			var failed *failure.Failure
			if err != nil && !errors.As(err, &failed) {
				return err
			}
			failure.Print(p.Streams.ErrOut, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
