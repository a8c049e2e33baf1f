package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// Options say which scenarios to play, and how.
type Options struct {
	// Run is matched against names such as scenarios/night.yaml late starts by 3h;
	// nil plays all.
	Run *regexp.Regexp
	// Within is how long all of them may take together; 0: as long as it takes.
	Within time.Duration
}

// deadline of one evaluation: a busy machine must not decide how a scenario ends.
const deadline = 5 * time.Second

// tooLong is the cause of giving up.
type tooLong time.Duration

func (t tooLong) Error() string {
	return fmt.Sprintf("the scenarios took longer than %s together", time.Duration(t))
}

// Run plays the scenarios of a bundle: a result for each expectation, or for each
// thing that is wrong with a file. What is wrong with the bundle itself is an
// *engine.BundleError.
func Run(ctx context.Context, bundle engine.Bundle, o Options) ([]testrun.Result, error) {
	files := bundle.Scenarios()
	if len(files) == 0 {
		return nil, nil
	}
	limited := ctx
	if o.Within > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, o.Within, tooLong(o.Within))
		defer cancel()
	}
	// One of its own: its catalog is evaluated for other moments than now.
	revision, err := engine.Compile(limited, bundle, engine.Options{Deadline: deadline})
	if err != nil {
		return nil, err
	}
	var results []testrun.Result
	for _, name := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue // a README beside them
		}
		s, problems := read(name, bundle.Files[name])
		if len(problems) > 0 {
			results = append(results, unread(name, problems)...)
			continue
		}
		results = append(results, s.play(limited, revision, name, o.Run)...)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("playing %s: %w", name, err)
		}
	}
	return results, nil
}

// class is what the results of a file have in common.
func class(name string) string {
	return "scenario." + strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".yaml"), ".scenario")
}

func unread(name string, problems []engine.Problem) []testrun.Result {
	slices.SortStableFunc(problems, func(a, b engine.Problem) int { return cmp.Compare(a.Row, b.Row) })
	var all []testrun.Result
	for _, p := range problems {
		if message, try, found := strings.Cut(p.Message, ". Try: "); found {
			p.Message, p.Try = message, try
		}
		if p.Try == "" {
			p.Try = "docs/test-policy.md, which lists every key"
		}
		all = append(all, testrun.Result{
			Package: class(name), Name: "read", File: name, Row: p.Row, Outcome: testrun.Broken, Message: p.Message, Try: p.Try,
		})
	}
	return all
}

// play lets a script happen and holds its expectations against what came of it.
func (s *script) play(ctx context.Context, revision *engine.Revision, name string, only *regexp.Regexp) []testrun.Result {
	var wanted []expectation
	for i := range s.Expect {
		for _, e := range s.expectations(i) {
			if only == nil || only.MatchString(name+" "+e.text) {
				wanted = append(wanted, e)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	began := time.Now()
	story, err := s.happen(ctx, revision)
	took := time.Since(began) / time.Duration(len(wanted))
	if err != nil {
		message, try := err.Error(), "correct what the policy says at that moment"
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
			message, try = cause.Error(), "fewer Jobs, or an earlier until"
		} else if before, after, found := strings.Cut(message, ". Try: "); found {
			message, try = before, after
		}
		return []testrun.Result{{Package: class(name), Name: "play", File: name, Row: 1, Outcome: testrun.Broken, Message: message, Try: try, Duration: took}}
	}
	var results []testrun.Result
	for _, e := range wanted {
		r := testrun.Result{Package: class(name), Name: e.text, File: name, Row: e.row, Outcome: testrun.Pass, Duration: took}
		if instead := e.holds(story); instead != "" {
			r.Outcome = testrun.Fail
			r.Differences = []testrun.Difference{{File: name, Row: e.row, Text: e.text + "\n" + instead}}
		}
		results = append(results, r)
	}
	return results
}

// happen runs the world of a script.
func (s *script) happen(ctx context.Context, revision *engine.Revision) (*story, error) {
	r := &rules{ctx: ctx, revision: revision, script: s, jobs: map[string]*asked{}}
	if _, err := revision.EvaluateCatalog(ctx, time.Unix(0, s.starts), nil); err != nil {
		return nil, fmt.Errorf("the catalog at %s: %w", time.Unix(0, s.starts).UTC().Format(time.RFC3339), err)
	}
	w := sim.World{
		Changes: s.world(), Catalog: revision.Catalog(), Namespaces: s.labels(), Until: s.until, Hints: true,
		Go: func() error { return ctx.Err() }, Autoscaler: s.autoscaler(),
	}
	for i := range s.Jobs {
		spec := &s.Jobs[i]
		for _, name := range s.named[spec.Name] {
			job, err := r.take(spec, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			w.Changes = append(w.Changes, sim.Change{At: s.moment(spec.At), Arrive: job})
		}
	}
	w.Rules = r.hooks()
	log, err := sim.Run(w)
	if err != nil {
		return nil, err
	}
	if r.failed != nil {
		return nil, r.failed
	}
	return tell(s, log), nil
}

// labels of the namespaces that there are.
func (s *script) labels() map[string]map[string]string {
	if len(s.Namespaces) > 0 {
		return s.Namespaces
	}
	all := map[string]map[string]string{}
	for _, j := range s.Jobs {
		all[j.Namespace] = map[string]string{}
	}
	return all
}
