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
	t.mutateFails = nil
	if !t.job.Suspended {
		return
	}
	if t.wants != t.raw {
		l.take(t, t.raw, nil) // what another policy wanted
	}
	written := intake.AsWritten(t.raw)
	if !revision.HasMutate() && !l.Shadow.HasMutate() && written == t.raw {
		return
	}
	in, err := l.inputOf(revision, intake.Job(written, l.env(t)).Policy, written)
	if err != nil {
		t.mutateFails = policyError(err)
		return
	}
	var said policies.Mutation
	said, err = revision.Mutate(ctx, in)
	if from := revision.Digest() + " " + revision.SameMutation(in); from != t.mutateFrom {
		t.mutateFrom = from
		l.Shadow.Hear(rollout.Asked{Revision: revision, Entrypoint: "mutate", Input: in, Mutation: said, Err: err})
	}
	if err != nil {
		t.mutateFails = policyError(err)
		return
	}
	if job, changed := intake.Mutate(written, said); job != t.raw {
		l.take(t, job, changed)
	}
}
