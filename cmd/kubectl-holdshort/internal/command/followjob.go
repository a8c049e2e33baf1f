package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

// lookAgain is how often the rest of an explanation is read while the Job itself
// stays as it is: its queue, who holds what, its pods.
const lookAgain = 5 * time.Second

// followJob explains a Job, and again each time when there is something else to
// say, until it is gone.
func (p *plugin) followJob(ctx context.Context, client *cluster.Client, namespace, name string) error {
	job, err := client.Job(ctx, namespace, name)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	jobs := make(chan *batchv1.Job) // nil: it was deleted
	ended := make(chan error, 1)
	go func() { ended <- watchJob(ctx, client, job, jobs) }()
	last := ""
	for job != nil {
		x := report.Explain(gather(ctx, client, job))
		if ctx.Err() != nil {
			return nil // what is missing in it is so because nobody wants it any more
		}
		if last, err = p.explainNews(x, last); err != nil {
			return err
		}
		select {
		case job = <-jobs:
		case <-time.After(lookAgain):
		case err := <-ended:
			return err
		}
	}
	_, err = fmt.Fprintf(p.Streams.ErrOut, "Job %s is deleted\n", name)
	return err
}

// watchJob sends each new version of a Job, and nil when it is deleted.
func watchJob(ctx context.Context, client *cluster.Client, job *batchv1.Job, to chan<- *batchv1.Job) error {
	return follower{
		open: func(version string) (watch.Interface, error) {
			return client.WatchJob(ctx, job.Namespace, job.Name, version)
		},
		show: func(object runtime.Object, deleted bool) error {
			next, ok := object.(*batchv1.Job)
			if !ok {
				return nil
			}
			if deleted {
				next = nil
			}
			select {
			case to <- next:
			case <-ctx.Done():
			}
			return nil
		},
	}.follow(ctx, job.ResourceVersion)
}

// explainNews prints an explanation unless it says what the last one did, and
// returns what it says.
func (p *plugin) explainNews(x report.JobExplanation, last string) (string, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return "", fmt.Errorf("comparing explanations: %w", err)
	}
	if string(text) == last {
		return last, nil
	}
	if last != "" && (p.format == render.FormatText || p.format == render.FormatWide) {
		fmt.Fprintln(p.Streams.Out)
	}
	if p.format == render.FormatYAML {
		fmt.Fprintln(p.Streams.Out, "---")
	}
	return string(text), p.printExplanations(report.JobExplanationList{Items: []report.JobExplanation{x}}, false)
}
