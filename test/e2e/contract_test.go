//go:build plane

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/stories"
)

// sharedPolicy says more than is enforced: the nodes are to be chosen exactly. Its queue may
// borrow what the cohort has of its own.
const sharedPolicy = `holdshort:
  config:
    flavors: {gpu: {placement: exact}}
    cohorts: {ai: {quota: {gpu: {nvidia.com/gpu: 100}}}}
    queues:
      shared: {cohort: ai, namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: {nominal: 4, borrowingLimit: 3}}}}
`

// TestWhatIsNotEnforcedIsTakenAndSaid: the status of the rollout says what of a
// policy is not enforced; all else is.
func TestWhatIsNotEnforcedIsTakenAndSaid(t *testing.T) {
	ctx, s := scene(t, "shared", sharedPolicy)
	must(t, stories.Eventually(ctx, 10*time.Second, "the status warns", func(ctx context.Context) (bool, string) {
		ok, got := rolloutSays(ctx, s.Env, "{.status.active.warnings}", "flavors.gpu.placement: not enforced by this version")
		return ok && !strings.Contains(got, "cohort"), got
	}))
	for name, pods := range map[string]int{"own": 4, "borrows": 3} {
		_, err := s.Apply(ctx, job{name: name, queue: "shared", pods: pods, gpus: 1, run: "5m"}.yaml())
		must(t, err)
		must(t, s.Running(ctx, name, pods))
	}
	_, err := s.Apply(ctx, job{name: "more", queue: "shared", pods: 1, gpus: 1, run: "5m"}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "more", "WaitingForQuota")) // though a card is free
}
