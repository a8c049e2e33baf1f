package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// The manager answers within a second or two; asking the Jobs that there are may
// take some more.
const (
	answerWithin = 20 * time.Second
	answerPoll   = 200 * time.Millisecond
)

func (p Plugin) approve() *cobra.Command {
	return p.decision("approve", "Bring the candidate with this digest into force, though it awaits approval",
		candidateOf, "candidate",
		func(d v1alpha1.Digest) v1alpha1.PolicyRolloutSpec { return v1alpha1.PolicyRolloutSpec{Approve: d} }, activeIs)
}

func (p Plugin) discard() *cobra.Command {
	return p.decision("discard", "Keep the candidate with this digest out, until the source is edited",
		candidateOf, "candidate",
		func(d v1alpha1.Digest) v1alpha1.PolicyRolloutSpec { return v1alpha1.PolicyRolloutSpec{Discard: d} },
		func(s *v1alpha1.PolicyRolloutStatus, digest string) bool {
			return s.Candidate != nil && s.Candidate.Digest == digest && s.Candidate.Verdict == v1alpha1.VerdictDiscarded
		})
}

func (p Plugin) promote() *cobra.Command {
	return p.decision("promote", "Bring the shadow with this digest into force, until the source has the same content",
		func(s *v1alpha1.PolicyRolloutStatus) string {
			if s.Shadow == nil {
				return ""
			}
			return s.Shadow.Digest
		}, "shadow",
		func(d v1alpha1.Digest) v1alpha1.PolicyRolloutSpec { return v1alpha1.PolicyRolloutSpec{Promote: d} }, activeIs)
}

func candidateOf(s *v1alpha1.PolicyRolloutStatus) string {
	if s.Candidate == nil {
		return ""
	}
	return s.Candidate.Digest
}

func activeIs(s *v1alpha1.PolicyRolloutStatus, digest string) bool {
	return s.Active != nil && s.Active.Digest == digest
}

// decision is a command about one revision, by the digest that the person looked
// at: what has changed since then is another revision.
func (p Plugin) decision(verb, short string, is func(*v1alpha1.PolicyRolloutStatus) string, what string,
	ask func(v1alpha1.Digest) v1alpha1.PolicyRolloutSpec, done func(*v1alpha1.PolicyRolloutStatus, string) bool,
) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " DIGEST",
		Short: short,
		Long:  short + fmt.Sprintf(".\n\nThe first %d letters of the digest are enough, if no other revision begins with them.", prefixMin),
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failure.New("kubectl holdshort policy status shows the digest", "%s needs one digest", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return p.ask(c.Context(), func(s *v1alpha1.PolicyRolloutStatus) (v1alpha1.PolicyRolloutSpec, string, error) {
				digest, err := meant(s, args[0], is(s), what)
				return ask(v1alpha1.Digest(digest)), digest, err
			}, done)
		},
	}
}

// prefixMin is how much of a digest a person has to give.
const prefixMin = 12

// meant is the whole digest that a person gave the beginning of: of the revision
// that the command is about, and of no other one that there is.
func meant(s *v1alpha1.PolicyRolloutStatus, given, now, what string) (string, error) {
	const try = "kubectl holdshort policy status"
	switch {
	case now == "" && what == "candidate":
		return "", failure.New(try, "nothing awaits approval, so nothing is done")
	case now == "":
		return "", failure.New(try, "there is no %s, so nothing is done", what)
	case len(given) < prefixMin:
		return "", failure.New(try+" shows it", "%s is too little of a digest; give the first %d letters or more", given, prefixMin)
	case !strings.HasPrefix(now, given):
		return "", failure.New(try, "the %s is %s, not %s; nothing is done", what, alike(now, given), given)
	}
	for _, other := range known(s) {
		if other != now && strings.HasPrefix(other, given) {
			return "", failure.New("the whole digest: "+now, "%s is the beginning of two revisions; nothing is done", given)
		}
	}
	return now, nil
}

// alike is as much of a digest as somebody gave of another one.
func alike(digest, given string) string { return digest[:min(len(digest), max(prefixMin, len(given)))] }

