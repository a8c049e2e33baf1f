//go:build plane

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const drainPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      drain: &queue
        namespaces: {names: [drain]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 6}
      beside:
        <<: *queue
        quota:
          gpu: {nvidia.com/gpu: 2}
`

func setHold(t *testing.T, ctx context.Context, s *stories.Scene, queue, hold string) {
	t.Helper()
	_, err := s.KubectlIn(ctx, cluster.Admin, "", "patch", "queues.holdshort.dev", queue, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"hold":%q}}`, hold))
	must(t, err)
}

// A queue is held, drained and let go: what ran gives its machines back at once, and
// starts again before those that came later. Another queue does not notice.
func TestAQueueIsHeldDrainedAndResumed(t *testing.T) {
	ctx, s := scene(t, "drain", drainPolicy,
		history.Limit{Queue: "drain", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 6},
		history.Limit{Queue: "beside", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 2})
	t.Cleanup(func() { setHold(t, context.Background(), s, "drain", "None") })
	for _, j := range []job{
		{name: "first", queue: "drain", pods: 3, gpus: 1}, {name: "second", queue: "drain", pods: 3, gpus: 1}, {name: "other", queue: "beside", pods: 2, gpus: 1},
	} {
		_, err := s.Apply(ctx, j.yaml())
		must(t, err)
		must(t, s.Running(ctx, j.name, j.pods))
	}
	before := runsStill(t, ctx, s, "other")
	setHold(t, ctx, s, "drain", "Hold")
	_, err := s.Apply(ctx, job{name: "third", queue: "drain", pods: 6, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "third", "QueueHeld"))
	must(t, s.Running(ctx, "first", 3))

	setHold(t, ctx, s, "drain", "HoldAndDrain")
	for _, name := range []string{"first", "second"} {
		must(t, s.Says(ctx, name, "QueueHeld"))
		allGone(t, ctx, s, name)
		found, err := s.Job(ctx, name)
		must(t, err)
		if record := found.Annotations[policies.AnnotationBackoff]; record != "" || found.Labels[policies.LabelState] != policies.StateHeld {
			t.Errorf("%s is %s, and held against it is %q", name, found.Labels[policies.LabelState], record)
		}
	}
	text, err := s.Explain(ctx, "first")
	must(t, err)
	must(t, stories.Contains(text, "an operator holds and drains it"))
	must(t, s.Eventually(ctx, "nothing of the queue is in use", func(ctx context.Context) (bool, string) {
		out, err := s.KubectlIn(ctx, cluster.Admin, "", "get", "queues.holdshort.dev", "drain", "-o", "wide", "--no-headers")
		return err == nil && stories.Contains(out, "0/6 nvidia.com/gpu", "HoldAndDrain") == nil, fmt.Sprint(out, err)
	}))

	for _, name := range []string{"first", "second"} {
		atRest(t, ctx, s, name)
	}
	setHold(t, ctx, s, "drain", "None")
	must(t, s.Running(ctx, "first", 3))
	must(t, s.Running(ctx, "second", 3))
	must(t, s.Waits(ctx, "third", "WaitingForQuota"))
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "other")); diff != "" {
		t.Errorf("the other queue's Job was disturbed (-before +after):\n%s", diff)
	}
}

// atRest waits until the Job controller has noted that all of a Job's pods are gone:
// before that it can't start again, and others may.
func atRest(t *testing.T, ctx context.Context, s *stories.Scene, name string) {
	t.Helper()
	must(t, s.Eventually(ctx, name+" is at rest", func(ctx context.Context) (bool, string) {
		found, err := s.Job(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		left := found.Status.Active
		if found.Status.Terminating != nil {
			left += *found.Status.Terminating
		}
		suspended := slices.ContainsFunc(found.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
		})
		return suspended && left == 0, fmt.Sprintf("%+v", found.Status)
	}))
}
