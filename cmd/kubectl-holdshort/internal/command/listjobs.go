package command

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

func (p *plugin) listJobs(ctx context.Context, client *cluster.Client, query jobQuery) error {
	list, err := client.Jobs(ctx, query.namespace, query.selector)
	if err != nil {
		return err
	}
	queues, version := p.readQueues(ctx, client)
	rows := report.Jobs(list.Items, queues)
	over := 0
	for _, row := range rows.Items {
		if row.Over() {
			over++
		}
	}
	rows = query.pick(rows)
	people := p.format == render.FormatText || p.format == render.FormatWide
	if len(rows.Items) == 0 && query.names == nil && people {
		fmt.Fprintln(p.Streams.ErrOut, query.none(over))
	}
	if err := p.printJobs(rows, &query); err != nil {
		return err
	}
	if !query.follow {
		return query.missing(rows)
	}
	b := newBoard(list.Items, queues, func(list report.JobList) error { return p.printJobs(list, &query) })
	b.wants, b.trim = query.wants, query.trim
	for _, row := range rows.Items {
		b.shown[row.UID] = b.said.news(row.UID, row)
	}
	return p.followJobs(ctx, client, query, b, [2]string{list.ResourceVersion, version})
}

// readQueues reads the queues by name, for positions, and the version that they
// were read at; without the right to, the list goes on without positions.
func (p *plugin) readQueues(ctx context.Context, client *cluster.Client) (map[string]*v1alpha1.Queue, string) {
	list, err := client.Queues(ctx, "")
	if err != nil {
		fmt.Fprintf(p.Streams.ErrOut, "note: no positions: %s\n", err)
		return nil, ""
	}
	queues := make(map[string]*v1alpha1.Queue, len(list.Items))
	for i := range list.Items {
		queues[list.Items[i].Name] = &list.Items[i]
	}
	return queues, list.ResourceVersion
}

// followJobs follows the Jobs, and beside them the queues, whose heads tell
// positions, from the versions on that both were listed at.
func (p *plugin) followJobs(ctx context.Context, client *cluster.Client, query jobQuery, b *board, from [2]string) error {
	ctx, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	if b.queues != nil {
		others.Go(func() {
			err := follower{
				open: func(version string) (watch.Interface, error) { return client.WatchQueues(ctx, "", version) },
				show: b.queueChanged,
			}.follow(ctx, from[1])
			if err != nil {
				fmt.Fprintf(p.Streams.ErrOut, "note: no positions from here on: %s\n", err)
			}
			b.forgetQueues()
		})
	}
	return follower{
		open: func(version string) (watch.Interface, error) {
			return client.WatchJobs(ctx, query.namespace, query.selector, version)
		},
		show: b.jobChanged,
	}.follow(ctx, from[0])
}
