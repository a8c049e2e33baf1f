//go:build plane

package e2e

import (
	"context"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
)

// The scheduler makes room for a pod that nobody queued, and keeps the whole node for it
// until those that go are gone. What looks free there meanwhile is nobody's.
func TestRoomThatTheSchedulerMakesForAPodIsNotFree(t *testing.T) {
	ctx, s := sceneBy(t, "nominated", strangersPolicy("nominated"), history.Rules{})
	pool := map[string]string{"pool": "nominated"}
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "nominated-1", GPUs: 8, Labels: pool}})
	operate := func(manifest string) {
		t.Helper()
		_, err := s.KubectlIn(ctx, cluster.Admin, manifest, "apply", "-n", s.NS, "-f", "-")
		must(t, err)
	}
	operate("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: nominated-first}\nvalue: 1000\n")
	pod := func(name, gpus, more string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: {plane.holdshort.dev/stop: 8s}}\n" +
			"spec: {terminationGracePeriodSeconds: 60, nodeSelector: {pool: nominated}, " + more + "containers: [{name: main, image: main, resources: {limits: {nvidia.com/gpu: " + gpus + "}}}]}\n"
	}
	field := func(name, path string) string {
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "pod", name, "-n", s.NS, "-o", "jsonpath={"+path+"}")
		must(t, err)
		return out
	}
	operate(pod("victim", "6", ""))
	must(t, s.Eventually(ctx, "the first pod runs", func(context.Context) (bool, string) { p := field("victim", ".status.phase"); return p == "Running", p }))
	operate(pod("first", "8", "priorityClassName: nominated-first, "))
	must(t, s.Eventually(ctx, "the scheduler keeps the node for it", func(context.Context) (bool, string) {
		n := field("first", ".status.nominatedNodeName")
		return n == "nominated-1", n
	}))
	_, err := s.Apply(ctx, job{name: "two", queue: "nominated", pods: 1, gpus: 2}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "two", "WaitingForMachines"))
	must(t, s.Eventually(ctx, "the other pod runs", func(context.Context) (bool, string) { p := field("first", ".status.phase"); return p == "Running", p }))
	must(t, s.NoPods(ctx, "two"))
	_, err = s.Env.Kubectl(ctx, cluster.Admin, "delete", "pod", "first", "-n", s.NS, "--wait=false")
	must(t, err)
	must(t, s.Running(ctx, "two", 1))
}
