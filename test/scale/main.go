package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/holdshort/holdshort/test/stories"
	"github.com/holdshort/holdshort/test/usage"
)

func main() {
	part := flag.Float64("scale", 1, "part of the 15,000 Jobs to create, at the same pace")
	within := flag.Duration("timeout", 20*time.Minute, "how long it may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := scale(ctx, *part, *within); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func scale(ctx context.Context, part float64, within time.Duration) error {
	if part <= 0 {
		return fmt.Errorf("-scale: %v is not a part of anything. Try: 0.1", part)
	}
	s := kueues(part)
	env, err := begin(ctx, s)
	if err != nil {
		return err
	}
	defer env.Stop()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	result, err := play(ctx, env, s)
	if err != nil {
		return err
	}
	if result.bare, err = playBare(ctx, env, kueues(part*barePart)); err != nil {
		return err
	}
	result.print(os.Stdout, part == 1)
	return result.broken()
}

// begin starts a plane without machines, and with nobody but us who touches Jobs.
func begin(ctx context.Context, s shape) (*stories.Env, error) {
	return stories.Start(ctx, stories.Options{
		Policy: s.policy(), Log: os.Stderr,
		Controllers: []string{
			"-job-controller", "-cronjob-controller", "-garbage-collector-controller",
			"-ttl-after-finished-controller", "-resourceclaim-controller",
		},
	})
}

// broken is the promises that were not kept.
func (r *result) broken() error {
	if len(r.tally.overfull) == 0 {
		return nil
	}
	return fmt.Errorf("quotas were passed:\n%s", strings.Join(r.tally.overfull, "\n"))
}

const namespace = "scale"

// play creates the Jobs and runs them until all have ended.
func play(ctx context.Context, env *stories.Env, s shape) (*result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := env.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	ids, err := newIdentities(ctx, env.Admin, namespace)
	if err != nil {
		return nil, err
	}
	before, err := answered(ctx, env.Client)
	if err != nil {
		return nil, err
	}
	programs := map[string]int{"manager": env.Manager.Pid()}
	used, err := measure(programs, nil)
	if err != nil {
		return nil, err
	}
	m := newMachines(ids.controller, namespace, s)
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	u := &users{client: ids.user, namespace: namespace, shape: s}
	errs := make(chan error, 1)
	go func() { errs <- u.create(ctx, m.sent) }()
	if err := await(ctx, env, m, u, errs, env.Manager.Ended()); err != nil {
		return nil, fmt.Errorf("%w\nThe manager's log: %s", err, env.Manager.Tail())
	}
	r := &result{tally: m.tally, wall: m.now()}
	_, mean, last := u.progress()
	r.creation, r.created = mean, last.Sub(m.began)
	time.Sleep(settleTime)
	if r.used, err = measure(programs, used); err != nil {
		return nil, err
	}
	after, err := answered(ctx, env.Client)
	if err != nil {
		return nil, err
	}
	r.writes = after.ours(before)
	return r, nil
}

// settleTime is how long events and statuses may trail behind.
const settleTime = 3 * time.Second

const progressEvery = 10 * time.Second

// await waits until all Jobs have ended, and tells now and then how far they are.
func await(ctx context.Context, env *stories.Env, m *machines, u *users, created <-chan error, ended <-chan struct{}) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.over:
			return nil
		case err := <-created:
			if err != nil {
				return err
			}
			created = nil
		case err := <-m.broken:
			return err
		case <-ended:
			return errors.New("the manager ended")
		case <-ctx.Done():
			return fmt.Errorf("%s, and not all Jobs have ended: %w", m.progress(u), ctx.Err())
		case <-tick.C:
			if err := env.Failure(); err != nil {
				return err
			}
			fmt.Fprintln(os.Stderr, m.progress(u))
		}
	}
}

func (m *machines) progress(u *users) string {
	made, _, _ := u.progress()
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("after %.0f s: %d Jobs created, %d of %d held, %d ended, %d taken back",
		m.now().Seconds(), made, m.tally.held, m.tally.shape.capacity(), m.tally.ended, m.tally.takings)
}

// measure is what the programs of these and ours have used since before; memory is the
// most they ever had.
func measure(programs map[string]int, before map[string]usage.Usage) (map[string]usage.Usage, error) {
	pids := map[string]int{"users, machines": os.Getpid()}
	maps.Copy(pids, programs)
	for _, program := range []string{"kube-apiserver", "etcd"} {
		pid, err := usage.Child(program)
		if err != nil {
			return nil, err
		}
		pids[program] = pid
	}
	used := map[string]usage.Usage{}
	for program, pid := range pids {
		u, err := usage.Of(pid)
		if err != nil {
			return nil, err
		}
		u.CPU -= before[program].CPU
		used[program] = u
	}
	return used, nil
}
