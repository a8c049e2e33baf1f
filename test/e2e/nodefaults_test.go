//go:build plane

package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/stories"
)

// beside runs two pods on the second machine that nothing may touch, and says what
// they look like.
func beside(t *testing.T, ctx context.Context, s *stories.Scene) map[string]any {
	t.Helper()
	there := fmt.Sprintf("      nodeSelector: {kubernetes.io/hostname: %s-2}\n", s.NS)
	_, err := s.Apply(ctx, job{name: "runs", queue: s.NS, pods: 2, gpus: 1, podSpec: there}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 2))
	return runsStill(t, ctx, s, "runs")
}

// A cloud replaces a machine by another of the same name while a gang waits for two
// whole ones. Who ran there is gone, and counts no more; who runs on the other machine
// is not touched, and nobody is given what he has.
func TestAMachineIsReplacedUnderAWaitingGang(t *testing.T) {
	ctx, s := machinesScene(t, "replacing", 2, 4, history.Rules{})
	before := beside(t, ctx, s)
	_, err := s.Apply(ctx, holder("holder", "nodeName: replacing-1", 3))
	must(t, err)
	must(t, s.PodRuns(ctx, "holder"))
	_, err = s.Apply(ctx, job{name: "gang", queue: "replacing", pods: 2, gpus: 4}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "gang", "WaitingForMachines"))

	node := cluster.NodeSpec{Name: "replacing-1", GPUs: 4, Labels: map[string]string{"machines": "replacing"}}
	must(t, s.Kubelet.Recreate(ctx, node))
	// Six cards are free: four of the new machine and two beside those that run.
	_, err = s.Apply(ctx, job{name: "small", queue: "replacing-beside", pods: 6, gpus: 1, run: "2s"}.yaml())
	must(t, err)
	must(t, s.Finished(ctx, "small"))
	must(t, s.NoPods(ctx, "gang"))
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "runs")); diff != "" {
		t.Errorf("the Job on the other machine was disturbed (-before +after):\n%s", diff)
	}
	_, err = s.Kubectl(ctx, "delete", "job", "runs")
	must(t, err)
	must(t, s.Running(ctx, "gang", 2))
}

// The cards of a machine are cut into parts while a gang waits for whole ones. The
// parts are nothing to it, and whole cards of another machine nothing to those who
// want parts.
func TestAMachineIsCutUnderAWaitingGang(t *testing.T) {
	const mig = "nvidia.com/mig-3g.40gb"
	ctx, s := sceneBy(t, "cutting", `holdshort:
  config:
    flavors: {own: {nodeLabels: {machines: cutting}}}
    queues:
      cutting: &queue {namespaces: {names: [cutting]}, flavors: [own], quota: {own: {nvidia.com/gpu: 100, nvidia.com/mig-3g.40gb: 100}}}
      cutting-beside: *queue
`, history.Rules{})
	for i := range 2 {
		addNodes(t, ctx, s, []cluster.NodeSpec{{Name: fmt.Sprint("cutting-", i+1), GPUs: 4, Labels: map[string]string{"machines": "cutting"}}})
	}
	before := beside(t, ctx, s)
	_, err := s.Apply(ctx, job{name: "gang", queue: "cutting", pods: 7, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "gang", "WaitingForMachines"))

	done, err := s.Kubelet.Repartition(ctx, "cutting-1", kubelet.ResourceGPU, map[corev1.ResourceName]string{mig: "8"})
	must(t, err)
	parts := job{name: "parts", queue: "cutting-beside", pods: 8, run: "2s", resources: "{limits: {" + mig + ": 1}}"}
	_, err = s.Apply(ctx, parts.yaml()+job{name: "three", queue: "cutting-beside", pods: 3, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "parts", "NeverFits"))
	must(t, s.NoPods(ctx, "parts"))
	must(t, done(ctx))
	must(t, s.Finished(ctx, "parts"))
	// Whole cards are on the other machine alone, where two are free.
	must(t, s.NoPods(ctx, "three"))
	must(t, s.NoPods(ctx, "gang"))
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "runs")); diff != "" {
		t.Errorf("the Job on the other machine was disturbed (-before +after):\n%s", diff)
	}
	_, err = s.Kubectl(ctx, "delete", "job", "three") // it would be first where cards come back
	must(t, err)
	back, err := s.Kubelet.Repartition(ctx, "cutting-1", mig, map[corev1.ResourceName]string{kubelet.ResourceGPU: "4"})
	must(t, err)
	must(t, back(ctx))
	_, err = s.Kubectl(ctx, "delete", "job", "runs")
	must(t, err)
	must(t, s.Running(ctx, "gang", 7))
}

