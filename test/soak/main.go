package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/stories"
	"github.com/holdshort/holdshort/test/witness"
	"sigs.k8s.io/yaml"
)

func main() {
	part := flag.Float64("scale", 1, "part of machines, quotas and Jobs")
	faster := flag.Float64("faster", 1, "how many times faster Jobs come and run")
	within := flag.Duration("timeout", 30*time.Minute, "how long it may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *part, *faster, *within); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, part, faster float64, within time.Duration) error {
	if part <= 0 || faster <= 0 {
		return fmt.Errorf("-scale %v, -faster %v: both must be more than 0. Try: -scale 0.1", part, faster)
	}
	s := soak(part, faster)
	env, err := begin(ctx, s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := play(ctx, env, s)
	if err == nil {
		r.print(os.Stdout)
		err = r.broken()
	}
	return errors.Join(err, env.Stop())
}

func begin(ctx context.Context, s shape) (*stories.Env, error) {
	return stories.Start(ctx, stories.Options{Nodes: s.specs(), Policy: s.policy(), Log: os.Stderr})
}

// Where Jobs and strangers are.
const namespace, strangers = "soak", "strangers"

const (
	patience = 5 * time.Second
	// startWithin is how soon somebody has to start who can.
	startWithin = 10 * time.Second
)

// result is what came of a soak.
type result struct {
	shape  shape
	counts witness.Counts
	quiet  []string // pods that were stuck before anybody interfered
	missed []string
	did    int // interferences
	books  error
}

// play runs all Jobs.
func play(ctx context.Context, env *stories.Env, s shape) (*result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, ns := range []string{namespace, strangers} {
		if err := env.Namespace(ctx, ns); err != nil {
			return nil, err
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for n := range s.strangers {
		p := stranger(fmt.Sprint("stranger-", n), pick(r, 1, 2, 3), time.Hour)
		if _, err := env.Client.CoreV1().Pods(strangers).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("creating a stranger: %w", err)
		}
	}
	w, err := witness.Watch(ctx, env.Admin, witness.Load{
		Namespace: namespace, Resource: kubelet.ResourceGPU, Patience: patience, Label: policies.LabelQueue, Quota: s.quotas(),
	})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	failed := make(chan error, 2)
	go func() { failed <- create(ctx, env, s, r) }()
	res := &result{shape: s}
	if err := await(ctx, env, w, res, failed); err != nil {
		return nil, fmt.Errorf("%w\n%+v\nThe manager's log: %s", err, w.Counts(), env.Manager.Tail())
	}
	res.counts = w.Counts()
	res.books = settled(ctx, env)
	return res, nil
}

// create the Jobs, somewhat faster than they can run, so that some always wait.
func create(ctx context.Context, env *stories.Env, s shape, r *rand.Rand) error {
	pace := time.NewTicker(max(time.Millisecond, s.least()*8/10/time.Duration(s.jobs)))
	defer pace.Stop()
	for n := range s.jobs {
		if _, err := env.Client.BatchV1().Jobs(namespace).Create(ctx, s.job(n, r), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating a Job: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pace.C:
		}
	}
	return nil
}

// await the end of all Jobs. When half of them have ended, others begin to interfere.
func await(ctx context.Context, env *stories.Env, w *witness.Witness, res *result, failed chan error) error {
	others := &churn{client: env.Client, shape: res.shape, ended: map[string]bool{}, r: rand.New(rand.NewPCG(2, 2))}
	churning, quiet := context.WithCancel(ctx)
	defer quiet()
	var until chan struct{}
	look, tell := time.NewTicker(500*time.Millisecond), time.NewTicker(10*time.Second)
	defer look.Stop()
	defer tell.Stop()
	for {
		select {
		case err := <-failed:
			if err != nil {
				return err
			}
		case <-env.Manager.Ended():
			return errors.New("the manager ended")
		case <-ctx.Done():
			return fmt.Errorf("not all Jobs have ended: %w", ctx.Err())
		case <-tell.C:
			if err := env.Failure(); err != nil {
				return err
			}
			n := w.Counts()
			fmt.Fprintf(os.Stderr, "%d created, %d started, %d completed, %d failed, %d pods were stuck, %d starts missed\n",
				n.Created, n.Started, n.Completed, n.Failed, len(n.Stuck), len(res.missed))
		case <-look.C:
			n := w.Counts()
			res.look(w, n)
			if until == nil && 2*(n.Completed+n.Failed) >= res.shape.jobs {
				res.quiet, until = n.Stuck, make(chan struct{})
				go func() { others.start(churning, failed); close(until) }()
			}
			if w.Over(res.shape.jobs) {
				quiet()
				if until != nil {
					<-until
				}
				res.did = others.did
				return nil
			}
		}
	}
}

// look for a start that is missed, and say each once.
func (r *result) look(w *witness.Witness, n witness.Counts) {
	idles, who := w.Idles()
	if said := fmt.Sprintf("%s could have started, and nobody did (after %d starts)", who, n.Started+n.Again); idles > startWithin &&
		(len(r.missed) == 0 || r.missed[len(r.missed)-1] != said) {
		r.missed = append(r.missed, said)
	}
}

// settled waits until every Queue says that nothing is used and nobody waits.
func settled(ctx context.Context, env *stories.Env) error {
	return stories.Eventually(ctx, 30*time.Second, "all queues are empty", func(ctx context.Context) (bool, string) {
		out, err := env.Kubectl(ctx, cluster.Admin, "get", "queues.holdshort.dev", "-o", "json")
		if err != nil {
			return false, err.Error()
		}
		var list v1alpha1.QueueList
		if err := yaml.Unmarshal([]byte(out), &list); err != nil {
			return false, err.Error()
		}
		for i := range list.Items {
			q := &list.Items[i]
			if q.Status.Pending+q.Status.Admitted > 0 {
				return false, fmt.Sprintf("%s: %+v", q.Name, q.Status)
			}
			for _, u := range q.Status.Usage {
				if !u.Used.IsZero() {
					return false, fmt.Sprintf("%s uses %s %s", q.Name, u.Used.String(), u.Resource)
				}
			}
		}
		return len(list.Items) == queues, fmt.Sprintf("%d queues", len(list.Items))
	})
}

func (r *result) print(out io.Writer) {
	n := r.counts
	fmt.Fprintf(out, "\n%d Jobs on %d nodes in %.0f s (the quotas allow %.0f s): %d started, %d again, %d completed\n",
		n.Created, r.shape.nodes, n.Makespan().Seconds(), r.shape.least().Seconds(), n.Started, n.Again, n.Completed)
	fmt.Fprintf(out, "pods that sat unschedulable for more than %s: %d while nobody interfered, %d in all; the longest %s\n",
		patience, len(r.quiet), len(n.Stuck), n.Longest.Round(time.Millisecond))
	fmt.Fprintf(out, "%d interferences; %d starts missed\n", r.did, len(r.missed))
}

// broken is the promises that were not kept.
func (r *result) broken() error {
	var all []string
	if r.counts.Completed != r.shape.jobs {
		all = append(all, fmt.Sprintf("%d of %d Jobs completed", r.counts.Completed, r.shape.jobs))
	}
	if len(r.quiet) > 0 {
		all = append(all, "pods sat unschedulable while nobody interfered: "+strings.Join(r.quiet, ", "))
	}
	all = append(all, r.missed...)
	all = append(all, r.counts.Broken...)
	if r.books != nil {
		all = append(all, "at the end, with nothing left: "+r.books.Error())
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("promises were broken:\n%s", strings.Join(all, "\n"))
}
