package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

func (p *plugin) explain() *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "explain job/NAME...",
		Short: "Say why Jobs wait, or what they were given",
		Long: `Say why Jobs wait, or what they were given.

The right to read the Job is enough: what else cannot be read is named and left out.
Ends with 0 when the question was answered, also when the answer is that the Job waits.`,
		Example: `  kubectl holdshort explain job/train-7b
  kubectl holdshort explain train-7b -n vision -o json
  kubectl holdshort explain job/train-7b -w`,
		ValidArgsFunction: p.completeJobs("job/"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := render.CheckFormat(p.format); err != nil {
				return err
			}
			names, err := jobNames(args)
			if err != nil {
				return err
			}
			if follow && len(names) > 1 {
				return failure.New("one command for each", "explain -w takes one Job, got %d", len(names))
			}
			return p.explainJobs(c.Context(), names, follow)
		},
	}
	p.outputFlags(c)
	c.Flags().BoolVarP(&follow, "watch", "w", false, "explain the Job anew whenever something changes, until it is gone")
	return c
}

// jobNames takes job/NAME or NAME, several of them, or the kind and then names
// as kubectl get does. Each is asked about once.
func jobNames(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, failure.New("kubectl holdshort explain job/NAME; kubectl holdshort jobs lists them", "explain what?")
	}
	if len(args) > 1 && isJobKind(args[0]) {
		args = args[1:]
	}
	var names []string
	for _, argument := range args {
		name, err := jobName(argument)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func isJobKind(kind string) bool {
	return slices.Contains([]string{"job", "jobs", "job.batch", "jobs.batch", "job.v1.batch", "jobs.v1.batch"}, strings.ToLower(kind))
}

// jobName takes job/NAME in the spellings that kubectl takes, and NAME alone.
func jobName(argument string) (string, error) {
	kind, name, found := strings.Cut(argument, "/")
	if !found {
		kind, name = "job", argument
	}
	if !isJobKind(kind) {
		return "", failure.New("job/NAME", "only Jobs are queued, not %q", kind)
	}
	if name == "" || strings.Contains(name, "/") {
		return "", failure.New("job/NAME", "%q names no Job", argument)
	}
	return name, nil
}

// explainJobs explains those that can be read; the others are its error.
func (p *plugin) explainJobs(ctx context.Context, names []string, follow bool) error {
	namespace, err := p.namespace()
	if err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	if follow {
		return p.followJob(ctx, client, namespace, names[0])
	}
	list := report.JobExplanationList{Kind: report.Kind{APIVersion: report.APIVersion, Kind: "JobExplanationList"}}
	var unread []error
	for _, name := range names {
		job, err := client.Job(ctx, namespace, name)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		list.Items = append(list.Items, report.Explain(gather(ctx, client, job)))
	}
	if len(list.Items) > 0 {
		if err := p.printExplanations(list, len(names) > 1); err != nil {
			return err
		}
	}
	return failure.Join(unread)
}

// printExplanations prints one explanation as a document of its own, and several
// as a list.
func (p *plugin) printExplanations(list report.JobExplanationList, several bool) error {
	if p.format == render.FormatName {
		return p.names("job.batch", len(list.Items), func(i int) string { return list.Items[i].Name })
	}
	var document any = list
	if !several {
		document = list.Items[0]
	}
	if done, err := render.Document(p.Streams.Out, p.format, document); done {
		return err
	}
	text := render.Text{Now: p.Now(), Color: p.color()}
	for i, x := range list.Items {
		if i > 0 {
			fmt.Fprintln(p.Streams.Out)
		}
		if err := text.Explain(p.Streams.Out, x); err != nil {
			return err
		}
	}
	return nil
}

// completeJobs offers the names of the queued Jobs, in the spelling that the
// command's help has.
func (p *plugin) completeJobs(kind string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		namespace, err := p.namespace()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client, err := p.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		list, err := client.Jobs(c.Context(), namespace, "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []cobra.Completion
		for _, job := range list.Items {
			if name := kind + job.Name; strings.HasPrefix(name, prefix) && !slices.Contains(args, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// color is for a terminal whose owner has not asked to go without: NO_COLOR
// counts whatever its value, unless it is empty.
func (p *plugin) color() bool {
	if value, _ := p.Env("NO_COLOR"); value != "" {
		return false
	}
	if value, _ := p.Env("TERM"); value == "" || value == "dumb" {
		return false
	}
	return terminal(p.Streams.Out)
}
