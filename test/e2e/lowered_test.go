//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

// loweredPolicy has one flavor of some name, with so many GPUs.
func loweredPolicy(flavor string, gpus int) string {
	return fmt.Sprintf(`holdshort:
  config:
    flavors:
      %[1]s: {}
    queues:
      lowered:
        namespaces: {names: [lowered]}
        flavors: [%[1]s]
        quota:
          %[1]s: {nvidia.com/gpu: %[2]d}
`, flavor, gpus)
}

// What runs stays when its quota goes, and counts for as long as it runs.
func TestAQuotaLoweredBelowUseTouchesNothingThatRuns(t *testing.T) {
	ctx, s := scene(t, "lowered", loweredPolicy("gpu", 4))
	_, err := s.Apply(ctx, job{name: "runs", queue: "lowered", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))
	before := runsStill(t, ctx, s, "runs")
	inForce(t, ctx, s.Env, loweredPolicy("gpu", 2))
	_, err = s.Apply(ctx, job{name: "waits", queue: "lowered", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "waits", "WaitingForQuota"))
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "runs")); diff != "" {
		t.Errorf("the lower quota disturbs what runs (-before +after):\n%s", diff)
	}
	_, err = s.Kubectl(ctx, "delete", "job", "runs", "--cascade=foreground")
	must(t, err)
	must(t, s.Running(ctx, "waits", 1))
}

// A flavor that left the policy stays booked while pods are there: its machines are
// not given away twice.
func TestAFlavorThatIsRemovedWhileInUseStaysBooked(t *testing.T) {
	ctx, s := scene(t, "lowered", loweredPolicy("old", 8))
	_, err := s.Apply(ctx, job{name: "runs", queue: "lowered", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))
	before := runsStill(t, ctx, s, "runs")
	inForce(t, ctx, s.Env, loweredPolicy("new", 8))
	_, err = s.Apply(ctx, job{name: "waits", queue: "lowered", pods: 8, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "waits", "WaitingForMachines"))
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "runs")); diff != "" {
		t.Errorf("the removal disturbs what runs (-before +after):\n%s", diff)
	}
	must(t, s.Eventually(ctx, "the queue shows what is booked", func(ctx context.Context) (bool, string) {
		out, err := s.KubectlIn(ctx, cluster.Admin, "", "get", "queues.holdshort.dev", "lowered", "-o", "jsonpath={.status.summary}")
		return err == nil && strings.Contains(out, "4/0 nvidia.com/gpu on old"), fmt.Sprint(out, err)
	}))
	_, err = s.Kubectl(ctx, "delete", "job", "runs", "--cascade=foreground")
	must(t, err)
	must(t, s.Running(ctx, "waits", 8))
}