// known are the digests of all revisions in the status.
func known(s *v1alpha1.PolicyRolloutStatus) []string {
	var digests []string
	for _, r := range []*v1alpha1.Revision{s.Active, s.Candidate, s.Previous} {
		if r != nil && r.Digest != "" {
			digests = append(digests, r.Digest)
		}
	}
	if s.Shadow != nil && s.Shadow.Digest != "" {
		digests = append(digests, s.Shadow.Digest)
	}
	return digests
}

func (p Plugin) rollback() *cobra.Command {
	undo := false
	c := &cobra.Command{
		Use:   "rollback",
		Short: "Bring the previous policy into force and pin it",
		Long: `Bring the previous policy into force and pin it.

Edits of the source then await approval, until one is approved or the pin is taken out with --undo.`,
		Args: none,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.ask(c.Context(), func(s *v1alpha1.PolicyRolloutStatus) (v1alpha1.PolicyRolloutSpec, string, error) {
				switch {
				case undo:
					return v1alpha1.PolicyRolloutSpec{}, "", nil
				case s.Previous == nil:
					return v1alpha1.PolicyRolloutSpec{}, "", failure.New("kubectl holdshort policy status", "there is no previous policy")
				}
				return v1alpha1.PolicyRolloutSpec{Pin: v1alpha1.Digest(s.Previous.Digest)}, s.Previous.Digest, nil
			}, activeIs)
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "take out what was asked for: what the source says counts again")
	return c
}

// ask writes what a person wants and waits until it is so. An empty digest:
// there is nothing to wait for.
func (p Plugin) ask(ctx context.Context, want func(*v1alpha1.PolicyRolloutStatus) (v1alpha1.PolicyRolloutSpec, string, error),
	done func(*v1alpha1.PolicyRolloutStatus, string) bool,
) error {
	client, err := p.connect()
	if err != nil {
		return err
	}
	seen, err := client.Rollout(ctx)
	if err != nil {
		return err
	}
	spec, digest, err := want(&seen.Status)
	if err != nil {
		return err
	}
	if err := client.AskRollout(ctx, seen, spec); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if digest == "" {
		return p.undone(ctx, client, seen)
	}
	for {
		if done(&seen.Status, digest) {
			fmt.Fprintln(p.Streams.Out, engine.Short(digest)+" is "+standing(&seen.Status, digest))
			return nil
		}
		select {
		case <-ctx.Done():
			return notYet(seen, digest)
		case <-time.After(answerPoll):
		}
		if now, err := client.Rollout(ctx); err == nil {
			seen = now
		}
	}
}

func standing(s *v1alpha1.PolicyRolloutStatus, digest string) string {
	if activeIs(s, digest) {
		return "in force"
	}
	return "discarded"
}

// undone says what follows from asking for nothing any more: the source counts,
// and what it says may still need somebody's word.
func (p Plugin) undone(ctx context.Context, client *cluster.Client, was *v1alpha1.PolicyRollout) error {
	seen := was
	for asked := meta.FindStatusCondition(was.Status.Conditions, followed); asked != nil; {
		select {
		case <-ctx.Done():
			return failure.New("kubectl holdshort policy status", "nothing is asked for any more, and the manager has not answered yet")
		case <-time.After(answerPoll):
		}
		if now, err := client.Rollout(ctx); err == nil {
			seen = now
			asked = meta.FindStatusCondition(now.Status.Conditions, followed)
		}
	}
	fmt.Fprintln(p.Streams.Out, afterUndo(seen.Status.Candidate))
	return nil
}

// afterUndo is what becomes of what the source says.
func afterUndo(candidate *v1alpha1.Revision) string {
	const counts = "nothing is asked for any more: the source counts, and what it says is "
	if candidate == nil {
		return counts + "in force"
	}
	text := counts + candidate.Verdict
	if candidate.Reason != "" {
		text += ": " + candidate.Reason
	}
	if candidate.Verdict == v1alpha1.VerdictAwaitingApproval {
		text += ". Try: kubectl holdshort policy approve " + engine.Short(candidate.Digest)
	}
	return text
}
