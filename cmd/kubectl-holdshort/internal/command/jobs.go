package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

func (p *plugin) jobs() *cobra.Command {
	var selector string
	var follow, all bool
	c := &cobra.Command{
		Use:   "jobs",
		Short: "List the queued Jobs: their state, what they hold, why they wait",
		Example: `  kubectl holdshort jobs
  kubectl holdshort jobs -A -l holdshort.dev/queue=research
  kubectl holdshort jobs -w`,
		Args: noArgs("kubectl holdshort jobs"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := render.CheckFormat(p.format); err != nil {
				return err
			}
			if err := cluster.CheckSelector(selector); err != nil {
				return err
			}
			namespace, err := p.namespace()
			if err != nil {
				return err
			}
			if all {
				namespace = ""
			}
			client, err := p.connect()
			if err != nil {
				return err
			}
			return p.listJobs(c.Context(), client, jobQuery{namespace, selector, follow})
		},
	}
	p.listFlags(c, &selector, &follow)
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Jobs of all namespaces")
	return c
}

// jobQuery is which Jobs to list; an empty namespace is all of them.
type jobQuery struct {
	namespace, selector string
	follow              bool
}

func (p *plugin) listJobs(ctx context.Context, client *cluster.Client, query jobQuery) error {
	list, err := client.Jobs(ctx, query.namespace, query.selector)
	if err != nil {
		return err
	}
	queues := p.readQueues(ctx, client)
	if err := p.printJobs(report.Jobs(list, queues), query); err != nil || !query.follow {
		return err
	}
	p.noHeader = p.noHeader || len(list.Items) > 0
	return follower{
		open: func(version string) (watch.Interface, error) {
			return client.WatchJobs(ctx, query.namespace, query.selector, version)
		},
		show: func(object runtime.Object, deleted bool) error {
			job, ok := object.(*batchv1.Job)
			if !ok {
				return nil
			}
			// Who is at the head has moved since the list; better none than wrong.
			row := report.NewJob(job, nil)
			row.Deleted = deleted
			return p.printJobs(report.JobList{Items: []report.Job{row}}, query)
		},
	}.follow(ctx, list.ResourceVersion)
}

// readQueues reads the queues by name, for positions; without the right to, the
// list goes on without positions.
func (p *plugin) readQueues(ctx context.Context, client *cluster.Client) map[string]*v1alpha1.Queue {
	list, err := client.Queues(ctx, "")
	if err != nil {
		fmt.Fprintf(p.Streams.ErrOut, "note: no positions: %s\n", err)
		return nil
	}
	queues := make(map[string]*v1alpha1.Queue, len(list.Items))
	for i := range list.Items {
		queues[list.Items[i].Name] = &list.Items[i]
	}
	return queues
}

func (p *plugin) printJobs(list report.JobList, query jobQuery) error {
	if p.format == render.FormatName {
		return p.names("job.batch", len(list.Items), func(i int) string { return list.Items[i].Name })
	}
	if done, err := documents(p, list, list.Items, query.follow); done {
		return err
	}
	if len(list.Items) == 0 {
		where := "in namespace " + query.namespace + ". Try: -n NAMESPACE, or -A for all of them"
		switch {
		case query.selector != "":
			where = "that match -l " + query.selector
		case query.namespace == "":
			where = "in any namespace"
		}
		fmt.Fprintf(p.Streams.ErrOut, "No queued Jobs %s\n", where)
		return nil
	}
	table := p.table()
	table.AllNS = query.namespace == ""
	return table.Jobs(p.Streams.Out, list.Items)
}
