package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

func (p *plugin) queues() *cobra.Command {
	var selector string
	var follow bool
	c := &cobra.Command{
		Use:   "queues",
		Short: "List the queues: who waits, what is used, why the head does not start",
		Example: `  kubectl holdshort queues
  kubectl holdshort queues -o wide
  kubectl holdshort queues -w`,
		Args: noArgs("kubectl holdshort queues"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := render.CheckFormat(p.format); err != nil {
				return err
			}
			if err := cluster.CheckSelector(selector); err != nil {
				return err
			}
			client, err := p.connect()
			if err != nil {
				return err
			}
			return p.listQueues(c.Context(), client, selector, follow)
		},
	}
	p.listFlags(c, &selector, &follow)
	return c
}

func (p *plugin) listQueues(ctx context.Context, client *cluster.Client, selector string, follow bool) error {
	list, err := client.Queues(ctx, selector)
	if err != nil {
		return err
	}
	if err := p.printQueues(report.Queues(list), selector, follow); err != nil || !follow {
		return err
	}
	p.noHeader = p.noHeader || len(list.Items) > 0
	return follower{
		open: func(version string) (watch.Interface, error) { return client.WatchQueues(ctx, selector, version) },
		show: func(object runtime.Object, deleted bool) error {
			q, ok := object.(*v1alpha1.Queue)
			if !ok {
				return nil
			}
			row := report.NewQueue(q)
			row.Deleted = deleted
			return p.printQueues(report.QueueList{Items: []report.Queue{row}}, selector, true)
		},
	}.follow(ctx, list.ResourceVersion)
}

// none says why a list of queues may be empty.
func none(selector string) string {
	if selector != "" {
		return " that match -l " + selector
	}
	return ": the policy names none, or the manager has not published them yet."
}

func (p *plugin) printQueues(list report.QueueList, selector string, follow bool) error {
	if p.format == render.FormatName {
		return p.names("queue.holdshort.dev", len(list.Items), func(i int) string { return list.Items[i].Name })
	}
	if done, err := documents(p, list, list.Items, follow); done {
		return err
	}
	if len(list.Items) == 0 {
		fmt.Fprintln(p.Streams.ErrOut, "No queues"+none(selector))
		return nil
	}
	return p.table().Queues(p.Streams.Out, list.Items)
}
