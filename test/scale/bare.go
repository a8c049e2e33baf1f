package main

import (
	"context"
	"fmt"

	"github.com/holdshort/holdshort/test/stories"
	"github.com/holdshort/holdshort/test/usage"
)

// barePart of the Jobs is enough to tell what one costs.
const barePart = 0.1

const bareNamespace = "bare"

// lifters is how many suspensions are lifted at the same time.
const lifters = 16

// bare is what Jobs cost where nobody decides: they are created suspended, lifted at
// once and ended. No queue that lifts Jobs can do with less.
type bare struct {
	jobs int
	used map[string]usage.Usage // by program
}

// playBare takes holdshort out of the cluster and plays a shape without it. Every Job
// starts at once, so the shape's quotas don't hold.
func playBare(ctx context.Context, env *stories.Env, s shape) (*bare, error) {
	env.Manager.Stop()
	if _, err := env.Helm(ctx, "uninstall", stories.Release, "-n", stories.Namespace, "--wait"); err != nil {
		return nil, fmt.Errorf("uninstalling the chart: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := env.Namespace(ctx, bareNamespace); err != nil {
		return nil, err
	}
	ids, err := newIdentities(ctx, env.Admin, bareNamespace)
	if err != nil {
		return nil, err
	}
	m := newMachines(ids.controller, bareNamespace, s)
	waiting := make(chan string, s.jobs())
	m.suspended = func(name string) { waiting <- name }
	stories.Lift(ctx, ids.lifter, bareNamespace, waiting, lifters, func(err error) {
		select {
		case m.broken <- err:
		default: // the first say enough
		}
	})
	before, err := measure(nil, nil)
	if err != nil {
		return nil, err
	}
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	u := &users{client: ids.user, namespace: bareNamespace, shape: s, suspend: true}
	errs := make(chan error, 1)
	go func() { errs <- u.create(ctx, m.sent) }()
	if err := await(ctx, env, m, u, errs, nil); err != nil {
		return nil, fmt.Errorf("without holdshort: %w", err)
	}
	used, err := measure(nil, before)
	return &bare{jobs: s.jobs(), used: used}, err
}
