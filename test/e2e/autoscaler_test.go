//go:build plane

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

// elasticPolicy has up to two machines of 4 GPUs that are not there, and others.
func elasticPolicy(ns string, timeout int) string {
	return fmt.Sprintf(`holdshort:
  config:
    flavors:
      spot:
        nodeLabels: {pool: %[1]s-spot}
        taints: [{key: spot, effect: NoSchedule}]
        tolerations: [{key: spot, operator: Exists}]
        elastic: {max: 2, node: {nvidia.com/gpu: 4, cpu: 32, memory: 128Gi}, timeoutSeconds: %[2]d}
      own: {nodeLabels: {pool: %[1]s-own}}
    queues:
      rich:
        placementTimeoutSeconds: %[2]d
        backoff: {baseSeconds: 25}
        namespaces: {names: [%[1]s]}
        flavors: [spot, own]
        quota: {spot: {nvidia.com/gpu: 100}, own: {nvidia.com/gpu: 4}}
      poor:
        namespaces: {names: [%[1]s]}
        flavors: [spot]
        quota: {spot: {nvidia.com/gpu: 4}}
`, ns, timeout)
}

// autoscaler does what cluster-autoscaler does: it adds a node when a pod finds none, and
// takes away one that nobody uses.
type autoscaler struct {
	s       *stories.Scene
	most    int
	mu      sync.Mutex
	bought  int
	machine map[string]time.Time // name → since when it is idle
	failed  error
}

func startAutoscaler(t *testing.T, ctx context.Context, s *stories.Scene, most int) *autoscaler {
	t.Helper()
	a := &autoscaler{s: s, most: most, machine: map[string]time.Time{}}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				if err := a.look(ctx); err != nil && ctx.Err() == nil {
					a.mu.Lock()
					a.failed = err
					a.mu.Unlock()
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
		for name := range a.machine {
			if err := s.Kubelet.RemoveNode(context.Background(), name); err != nil {
				t.Error(err)
			}
		}
		if a.failed != nil {
			t.Error(a.failed)
		}
	})
	t.Cleanup(func() { cleanUp(t, s) })
	return a
}

func (a *autoscaler) look(ctx context.Context) error {
	pods, err := a.s.Client.CoreV1().Pods(a.s.NS).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	homeless, used := 0, map[string]bool{}
	for _, pod := range pods.Items {
		used[pod.Spec.NodeName] = true
		if pod.Spec.NodeName == "" && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		}) {
			homeless++
		}
	}
	for name, since := range a.machine {
		switch {
		case used[name]:
			a.machine[name] = time.Now()
		case homeless > 0:
			homeless-- // it will be used
		case time.Since(since) > 3*time.Second:
			if err := a.s.Kubelet.RemoveNode(ctx, name); err != nil {
				return err
			}
			delete(a.machine, name)
		}
	}
	for ; homeless > 0 && len(a.machine) < a.most; homeless-- {
		a.bought++
		name := fmt.Sprintf("%s-spot-%d", a.s.NS, a.bought)
		if err := a.s.Kubelet.AddNode(ctx, cluster.NodeSpec{
			Name: name, GPUs: 4, Labels: map[string]string{"pool": a.s.NS + "-spot"},
			Taints: []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectNoSchedule}},
		}); err != nil {
			return err
		}
		a.machine[name] = time.Now()
	}
	return nil
}

// has waits until so many machines are there, and returns how many were ever bought.
func (a *autoscaler) has(t *testing.T, ctx context.Context, n int) int {
	t.Helper()
	must(t, a.s.Eventually(ctx, fmt.Sprintf("there are %d machines", n), func(context.Context) (bool, string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.machine) == n, fmt.Sprint(a.machine)
	}))
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bought
}

// homeless waits until a Job's pods have been told that there is no node for them.
func homeless(t *testing.T, ctx context.Context, s *stories.Scene, name string) {
	t.Helper()
	must(t, s.Eventually(ctx, name+" has a pod that finds no node", func(ctx context.Context) (bool, string) {
		pods, err := s.Pods(ctx, name)
		return err == nil && len(pods) == 1 && pods[0].Spec.NodeName == "" && len(pods[0].Status.Conditions) > 0, fmt.Sprint(len(pods), err)
	}))
}

