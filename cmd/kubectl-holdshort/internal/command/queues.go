package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// queueQuery is which queues to list.
type queueQuery struct {
	names    []string
	selector string
	follow   bool
}

func (p *plugin) queues() *cobra.Command {
	var q queueQuery
	c := &cobra.Command{
		Use:   "queues [NAME...]",
		Short: "List the queues: who waits, what is used, why the head does not start",
		Example: `  kubectl holdshort queues
  kubectl holdshort queues research -o wide
  kubectl holdshort queues -w`,
		ValidArgsFunction: p.completeQueues,
		RunE: func(c *cobra.Command, args []string) error {
			if err := render.CheckFormat(p.format); err != nil {
				return err
			}
			if err := cluster.CheckSelector(q.selector); err != nil {
				return err
			}
			client, err := p.connect()
			if err != nil {
				return err
			}
			q.names = args
			return p.listQueues(c.Context(), client, q)
		},
	}
	p.listFlags(c, &q.selector, &q.follow)
	c.Flags().BoolP("all-namespaces", "A", false, "taken as kubectl takes it, and changes nothing: queues belong to no namespace")
	return c
}

// wants tells whether a queue is one of those asked for.
func (q *queueQuery) wants(row report.Queue) bool {
	return len(q.names) == 0 || slices.Contains(q.names, row.Name)
}

func (p *plugin) listQueues(ctx context.Context, client *cluster.Client, query queueQuery) error {
	list, err := client.Queues(ctx, query.selector)
	if err != nil {
		return err
	}
	rows := report.Queues(list)
	rows.Items = slices.DeleteFunc(rows.Items, func(row report.Queue) bool { return !query.wants(row) })
	said := news{}
	for _, row := range rows.Items {
		said.news(row.Name, row)
	}
	if err := p.printQueues(rows, query); err != nil {
		return err
	}
	if !query.follow {
		return query.missing(rows)
	}
	return follower{
		open: func(version string) (watch.Interface, error) { return client.WatchQueues(ctx, query.selector, version) },
		show: func(object runtime.Object, deleted bool) error {
			q, ok := object.(*v1alpha1.Queue)
			if !ok {
				return nil
			}
			row := report.NewQueue(q)
			row.Deleted = deleted
			if !query.wants(row) || !said.news(row.Name, row) {
				return nil
			}
			return p.printQueues(report.QueueList{Items: []report.Queue{row}}, query)
		},
	}.follow(ctx, list.ResourceVersion)
}

// missing is the names that were asked for and are not there.
func (q *queueQuery) missing(list report.QueueList) error {
	var errs []error
	for _, name := range q.names {
		if !slices.ContainsFunc(list.Items, func(row report.Queue) bool { return row.Name == name }) {
			errs = append(errs, failure.New("kubectl holdshort queues", "there is no Queue %q", name))
		}
	}
	return failure.Join(errs)
}

// none says why a list of queues may be empty.
func none(selector string) string {
	if selector != "" {
		return " that match -l " + selector
	}
	return ": the policy names none, or the manager has not published them yet."
}

func (p *plugin) printQueues(list report.QueueList, query queueQuery) error {
	if p.format == render.FormatName {
		return p.names("queue.holdshort.dev", len(list.Items), func(i int) string { return list.Items[i].Name })
	}
	if done, err := documents(p, list, list.Items, query.follow); done {
		return err
	}
	if len(list.Items) == 0 && len(query.names) == 0 {
		fmt.Fprintln(p.Streams.ErrOut, "No queues"+none(query.selector))
		return nil
	}
	return p.table().Queues(p.Streams.Out, list.Items)
}
