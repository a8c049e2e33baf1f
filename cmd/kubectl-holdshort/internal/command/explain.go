package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/policies"
)

func (p *plugin) explain() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain job/NAME",
		Short: "Say why a Job waits, or what it was given",
		Long: `Say why a Job waits, or what it was given.

The right to read the Job is enough: what else cannot be read is named and left out.
Ends with 0 when the question was answered, also when the answer is that the Job waits.`,
		Example: `  kubectl holdshort explain job/train-7b
  kubectl holdshort explain train-7b -n vision -o json`,
		ValidArgsFunction: p.completeJobs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := render.CheckFormat(p.format); err != nil {
				return err
			}
			name, err := oneJob(args)
			if err != nil {
				return err
			}
			return p.explainJob(c.Context(), name)
		},
	}
	p.outputFlags(c)
	return c
}

// oneJob takes job/NAME, NAME, or the two apart as kubectl get does.
func oneJob(args []string) (string, error) {
	switch {
	case len(args) == 1:
		return jobName(args[0])
	case len(args) == 2 && !strings.Contains(args[0]+args[1], "/"):
		return jobName(args[0] + "/" + args[1])
	}
	return "", failure.New("kubectl holdshort explain job/NAME; kubectl holdshort jobs lists them",
		"explain takes one Job, got %d arguments", len(args))
}

// jobName takes job/NAME in the spellings that kubectl takes, and NAME alone.
func jobName(argument string) (string, error) {
	kind, name, found := strings.Cut(argument, "/")
	if !found {
		kind, name = "job", argument
	}
	switch strings.ToLower(kind) {
	case "job", "jobs", "job.batch", "jobs.batch", "job.v1.batch", "jobs.v1.batch":
	default:
		return "", failure.New("kubectl holdshort explain job/NAME", "explain knows Jobs only, not %q", kind)
	}
	if name == "" || strings.Contains(name, "/") {
		return "", failure.New("kubectl holdshort explain job/NAME", "%q names no Job", argument)
	}
	return name, nil
}

func (p *plugin) explainJob(ctx context.Context, name string) error {
	namespace, err := p.namespace()
	if err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	job, err := client.Job(ctx, namespace, name)
	if err != nil {
		return err
	}
	x := report.Explain(gather(ctx, client, job))
	if p.format == render.FormatName {
		return p.names("job.batch", 1, func(int) string { return x.Name })
	}
	if done, err := render.Document(p.Streams.Out, p.format, x); done {
		return err
	}
	return render.Text{Now: p.Now(), Color: p.color()}.Explain(p.Streams.Out, x)
}

// autoQueue as a label leaves the choice to the policy.
const autoQueue = "auto"

// gather reads what helps to explain a Job. What it may not read it names: the
// Job alone already tells most.
func gather(ctx context.Context, client *cluster.Client, job *batchv1.Job) report.Evidence {
	e := report.Evidence{Job: job}
	unread := func(err error) {
		if err != nil {
			e.Unread = append(e.Unread, err.Error())
		}
	}
	var err error
	row := report.NewJob(job, nil)
	if row.Queue != "" && row.Queue != autoQueue {
		e.Queue, err = client.Queue(ctx, row.Queue)
		unread(err)
	}
	if row.Waits() {
		e.Neighbours, err = neighbours(ctx, client, row)
		if err == nil && e.Queue != nil { // else there is nothing to compare them with
			e.Pods, err = client.QueuePods(ctx, row.Namespace, row.Queue)
		}
	} else {
		e.Pods, err = client.Pods(ctx, row.Namespace, row.UID)
	}
	unread(err)
	e.Events, err = client.Events(ctx, row.Namespace, row.UID)
	unread(err)
	return e
}

// neighbours are the Jobs of the same queue and namespace.
func neighbours(ctx context.Context, client *cluster.Client, row report.Job) ([]batchv1.Job, error) {
	list, err := client.Jobs(ctx, row.Namespace, policies.LabelQueue+"="+row.Queue)
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// completeJobs offers the names of the queued Jobs.
func (p *plugin) completeJobs(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	namespace, err := p.namespace()
	if err != nil || len(args) > 0 {
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
		if name := "job/" + job.Name; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
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
