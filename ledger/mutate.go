package ledger

import (
	"context"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// mutate reads a Job that waits as the policy's mutate wants it, so that what is
// decided is what will be written. It is asked about what the user wrote: what it
// said before, or another policy did, is not its own to build on. A Job that runs
// stays as it is.
func (l *Loop) mutate(ctx context.Context, revision *engine.Revision, t *tracked) {
	if !t.job.Suspended {
		t.mutated = mutated{}
		return
	}
	if t.wants != t.raw {
		l.take(t, t.raw, nil) // what another policy wanted
	}
	written := intake.AsWritten(t.raw)
	if !revision.HasMutate() && !l.Shadow.HasMutate() && written == t.raw {
		t.mutated = mutated{}
		return
	}
	in, err := l.inputOf(revision, intake.Job(written, l.env(t)).Policy, written)
	if err != nil {
		t.mutated = mutated{err: err}
		return
	}
	if from := l.mutationSource(revision, t, in); from != t.mutated.from {
		said, err := revision.Mutate(ctx, in)
		t.mutated = mutated{from: from, said: said, err: err}
		l.Shadow.Hear(rollout.Asked{Revision: revision, Entrypoint: "mutate", Input: in, Mutation: said, Err: err})
	}
	if t.mutated.err != nil {
		return
	}
	if job, changed := intake.Mutate(written, t.mutated.said); job != t.raw {
		l.take(t, job, changed)
	}
}

// givenByShadow is for the shadow, which judges a Job that waits by what it gives it
// itself.
func (l *Loop) givenByShadow(t *tracked) policies.Given {
	if l.Shadow.Revision() == nil || !t.job.Suspended {
		return nil
	}
	return l.given(t)
}

// mutated is what mutate said of a Job, errors included, and of what it did: it is
// not asked again about the same.
type mutated struct {
	from string
	said policies.Mutation
	err  error
}

// mutationSource identifies everything that mutate reads of a Job. Where that is
// not certain, it is all that there is.
func (l *Loop) mutationSource(revision *engine.Revision, t *tracked, in *policies.Input) string {
	same := revision.SameMutation(in)
	if same == "" {
		same = l.allOf(t) + " " + t.raw.ResourceVersion
	}
	return l.standing.of + " " + same // the shadow wants to hear, too
}
