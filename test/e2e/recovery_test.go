//go:build plane

package e2e

import (
	"context"
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const recoveryPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      patient: &queue
        namespaces: {names: [recovery]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 8}
      brisk:
        <<: *queue
        recoveryTimeoutSeconds: 3
        backoff: {baseSeconds: 2}
`

// cordoned keeps new pods from a node until it is ended.
func cordoned(t *testing.T, ctx context.Context, s *stories.Scene, node string) (end func()) {
	t.Helper()
	_, err := s.KubectlIn(ctx, cluster.Admin, "", "cordon", node)
	must(t, err)
	end = func() {
		_, err := s.KubectlIn(context.Background(), cluster.Admin, "", "uncordon", node)
		must(t, err)
	}
	t.Cleanup(end)
	return end
}

// A gang that loses a pod for good gives the others back, if its queue says so, and
// starts again when there is room for all; another queue's goes on with what it has.
func TestAGangThatLosesAPodForGoodIsTakenBack(t *testing.T) {
	ctx, s := scene(t, "recovery", recoveryPolicy,
		history.Limit{Queue: "brisk", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 8},
		history.Limit{Queue: "patient", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 8})
	for _, queue := range []string{"brisk", "patient"} {
		_, err := s.Apply(ctx, job{name: queue, queue: queue, pods: 4, gpus: 1, run: "24h"}.yaml())
		must(t, err)
		must(t, s.Running(ctx, queue, 4))
	}
	uncordon := cordoned(t, ctx, s, "node-1")
	for _, queue := range []string{"brisk", "patient"} {
		pods, err := s.Pods(ctx, queue)
		must(t, err)
		_, err = s.Kubectl(ctx, "delete", "pod", pods[0].Name, "--wait=false")
		must(t, err)
	}
	must(t, s.Says(ctx, "brisk", "BackingOff"))
	must(t, s.Waits(ctx, "brisk", "WaitingForMachines"))
	found, err := s.Job(ctx, "brisk")
	must(t, err)
	if b := backoffOf(t, found); b.Count != 1 || b.Code != "recovery timeout" {
		t.Errorf("its record: %+v", b)
	}
	must(t, s.Running(ctx, "patient", 3))
	uncordon()
	must(t, s.Running(ctx, "brisk", 4))
	must(t, s.Running(ctx, "patient", 4))
}

func backoffOf(t *testing.T, j *batchv1.Job) demand.Backoff {
	t.Helper()
	var b demand.Backoff
	must(t, json.Unmarshal([]byte(j.Annotations[policies.AnnotationBackoff]), &b))
	return b
}
