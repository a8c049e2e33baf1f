package policy

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// followed is the condition that answers what people ask for.
const followed = "SpecFollowed"

func (p Plugin) status() *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:   "status",
		Short: "Say which policy is in force, what waits, and where the shadow differs",
		Args:  none,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFormat(format, render.FormatJSON, render.FormatYAML); err != nil {
				return err
			}
			client, err := p.connect()
			if err != nil {
				return err
			}
			rollout, err := client.Rollout(c.Context())
			if err != nil {
				return err
			}
			if format != render.FormatText {
				rollout.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PolicyRollout"))
				rollout.ManagedFields = nil
				_, err := render.Document(p.Streams.Out, format, rollout)
				return err
			}
			printer{p.Streams.Out, p.Now()}.rollout(rollout)
			return nil
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "", "json or yaml: the object as it is, with what the rules read")
	return c
}

func (p Plugin) connect() (*cluster.Client, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	return cluster.New(config)
}

// printer writes a rollout for people.
type printer struct {
	out io.Writer
	now time.Time
}

func (p printer) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

func (p printer) rollout(r *v1alpha1.PolicyRollout) {
	status := &r.Status
	if status.Active == nil {
		p.line("in force   nothing, so no Job starts")
	} else {
		p.revision("in force", status.Active)
	}
	if c := status.Candidate; c != nil && c.Verdict == v1alpha1.VerdictUnavailable {
		p.source(c)
	} else if c != nil {
		p.revision("candidate", c)
		if c.Verdict == v1alpha1.VerdictAwaitingApproval {
			p.line("           Try: kubectl holdshort policy approve %s, or discard %s", engine.Short(c.Digest), engine.Short(c.Digest))
		}
	}
	if status.Previous != nil {
		before := *status.Previous
		before.Preflight = nil // of the Jobs that there were when it came into force
		p.revision("previous", &before)
	}
	if status.Shadow != nil {
		p.shadow(status.Shadow, status.Active)
	}
	if asked := meta.FindStatusCondition(status.Conditions, followed); asked != nil {
		p.line("asked      %s", asked.Message)
	}
}

// source says that nothing is known of what it has.
func (p printer) source(c *v1alpha1.Revision) {
	p.line("source     unavailable for %s: %s; %s", duration.HumanDuration(p.now.Sub(c.Time.Time)), c.Source, c.Reason)
	for _, problem := range c.Errors {
		p.line("           error: %s", problem.Message)
	}
}

func (p printer) revision(as string, r *v1alpha1.Revision) {
	p.line("%-10s %s  %s, %s ago, from %s", as, engine.Short(r.Digest), r.Verdict, duration.HumanDuration(p.now.Sub(r.Time.Time)), r.Source)
	if r.Reason != "" {
		p.line("           %s", r.Reason)
	}
	for _, problem := range r.Errors {
		p.problem("error", problem)
	}
	for _, problem := range r.Warnings {
		p.problem("warning", problem)
	}
	if t := r.Tests; t != nil {
		p.line("           tests: %d passed, %d failed", t.Passed, t.Failed)
	}
	if f := r.Preflight; f != nil {
		p.line("           tried on %s: %d %% would be harmed", counted(int(f.Jobs), "Job"), f.HarmedPercent)
		for _, change := range f.Changes {
			p.line("             %s: %d", change.Kind, change.Count)
			for _, example := range change.Examples {
				p.line("               %s", example)
			}
		}
	}
}

func (p printer) problem(kind string, found v1alpha1.PolicyProblem) {
	text := fmt.Sprintf("%s: %s: %s", kind, found.At, found.Message)
	if found.Try != "" {
		text += ". Try: " + found.Try
	}
	p.line("           %s", text)
}

func (p printer) shadow(s *v1alpha1.ShadowStatus, active *v1alpha1.Revision) {
	p.revision("shadow", &s.Revision)
	if s.Verdict != v1alpha1.VerdictShadow {
		return
	}
	if active != nil && active.Digest == s.Digest {
		p.line("           it says what is in force. Try: move it to where the policy comes from, and remove the shadow")
		return
	}
	p.line("           %s compared, %d dropped", counted(int(s.Compared), "decision"), s.Dropped)
	for _, d := range s.Differences {
		p.line("             %s: %s, about %s", d.Kind, counted(int(d.Count), "other answer"), counted(int(d.Jobs), "Job")) // one is decided about more than once
	}
	for _, d := range s.Latest {
		p.line("             %s: %s", d.Job, d.Kind)
		p.line("               in force: %s", d.Active)
		p.line("               shadow:   %s", d.Shadow)
	}
	p.line("           Try: kubectl holdshort policy promote %s", engine.Short(s.Digest))
}

// notYet says why what was asked for has not happened.
func notYet(r *v1alpha1.PolicyRollout, digest string) error {
	why := "the manager has not answered yet"
	if asked := meta.FindStatusCondition(r.Status.Conditions, followed); asked != nil {
		why = asked.Message
	} else if c := r.Status.Candidate; c != nil && c.Digest == digest && len(c.Errors) > 0 {
		why = c.Errors[0].At + ": " + c.Errors[0].Message
	}
	return failure.New("kubectl holdshort policy status", "%s: %s", engine.Short(digest), why)
}
