//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/stories"
)

// machinesScene has a queue of the namespace's name, with more quota than machines.
func machinesScene(t *testing.T, ns string, nodes int, gpus int64, rules history.Rules) (context.Context, *stories.Scene) {
	t.Helper()
	policy := strings.ReplaceAll(`holdshort:
  config:
    flavors: {own: {nodeLabels: {machines: NS}}}
    queues:
      NS: &queue {namespaces: {names: [NS]}, flavors: [own], quota: {own: {nvidia.com/gpu: 100}}}
      NS-beside: *queue
`, "NS", ns)
	ctx, s := sceneBy(t, ns, policy, rules)
	for i := range nodes {
		addNodes(t, ctx, s, []cluster.NodeSpec{{Name: fmt.Sprintf("%s-%d", ns, i+1), GPUs: gpus, Labels: map[string]string{"machines": ns}}})
	}
	return ctx, s
}

// holder is a pod that nobody queued and that holds a GPU or more.
func holder(name, place string, gpus int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {plane.holdshort.dev/stop: 6s}}
spec:
  %s
  tolerations: [{operator: Exists}]
  containers: [{name: main, image: main, resources: {limits: {nvidia.com/gpu: %d}}}]
---
`, name, place, gpus)
}

// Quota says yes, the machines say no: whoever holds the devices, and however it
// came there.
func TestS3WhoeverHoldsTheMachines(t *testing.T) {
	for i, c := range []struct{ name, pod string }{
		{"a pod bound past the scheduler", holder("holder", "nodeName: NODE", 5)},
		{"a static pod", strings.Replace(holder("holder", "nodeName: NODE", 5), "annotations: {", `annotations: {kubernetes.io/config.mirror: a1, kubernetes.io/config.source: file, `, 1)},
		{"a pod whose sidecar has most of them", holder("holder", "nodeName: NODE\n  initContainers: [{name: side, image: side, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 4}}}]", 1)},
		{"a pod that takes its time to go", holder("holder", "nodeSelector: {kubernetes.io/hostname: NODE}", 5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			ns := fmt.Sprintf("holders-%d", i)
			ctx, s := machinesScene(t, ns, 1, 8, history.Rules{})
			_, err := s.Apply(ctx, strings.ReplaceAll(c.pod, "NODE", ns+"-1"))
			must(t, err)
			must(t, s.PodRuns(ctx, "holder"))
			_, err = s.Apply(ctx, job{name: "train", queue: ns, pods: 4, gpus: 1}.yaml())
			must(t, err)
			must(t, s.Waits(ctx, "train", "WaitingForMachines"))
			_, err = s.Kubectl(ctx, "delete", "pod", "holder", "--wait=false", "--grace-period=30")
			must(t, err)
			// It is told to go, and holds what it has until it is gone.
			must(t, s.Waits(ctx, "train", "WaitingForMachines"))
			must(t, s.NoPods(ctx, "train"))
			must(t, s.Running(ctx, "train", 4))
		})
	}
}

// Two pods of 8 GPUs where 7, 7 and 8 are free: 22 are enough, and no pod is made.
func TestPodsOfWholeMachinesWaitForWholeMachines(t *testing.T) {
	ctx, s := machinesScene(t, "wholes", 3, 8, history.Rules{})
	for i := range 2 {
		name := fmt.Sprint("holder-", i+1)
		_, err := s.Apply(ctx, holder(name, fmt.Sprintf("nodeName: wholes-%d", i+1), 1))
		must(t, err)
		must(t, s.PodRuns(ctx, name))
	}
	_, err := s.Apply(ctx, job{name: "pair", queue: "wholes", pods: 2, gpus: 8}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "pair", "Fragmented"))
	must(t, s.NoPods(ctx, "pair"))
	// One of 8 goes past it where a whole machine is free, and small ones beside.
	_, err = s.Kubectl(ctx, "delete", "pod", "holder-1")
	must(t, err)
	must(t, s.Running(ctx, "pair", 2))
}

// Explain says of the machines, group by group, why they take no more: of the head of a
// queue as they are, of who comes after it as they were when it was told.
func TestExplainSaysWhatKeepsEachNode(t *testing.T) {
	ctx, s := machinesScene(t, "nodes", 4, 8, history.Rules{})
	_, err := s.Apply(ctx, holder("holder", "nodeName: nodes-1", 5))
	must(t, err)
	must(t, s.PodRuns(ctx, "holder"))
	admin := func(args ...string) {
		t.Helper()
		_, err := s.Env.Kubectl(ctx, cluster.Admin, args...)
		must(t, err)
	}
	admin("taint", "node", "nodes-2", "dedicated=vision:NoSchedule")
	admin("cordon", "nodes-3")
	for _, name := range []string{"first", "second"} {
		_, err = s.Apply(ctx, job{name: name, queue: "nodes", pods: 6, gpus: 3}.yaml())
		must(t, err)
		must(t, s.Waits(ctx, name, "WaitingForMachines"))
	}
	says := func(job string, want ...string) {
		t.Helper()
		must(t, s.Eventually(ctx, job+" is told of the nodes", func(ctx context.Context) (bool, string) {
			out, err := s.Explain(ctx, job)
			return err == nil && stories.Contains(out, want...) == nil, out
		}))
	}
	says("second", "Nodes     as of", "own: 1 node (nodes-4) takes 2 pods: 8 of 8 nvidia.com/gpu free")
	says("first", "Nodes     own: 1 node (nodes-4) takes 2 pods: 8 of 8 nvidia.com/gpu free", "1 node (nodes-1) takes 1 pod: 3 of 8 nvidia.com/gpu free",
		"1 node (nodes-2): taint dedicated=vision:NoSchedule not tolerated", "1 node (nodes-3): cordoned")
	admin("uncordon", "nodes-3")
	says("first", "Nodes     own: 2 nodes take 2 pods each: 8 of 8 nvidia.com/gpu free")
	_, err = s.Apply(ctx, job{name: "never", queue: "nodes", pods: 1, gpus: 9}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "never", "NeverFits"))
	says("never", "9 nvidia.com/gpu asked, 8 is the most that one has", "8 of 8 nvidia.com/gpu free")
	admin("taint", "node", "nodes-2", "dedicated-")
	must(t, s.Running(ctx, "first", 6))
	must(t, s.Eventually(ctx, "who runs says nothing of nodes", func(ctx context.Context) (bool, string) {
		j, err := s.Job(ctx, "first")
		return err == nil && j.Annotations["holdshort.dev/nodes"] == "", fmt.Sprint(j.Annotations, err)
	}))
}

// A node is drained while a gang waits for it: the gang does not start when others
// end there, and starts when the node is back.
func TestANodeIsDrainedUnderAWaitingGang(t *testing.T) {
	ctx, s := machinesScene(t, "drained", 2, 4, history.Rules{})
	_, err := s.Apply(ctx, holder("holder", "nodeSelector: {kubernetes.io/hostname: drained-1}", 2))
	must(t, err)
	must(t, s.PodRuns(ctx, "holder"))
	_, err = s.Apply(ctx, job{name: "gang", queue: "drained", pods: 2, gpus: 4}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "gang", "WaitingForMachines"))
	admin := func(args ...string) {
		t.Helper()
		_, err := s.Env.Kubectl(ctx, cluster.Admin, args...)
		must(t, err)
	}
	admin("drain", "drained-1", "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
	must(t, s.Eventually(ctx, "the holder is gone", func(ctx context.Context) (bool, string) {
		out, err := s.Kubectl(ctx, "get", "pods", "-o", "name")
		return err == nil && !strings.Contains(out, "pod/holder"), out
	}))
	// Whoever comes after that starts where there is room, so all of it was seen.
	_, err = s.Apply(ctx, job{name: "small", queue: "drained-beside", pods: 4, gpus: 1, run: "1s"}.yaml())
	must(t, err)
	must(t, s.Finished(ctx, "small"))
	must(t, s.NoPods(ctx, "gang"))
	must(t, s.Eventually(ctx, "gang is told of the node", func(ctx context.Context) (bool, string) {
		out, err := s.Explain(ctx, "gang")
		return err == nil && stories.Contains(out, "Now       ", "1 of 2 matching nodes is cordoned or not ready") == nil, out
	}))
	admin("uncordon", "drained-1")
	must(t, s.Running(ctx, "gang", 2))
}

// The device plugin restarts after a Job was let go and before its pods are bound:
// they keep what they were promised, nobody is let go in between, and nobody who
// runs is touched.
func TestADevicePluginRestartsInMidAdmission(t *testing.T) {
	ctx, s := machinesScene(t, "plugin", 1, 8, history.Rules{Homeless: true})
	_, err := s.Apply(ctx, job{name: "runs", queue: "plugin", pods: 2, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 2))
	before := runsStill(t, ctx, s, "runs")
	gated := job{name: "coming", queue: "plugin", pods: 4, gpus: 1, podSpec: "      schedulingGates: [{name: example.com/later}]\n"}
	_, err = s.Apply(ctx, gated.yaml())
	must(t, err)
	var pods []corev1.Pod
	must(t, s.Eventually(ctx, "its pods are made", func(ctx context.Context) (bool, string) {
		pods, err = s.Pods(ctx, "coming")
		return err == nil && len(pods) == 4, fmt.Sprint(len(pods), err)
	}))
	start, err := s.Kubelet.StopPlugin(ctx, "plugin-1", kubelet.ResourceGPU)
	must(t, err)
	_, err = s.Apply(ctx, job{name: "next", queue: "plugin", pods: 2, gpus: 1}.yaml()+job{name: "more", queue: "plugin", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "next", "WaitingForMachines"))
	for _, pod := range pods {
		_, err := s.Kubectl(ctx, "patch", "pod", pod.Name, "--type=merge", "-p", `{"spec":{"schedulingGates":null}}`)
		must(t, err)
	}
	must(t, s.NoPods(ctx, "next"))
	must(t, start(ctx))
	must(t, s.Running(ctx, "coming", 4))
	must(t, s.Running(ctx, "next", 2))
	must(t, s.NoPods(ctx, "more"))
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "runs")); diff != "" {
		t.Errorf("the Job that ran was disturbed (-before +after):\n%s", diff)
	}
	after, err := s.Pods(ctx, "coming")
	must(t, err)
	if diff := cmp.Diff(uids(pods), uids(after)); diff != "" {
		t.Errorf("the Job was taken back in between (pods -before +after):\n%s", diff)
	}
}

func uids(pods []corev1.Pod) map[string]bool {
	all := map[string]bool{}
	for _, pod := range pods {
		all[string(pod.UID)] = true
	}
	return all
}
