//go:build plane

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

func partialPolicy(gpus int) string {
	return fmt.Sprintf(`holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      partial:
        namespaces: {names: [partial]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: %d}
`, gpus)
}

// sweep wants eight pods, and would start with fewer.
func sweep(name string, least int) string {
	return job{name: name, queue: "partial", pods: 8, gpus: 1, annotations: fmt.Sprintf(`{holdshort.dev/min-parallelism: "%d"}`, least)}.yaml()
}

func parallelism(t *testing.T, ctx context.Context, s *stories.Scene, name string, want int32) {
	t.Helper()
	must(t, s.Eventually(ctx, fmt.Sprintf("%s has parallelism %d", name, want), func(ctx context.Context) (bool, string) {
		found, err := s.Job(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		return *found.Spec.Parallelism == want, fmt.Sprintf("it is %d", *found.Spec.Parallelism)
	}))
}

func TestAJobStartsWithAsManyPodsAsThereIsRoomFor(t *testing.T) {
	ctx, s := scene(t, "partial", partialPolicy(5))
	tellPartial(t, ctx, s)
}

func tellPartial(t *testing.T, ctx context.Context, s *stories.Scene) {
	t.Helper()
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "partial-1", GPUs: 8}})
	patch := func(what string) (string, error) {
		return s.KubectlIn(ctx, cluster.Alice, "", "-n", s.NS, "patch", "job", "sweep", "--type=merge", "-p", what)
	}
	_, err := s.Apply(ctx, sweep("sweep", 4))
	must(t, err)
	must(t, s.Running(ctx, "sweep", 5))
	parallelism(t, ctx, s, "sweep", 5)
	text, err := s.Explain(ctx, "sweep")
	must(t, err)
	must(t, stories.Contains(text, "runs 5 of 8 pods (min-parallelism 4)"))

	before := runsStill(t, ctx, s, "sweep")
	_, err = s.Apply(ctx, sweep("sweep", 4))
	must(t, err)
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "sweep")); diff != "" {
		t.Errorf("the manifest that is applied again disturbs the running Job (-before +after):\n%s", diff)
	}
	out, err := patch(`{"spec":{"parallelism":6}}`)
	answer("a running Job does not grow to 6").check(t, out, err)
	s.Manager.Stop()
	out, err = patch(`{"spec":{"parallelism":8}}`)
	answer("a running Job does not grow to 8").check(t, out, err)
	must(t, s.Manager.Start(ctx))
	must(t, s.Running(ctx, "sweep", 5))

	_, err = s.Apply(ctx, sweep("second", 5))
	must(t, err)
	must(t, s.Waits(ctx, "second", "WaitingForQuota"))
	_, err = patch(`{"metadata":{"annotations":{"holdshort.dev/hold":"data"}}}`)
	must(t, err)
	parallelism(t, ctx, s, "sweep", 8)
	must(t, s.Running(ctx, "second", 5))

	inForce(t, ctx, s.Env, partialPolicy(13))
	_, err = patch(`{"metadata":{"annotations":{"holdshort.dev/hold":null}}}`)
	must(t, err)
	must(t, s.Running(ctx, "sweep", 8))
	parallelism(t, ctx, s, "sweep", 8)
	parallelism(t, ctx, s, "second", 5) // what runs never grows by itself
	out, err = patch(`{"spec":{"parallelism":5}}`)
	taken.check(t, out, err)
	must(t, s.Running(ctx, "sweep", 5))
}
