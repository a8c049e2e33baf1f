package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
	"github.com/holdshort/holdshort/test/usage"
)

const queues = 10

func main() {
	jobs := flag.Int("jobs", 2000, "Jobs of each pass")
	passes := flag.Int("passes", 2, "passes of each kind, in turn")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *jobs, *passes); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, jobs, passes int) error {
	env, err := stories.Start(ctx, stories.Options{
		Nodes: nodes(jobs), Policy: policy(jobs), Audit: true, Controllers: []string{"-job-controller"}, Log: os.Stderr,
	})
	if err != nil {
		return err
	}
	defer env.Stop()
	report := &report{jobs: jobs}
	for pass := range passes {
		fmt.Fprintf(os.Stderr, "pass %d of %d\n", pass+1, passes)
		if err := onePass(ctx, env, report, jobs, pass); err != nil {
			return fmt.Errorf("%w\nThe manager's log: %s", err, env.Manager.Tail())
		}
	}
	report.print(os.Stdout)
	return nil
}

// onePass measures the baseline and then the ledger.
func onePass(ctx context.Context, env *stories.Env, r *report, jobs, pass int) error {
	base := fmt.Sprintf("base-%d", pass)
	if err := env.Namespace(ctx, base); err != nil {
		return err
	}
	stopLifting, err := liftOnSight(ctx, env.Admin, base)
	if err != nil {
		return err
	}
	result, err := load(ctx, env, base, jobs, "")
	stopLifting()
	if err != nil {
		return fmt.Errorf("the baseline: %w", err)
	}
	r.baseline = append(r.baseline, result)

	ours := fmt.Sprintf("ours-%d", pass)
	if err := env.Namespace(ctx, ours); err != nil {
		return err
	}
	before, err := usage.Of(env.Manager.Pid())
	if err != nil {
		return err
	}
	written, err := ourWrites(env)
	if err != nil {
		return err
	}
	result, err = load(ctx, env, ours, jobs, "queue-")
	if err != nil {
		return fmt.Errorf("the ledger: %w", err)
	}
	settle(ctx)
	if err := result.add(env, before, written); err != nil {
		return err
	}
	r.ours = append(r.ours, result)
	return nil
}

// nodes have room for all Jobs of all passes, which the bench never turns into
// pods.
func nodes(jobs int) []cluster.NodeSpec {
	const n = 20
	specs := make([]cluster.NodeSpec, n)
	for i := range specs {
		each := int64(2*jobs/n + 1)
		specs[i] = cluster.NodeSpec{Name: fmt.Sprintf("node-%d", i), GPUs: each, CPU: "4000", Memory: "16Ti", Pods: fmt.Sprint(2 * each)}
	}
	return specs
}

// policy has queues whose quotas are never the limit, and uses every kind of
// rule: the webhook and the ledger are to pay for them.
func policy(jobs int) string {
	var b strings.Builder
	b.WriteString("holdshort:\n  config:\n    flavors:\n      gpu: {nodeLabels: {nvidia.com/gpu.present: \"true\"}}\n    queues:\n")
	for i := range queues {
		fmt.Fprintf(&b, "      queue-%d:\n        namespaces: {all: true}\n        flavors: [gpu]\n        quota:\n          gpu: {nvidia.com/gpu: %d}\n", i, 2*jobs)
	}
	return b.String()
}

// ourWrites counts the writes by the ledger's identity so far, by verb and
// resource.
func ourWrites(env *stories.Env) ([]history.Count, error) {
	writes, err := history.Writes(env.AuditLog, stories.Account)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return history.CountWrites(writes), nil
}
