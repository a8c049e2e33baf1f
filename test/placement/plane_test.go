//go:build plane

package placement_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

const (
	poll = 50 * time.Millisecond
	// settled: the machine may be busy.
	settleTimeout = 60 * time.Second
)

// game is a drawn cluster as it stands on a plane.
type game struct {
	*drawn
	plane  *cluster.Cluster
	client kubernetes.Interface
	ns     string
	rivals int // pending strangers that we believe have room
}

func startPlane(t *testing.T) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	p, err := cluster.Start(ctx, cluster.Options{Log: os.Stderr})
	must(t, err)
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, class := range priorities() {
		_, err := p.Client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		must(t, err)
	}
	return p
}

// priorities of pods. Jobs displace nobody: what the scheduler would do for whom it
// prefers is nothing that the ledger counts on.
func priorities() []*schedulingv1.PriorityClass {
	never := corev1.PreemptNever
	class := func(name string, value int32) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: &never}
	}
	return []*schedulingv1.PriorityClass{class("low", -10), class("even", 0), class("high", 1000)}
}

func priority(name string) *schedulingv1.PriorityClass {
	for _, class := range priorities() {
		if class.Name == name {
			return class
		}
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until polls, and says what was still missing when the time was up.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(settleTimeout); ; {
		ok, err := done()
		if ok && err == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return errors.Join(fmt.Errorf("waiting until %s", what), err, ctx.Err())
		}
		time.Sleep(poll)
	}
}

// setUp makes the cluster and waits until everybody has had his say of it.
func (g *game) setUp(ctx context.Context) error {
	if err := g.plane.Namespace(ctx, g.ns); err != nil {
		return err
	}
	for _, m := range g.Nodes {
		if err := g.addNode(ctx, m); err != nil {
			return err
		}
	}
	if err := g.create(ctx); err != nil {
		return err
	}
	if err := until(ctx, "the nodes have their taints", func() (bool, error) { return g.tainted(ctx) }); err != nil {
		return err
	}
	for _, s := range g.Strangers {
		if _, err := g.client.CoreV1().Pods(g.ns).Create(ctx, s.Pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making %s: %w", s.Name, err)
		}
	}
	if err := until(ctx, "all pods are bound or unschedulable", func() (bool, error) { return g.quiet(ctx) }); err != nil {
		return err
	}
	long := int64(3600)
	for _, s := range g.Strangers {
		if !s.Terminating {
			continue
		}
		if err := g.client.CoreV1().Pods(g.ns).Delete(ctx, s.Name, metav1.DeleteOptions{GracePeriodSeconds: &long}); err != nil {
			return err
		}
	}
	for _, job := range g.Jobs {
		if _, err := g.client.BatchV1().Jobs(g.ns).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making %s: %w", job.Name, err)
		}
	}
	return nil
}

func (g *game) addNode(ctx context.Context, m machine) error {
	if err := g.plane.Kubelet.AddNode(ctx, m.NodeSpec); err != nil {
		return err
	}
	if m.NotReady {
		if err := g.plane.Kubelet.SetReady(ctx, m.Name, false); err != nil {
			return err
		}
	}
	if !m.Cordoned {
		return nil
	}
	_, err := g.client.CoreV1().Nodes().Patch(ctx, m.Name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	return err
}

func (g *game) nodes(ctx context.Context) ([]corev1.Node, error) {
	list, err := g.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (g *game) tainted(ctx context.Context) (bool, error) {
	nodes, err := g.nodes(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range g.Nodes {
		i := slices.IndexFunc(nodes, func(n corev1.Node) bool { return n.Name == m.Name })
		has := func(key string) bool {
			return slices.ContainsFunc(nodes[i].Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		}
		if m.NotReady != has(corev1.TaintNodeNotReady) || m.Cordoned != has(corev1.TaintNodeUnschedulable) {
			return false, nil
		}
	}
	return true, nil
}

func (g *game) pods(ctx context.Context, job string) ([]corev1.Pod, error) {
	options := metav1.ListOptions{}
	if job != "" {
		options.LabelSelector = "job-name=" + job
	}
	list, err := g.client.CoreV1().Pods(g.ns).List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// quiet: nobody will say anything more of any pod.
func (g *game) quiet(ctx context.Context) (bool, error) {
	pods, err := g.pods(ctx, "")
	if err != nil {
		return false, err
	}
	for i := range pods {
		if pods[i].Spec.NodeName == "" && !unschedulable(&pods[i]) || pods[i].Spec.NodeName != "" && pods[i].Status.StartTime == nil {
			return false, fmt.Errorf("pod %s on node %q, of which is said: %v", pods[i].Name, pods[i].Spec.NodeName, pods[i].Status.Conditions)
		}
	}
	return true, nil
}

// unschedulable: the scheduler has found no node, or it has given the pod up, as for a
// claim that it fails on.
func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
			(c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulerError)
	})
}

// suspend lets a Job go, or takes it back, with nothing else written.
func (g *game) suspend(ctx context.Context, job string, yes bool) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"suspend": yes}})
	if err != nil {
		return err
	}
	_, err = g.client.BatchV1().Jobs(g.ns).Patch(ctx, job, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// tearDown leaves nothing that the next cluster could meet.
func (g *game) tearDown(ctx context.Context) error {
	now, background := int64(0), metav1.DeletePropagationBackground
	err := g.client.BatchV1().Jobs(g.ns).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	if err != nil {
		return err
	}
	err = until(ctx, "all pods are gone", func() (bool, error) {
		pods, err := g.pods(ctx, "")
		if err != nil || len(pods) == 0 {
			return true, err
		}
		return false, g.client.CoreV1().Pods(g.ns).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	})
	if err != nil {
		return err
	}
	for _, m := range g.Nodes {
		if err := g.plane.Kubelet.RemoveNode(ctx, m.Name); err != nil {
			return err
		}
	}
	if err := g.remove(ctx); err != nil {
		return err
	}
	return g.client.CoreV1().Namespaces().Delete(ctx, g.ns, metav1.DeleteOptions{})
}