// A cluster autoscaler buys machines for pods that can't be scheduled. A Job whose
// queue has no quota left never has a pod, whatever happens around it, so nothing is
// bought; nor for a Job that has its quota and waits for machines.
func TestAutoscalersSeeNoPodsOfWhoWaits(t *testing.T) {
	ctx, s := sceneBy(t, "unbought", `holdshort:
  config:
    flavors: {own: {nodeLabels: {machines: unbought}}}
    queues:
      unbought: {namespaces: {names: [unbought]}, flavors: [own], quota: {own: {nvidia.com/gpu: 2}}}
      unbought-rich: {namespaces: {names: [unbought]}, flavors: [own], quota: {own: {nvidia.com/gpu: 100}}}
`, history.Rules{})
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "unbought-1", GPUs: 8, Labels: map[string]string{"machines": "unbought"}}})
	made, unschedulable := podsOver(t, ctx, s)
	_, err := s.Apply(ctx, job{name: "first", queue: "unbought", pods: 2, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "first", 2))
	_, err = s.Apply(ctx, job{name: "blocked", queue: "unbought", pods: 2, gpus: 1}.yaml()+job{name: "large", queue: "unbought-rich", pods: 8, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "blocked", "WaitingForQuota"))
	must(t, s.Waits(ctx, "large", "WaitingForMachines"))
	for i := range 10 { // others come and go, machines come and go
		_, err := s.Apply(ctx, job{name: fmt.Sprint("other-", i), queue: "unbought-rich", pods: 2, gpus: 1, run: "100ms"}.yaml())
		must(t, err)
		must(t, s.Finished(ctx, fmt.Sprint("other-", i)))
		start, err := s.Kubelet.StopPlugin(ctx, "unbought-1", kubelet.ResourceGPU)
		must(t, err)
		must(t, start(ctx))
	}
	if n := made("blocked"); n != 0 {
		t.Errorf("%d pods were made of a Job without quota", n)
	}
	if n := made("large"); n != 0 {
		t.Errorf("%d pods were made of a Job without machines", n)
	}
	if n := unschedulable(); n != 0 {
		t.Errorf("%d times a pod was unschedulable: a machine would have been bought", n)
	}
	// Its pods may go one by one; only when both have gone is there room for the large one,
	// and the other was there before that.
	_, err = s.Kubectl(ctx, "delete", "job", "first")
	must(t, err)
	must(t, s.Running(ctx, "blocked", 2))
	if n := made("blocked"); n != 2 {
		t.Errorf("%d pods were made of a Job of two", n)
	}
}

// podsOver counts from now on the pods that are made of a Job, and how often one was
// found unschedulable.
func podsOver(t *testing.T, ctx context.Context, s *stories.Scene) (made func(job string) int64, unschedulable func() int64) {
	t.Helper()
	counts := map[string]*atomic.Int64{"blocked": {}, "large": {}}
	var never atomic.Int64
	watcher, err := s.Client.CoreV1().Pods(s.NS).Watch(ctx, metav1.ListOptions{})
	must(t, err)
	t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if n := counts[pod.Labels["job-name"]]; n != nil && event.Type == watch.Added {
				n.Add(1)
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					never.Add(1)
				}
			}
		}
	}()
	settle := func() { time.Sleep(time.Second) } // what was made is on its way to us
	return func(job string) int64 { settle(); return counts[job].Load() }, func() int64 { settle(); return never.Load() }
}
