package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/binaries"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/stories"
	"github.com/holdshort/holdshort/test/witness"
)

// options of a run.
type options struct {
	seed   uint64
	jobs   int
	all    bool
	within time.Duration // for each contender
}

func main() {
	o := options{}
	flag.Uint64Var(&o.seed, "seed", 1, "of the shapes and of the strangers")
	flag.IntVar(&o.jobs, "jobs", 120, "how many Jobs to create")
	flag.BoolVar(&o.all, "all", false, "let Kueue also run without waitForPodsReady, and with topology-aware scheduling")
	flag.DurationVar(&o.within, "timeout", 10*time.Minute, "how long each may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// compare has everybody run the same, and judges.
func compare(ctx context.Context, o options) error {
	if o.jobs <= 0 {
		return fmt.Errorf("-jobs: %d Jobs tell nothing. Try: 120", o.jobs)
	}
	program, err := binaries.EnsureKueue(ctx, os.Stderr)
	if err != nil {
		return err
	}
	env, err := stories.Start(ctx, stories.Options{Nodes: specs(), Policy: ourPolicy(), Log: os.Stderr})
	if err != nil {
		return err
	}
	defer env.Stop()
	l := draw(o.seed, o.jobs)
	if err := settle(ctx, env, l); err != nil {
		return err
	}
	ours, err := run(ctx, env, l, o, contender{name: "holdshort", namespace: "ours", mark: markOurs, tail: env.Manager.Tail})
	if err != nil {
		return err
	}
	env.Manager.Stop()
	if _, err := env.Helm(ctx, "uninstall", stories.Release, "-n", stories.Namespace, "--wait"); err != nil {
		return fmt.Errorf("uninstalling the chart: %w", err)
	}
	theirs, err := runKueue(ctx, env, program, l, o)
	if err != nil {
		return err
	}
	tabulate(os.Stdout, l, append([]result{ours}, theirs...))
	return judge(ours, theirs)
}

// ourPolicy has one queue that may use every GPU.
func ourPolicy() string {
	return fmt.Sprintf(`holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      peer:
        namespaces: {all: true}
        flavors: [gpu]
        quota:
          gpu: {%s: %d}
`, kubelet.ResourceGPU, gpus)
}

func markOurs(j *batchv1.Job) { j.Labels[policies.LabelQueue] = "peer" }

// settle brings the strangers.
func settle(ctx context.Context, env *stories.Env, l load) error {
	const namespace = "strangers"
	if err := env.Namespace(ctx, namespace); err != nil {
		return err
	}
	for n, s := range l.strangers {
		if _, err := env.Client.CoreV1().Pods(namespace).Create(ctx, s.pod(n), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating a stranger: %w", err)
		}
	}
	return stories.Eventually(ctx, time.Minute, "all strangers run", func(ctx context.Context) (bool, string) {
		list, err := env.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			return false, err.Error()
		}
		return len(list.Items) == len(l.strangers), fmt.Sprintf("%d of %d", len(list.Items), len(l.strangers))
	})
}

// contender is whoever queues.
type contender struct {
	name, namespace string
	mark            func(*batchv1.Job) // for its queue
	tail            func() string      // of its log
}

// patience is how long a pod may be unschedulable.
const patience = 5 * time.Second

// run creates the Jobs of a load, one after the other, and waits until all have ended.
func run(ctx context.Context, env *stories.Env, l load, o options, c contender) (result, error) {
	fmt.Fprintf(os.Stderr, "%s begins\n", c.name)
	if err := env.Namespace(ctx, c.namespace); err != nil {
		return result{}, err
	}
	w, err := witness.Watch(ctx, env.Admin, witness.Load{Namespace: c.namespace, Resource: kubelet.ResourceGPU, Patience: patience})
	if err != nil {
		return result{}, err
	}
	defer w.Stop()
	for _, g := range l.gangs {
		j := g.job()
		c.mark(j)
		if _, err := env.Client.BatchV1().Jobs(c.namespace).Create(ctx, j, metav1.CreateOptions{}); err != nil {
			return result{}, fmt.Errorf("creating %s for %s: %w\nIts log: %s", g.name, c.name, err, c.tail())
		}
	}
	late := time.After(o.within)
	tick, tell := time.NewTicker(100*time.Millisecond), time.NewTicker(10*time.Second)
	defer tick.Stop()
	defer tell.Stop()
	for {
		select {
		case <-ctx.Done():
			return result{}, ctx.Err()
		case <-late:
			return result{name: c.name, counts: w.Counts(), jobs: o.jobs, wall: o.within, tail: c.tail()}, nil
		case <-tell.C:
			if err := env.Failure(); err != nil {
				return result{}, err
			}
			n := w.Counts()
			fmt.Fprintf(os.Stderr, "%s: %d created, %d started, %d completed, %d pods were stuck\n", c.name, n.Created, n.Started, n.Completed, len(n.Stuck))
		case <-tick.C:
			if w.Over(o.jobs) {
				n := w.Counts()
				return result{name: c.name, counts: n, jobs: o.jobs, wall: n.Makespan(), tail: c.tail()}, nil
			}
		}
	}
}
