//go:build plane

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/stories"
)

// sharedPolicy says more than is enforced: the queue has a cohort to borrow from.
const sharedPolicy = `holdshort:
  config:
    flavors: {gpu: {topology: [topology.kubernetes.io/zone]}}
    cohorts: {ai: {quota: {gpu: {nvidia.com/gpu: 100}}}}
    queues:
      shared: {cohort: ai, namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: {nominal: 4, borrowingLimit: 4}}}}
`

// TestWhatIsNotEnforcedIsTakenAndSaid: a cohort gives nobody more than the
// queue's own quota, and the status of the rollout says so.
func TestWhatIsNotEnforcedIsTakenAndSaid(t *testing.T) {
	ctx, s := scene(t, "shared", sharedPolicy)
	must(t, stories.Eventually(ctx, 10*time.Second, "the status warns", func(ctx context.Context) (bool, string) {
		ok, got := rolloutSays(ctx, s.Env, "{.status.active.warnings}", "queues.shared.cohort: not enforced by this version")
		return ok && strings.Contains(got, "flavors.gpu.topology: not enforced"), got
	}))
	for _, name := range []string{"fits", "borrows"} {
		_, err := s.Apply(ctx, job{name: name, queue: "shared", pods: 4, gpus: 1, run: "5m"}.yaml())
		must(t, err)
		if name == "fits" {
			must(t, s.Running(ctx, name, 4))
		}
	}
	must(t, s.Waits(ctx, "borrows", "WaitingForQuota"))
}