func TestMachinesAreAskedForUpToAsManyAsThereMayBe(t *testing.T) {
	ctx, s := sceneBy(t, "scaled", elasticPolicy("scaled", 600), history.Rules{Homeless: true, Limits: []history.Limit{
		{Queue: "poor", Flavor: "spot", Resource: "nvidia.com/gpu", Amount: 4},
	}})
	for _, name := range []string{"a", "b", "c"} {
		_, err := s.Apply(ctx, job{name: name, queue: "rich", pods: 1, gpus: 4}.yaml())
		must(t, err)
	}
	homeless(t, ctx, s, "a")
	homeless(t, ctx, s, "b")
	must(t, s.Says(ctx, "c", "WaitingForMachines"))
	must(t, s.NoPods(ctx, "c"))
	events, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", s.NS, "get", "events", "-o", "jsonpath={.items[*].message}")
	must(t, err)
	must(t, stories.Contains(events, "its pods wait for 1 machine more, to be added by the autoscaler"))
	out, err := s.Explain(ctx, "b")
	must(t, err)
	must(t, stories.Contains(out, "Machines  its pods wait for 1 machine more"))

	a := startAutoscaler(t, ctx, s, 2)
	must(t, s.Running(ctx, "a", 1))
	must(t, s.Running(ctx, "b", 1))
	must(t, s.NoPods(ctx, "c"))
	_, err = s.Env.Kubectl(ctx, cluster.Admin, "-n", s.NS, "delete", "job", "a")
	must(t, err)
	must(t, s.Running(ctx, "c", 1))
	if bought := a.has(t, ctx, 2); bought != 2 {
		t.Errorf("%d machines were bought for what two have room for", bought)
	}

	_, err = s.Env.Kubectl(ctx, cluster.Admin, "-n", s.NS, "delete", "job", "b", "c")
	must(t, err)
	a.has(t, ctx, 0)
	for _, name := range []string{"first", "second"} {
		_, err := s.Apply(ctx, job{name: name, queue: "poor", pods: 1, gpus: 4}.yaml())
		must(t, err)
		must(t, s.Eventually(ctx, "it is seen", func(ctx context.Context) (bool, string) {
			j, err := s.Job(ctx, name)
			return err == nil && j.Labels["holdshort.dev/state"] != "", fmt.Sprint(err)
		}))
	}
	must(t, s.Running(ctx, "first", 1))
	must(t, s.Says(ctx, "second", "WaitingForQuota"))
	must(t, s.NoPods(ctx, "second"))
	if bought := a.has(t, ctx, 1); bought != 3 {
		t.Errorf("%d machines were bought, want 3: a Job that its quota keeps back buys none", bought)
	}
}

func TestAnAutoscalerWithoutMachinesLeavesTheNextFlavorItsTurn(t *testing.T) {
	ctx, s := sceneBy(t, "soldout", elasticPolicy("soldout", 8), history.Rules{Homeless: true})
	_, err := s.Apply(ctx, job{name: "first", queue: "rich", pods: 1, gpus: 4}.yaml())
	must(t, err)
	homeless(t, ctx, s, "first")
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "soldout-own-1", GPUs: 4, Labels: map[string]string{"pool": "soldout-own"}}})
	must(t, s.Running(ctx, "first", 1))
	pods, err := s.Pods(ctx, "first")
	must(t, err)
	if node := pods[0].Spec.NodeName; node != "soldout-own-1" {
		t.Errorf("it runs on %s", node)
	}
	_, err = s.Apply(ctx, job{name: "like", queue: "rich", pods: 1, gpus: 4}.yaml())
	must(t, err)
	must(t, s.Says(ctx, "like", "WaitingForQuota"))
	must(t, s.NoPods(ctx, "like"))
	out, err := s.Explain(ctx, "like")
	must(t, err)
	must(t, stories.Contains(out, "0 left; more machines of spot were asked for in vain, and are asked for again from "))
	homeless(t, ctx, s, "like") // once they are asked for again
}
