package author

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// tryOut asks the rules about made-up Jobs that carry no label but their queue's.
// A rule without a default is good until a Job comes that its author did not
// think of, and that Job is held then.
func tryOut(ctx context.Context, revision *engine.Revision, now time.Time) []engine.Problem {
	var found []engine.Problem
	told := map[string]bool{} // one queue is enough to see it
	for _, s := range Samples(revision.Catalog(), now) {
		for _, failed := range fails(ctx, revision, s.Input) {
			key := failed.At + " " + failed.Entrypoint + " " + failed.Code
			if told[key] {
				continue
			}
			told[key] = true
			found = append(found, tried(failed, s.Input.Workload.Queue))
		}
	}
	return found
}

// fails are the entrypoints that give no answer about a Job.
func fails(ctx context.Context, revision *engine.Revision, in *policies.Input) []*engine.EvalError {
	var found []*engine.EvalError
	note := func(err error) {
		if failed := (*engine.EvalError)(nil); errors.As(err, &failed) {
			found = append(found, failed)
		}
	}
	verdict, err := revision.Classify(ctx, in)
	note(err)
	if err == nil {
		in.Verdict.Priority, in.Verdict.User = verdict.Priority, verdict.User
	}
	for _, ask := range []func(context.Context, *policies.Input) ([]policies.Reason, error){revision.Deny, revision.Warn, revision.Hold} {
		_, err := ask(ctx, in)
		note(err)
	}
	return found
}

func tried(failed *engine.EvalError, queue string) engine.Problem {
	about := fmt.Sprintf("a Job of the queue %s without labels", queue)
	if queue == "" {
		about = "a Job without labels"
	}
	then := "which would be held"
	if failed.Entrypoint == "warn" {
		then = "and nobody would be warned"
	}
	problem := engine.Problem{
		Code: LintFails, Message: fmt.Sprintf("%s fails for %s, %s: %s", failed.Entrypoint, about, then, failed.Message),
		Try: "a test of such a Job, and a rule that can do without what it lacks",
	}
	switch failed.Code {
	case engine.EvalConflict:
		problem.Try = engine.ConflictAdvice
	case engine.EvalUndefined:
		_, name, _ := strings.Cut(failed.Entrypoint, ".")
		value := `""`
		if name == "priority" {
			value = "0"
		}
		problem.Code, problem.Message = LintUndefined, fmt.Sprintf("%s is undefined for %s, which would be held", failed.Entrypoint, about)
		problem.Try = fmt.Sprintf("default %s := %s, or a default for what it is made of", name, value)
	}
	if i := strings.LastIndex(failed.At, ":"); i > 0 {
		problem.File = failed.At[:i]
		problem.Row, _ = strconv.Atoi(failed.At[i+1:])
	}
	return problem
}
