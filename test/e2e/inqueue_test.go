//go:build plane

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

// teamPolicy gives a namespace a queue of its own, for Jobs that name none.
const teamPolicy = `holdshort:
  config:
    flavors: {gpu: {}}
    teams: {team: {queue: %s}}
    queues:
      day: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 2}}}
      night: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 2}}}
`

// TestAJobThatNamesNoQueueShowsTheOneItWaitsIn, also when the policy moves it, to
// who may read his own Jobs.
func TestAJobThatNamesNoQueueShowsTheOneItWaitsIn(t *testing.T) {
	ctx, s := scene(t, "team", strings.Replace(teamPolicy, "%s", "day", 1))
	for name, queue := range map[string]string{"runs": "auto", "runs-at-night": "night"} {
		_, err := s.Apply(ctx, job{name: name, queue: queue, pods: 1, gpus: 1, run: "24h"}.yaml())
		must(t, err)
		must(t, s.Running(ctx, name, 1))
	}
	_, err := s.Apply(ctx, job{name: "waits", queue: "auto", pods: 2, gpus: 1, run: "24h"}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "waits", "WaitingForQuota"))
	shows := func(queue string) {
		t.Helper()
		must(t, s.Eventually(ctx, "it is shown in "+queue, func(ctx context.Context) (bool, string) {
			out, err := s.Plugin(ctx, cluster.Alice, "jobs", "-n", s.NS, "--queue", queue, "--no-headers")
			if err != nil {
				return false, err.Error()
			}
			return strings.Contains(out, "waits "), out
		}))
	}
	shows("day")
	out, err := s.Plugin(ctx, cluster.Alice, "explain", "job/waits", "-n", s.NS)
	must(t, err)
	must(t, stories.Contains(out, "queue day"))

	inForce(t, ctx, s.Env, strings.Replace(teamPolicy, "%s", "night", 1))
	shows("night")
	must(t, s.Waits(ctx, "waits", "WaitingForQuota"))
}
