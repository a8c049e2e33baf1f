package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

func main() {
	keep := flag.Bool("keep", false, "keep the control plane after the stories, to play with, until ^C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := tell(ctx, *keep)
	if code := report(ctx, os.Stderr, err); code != 0 {
		os.Exit(code)
	}
}

// interrupted is the exit code of a program that ^C ended.
const interrupted = 130

// report says how it went and returns the exit code. After ^C everything that
// was under way fails, and none of it is worth a word.
func report(ctx context.Context, out io.Writer, err error) int {
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(out, "\ndemo: interrupted; the control plane is gone")
		return interrupted
	}
	fmt.Fprintln(out, "demo:", err)
	return 1
}

// story is one of the demo's.
type story struct {
	title, namespace string
	tell             func(context.Context, *stories.Scene) error
}

func tell(ctx context.Context, keep bool) error {
	narrator := newNarrator(os.Stdout)
	env, err := stories.Start(ctx, stories.Options{Nodes: stories.Nodes(), Policy: stories.Policy, Log: os.Stdout})
	if err != nil {
		return err
	}
	defer env.Stop()
	for _, s := range []story{
		{"One quota, two trainings", "research", func(ctx context.Context, s *stories.Scene) error {
			return stories.OneQuota(ctx, s, stories.Training{})
		}},
		{"Cpu and memory", "lab", stories.CPUAndMemory},
		{"The truth about the machines", "vision", stories.TruthAboutMachines},
	} {
		narrator.title(s.title)
		if err := env.Namespace(ctx, s.namespace); err != nil {
			return err
		}
		if err := s.tell(ctx, &stories.Scene{Env: env, Teller: narrator, NS: s.namespace}); err != nil {
			return fmt.Errorf("story %q: %w\nThe manager's log: %s", s.title, err, env.Manager.Tail())
		}
	}
	narrator.title("That was it")
	if keep {
		return play(ctx, env)
	}
	fmt.Println("Keep the control plane to play with: make demo KEEP=1")
	return nil
}

// play keeps the plane until ^C, or for a day.
func play(ctx context.Context, env *stories.Env) error {
	fmt.Printf(`The control plane stays until you press ^C. In another terminal:

  export PATH=%s:%s:$PATH
  export KUBECONFIG=%s        # alice, a plain user
  kubectl -n research get jobs
  kubectl holdshort queues

  export KUBECONFIG=%s        # an administrator: edit the policy
  kubectl -n %s edit configmap %s-policy

`, env.BinDir(), env.KubectlDir(), env.Kubeconfig(cluster.Alice), env.Kubeconfig(cluster.Admin), stories.Namespace, stories.Release)
	select {
	case <-ctx.Done():
	case <-time.After(24 * time.Hour):
	}
	return nil
}
