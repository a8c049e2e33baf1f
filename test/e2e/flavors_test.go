//go:build plane

package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const flavorPolicy = `holdshort:
  config:
    flavors:
      new: {nodeLabels: {kind: new}, taints: [{key: new, effect: NoSchedule}], tolerations: [{key: new, operator: Exists}]}
      old: {nodeLabels: {kind: old}}
    queues:
      mixed:
        namespaces: {names: [mixed]}
        flavors: [new, old]
        quota:
          new: {nvidia.com/gpu: 4}
          old: {nvidia.com/gpu: 4}
`

// flavorNodes are a new, tainted machine and an old one.
func flavorNodes() []cluster.NodeSpec {
	return []cluster.NodeSpec{
		{Name: "new-1", GPUs: 4, Labels: map[string]string{"kind": "new"}, Taints: []corev1.Taint{{Key: "new", Effect: corev1.TaintEffectNoSchedule}}},
		{Name: "old-1", GPUs: 4, Labels: map[string]string{"kind": "old"}},
	}
}

// addNodes adds machines till the test ends, and its pods with it: those of a
// machine that is gone would stay for a minute.
func addNodes(t *testing.T, ctx context.Context, s *stories.Scene, nodes []cluster.NodeSpec) {
	t.Helper()
	for _, node := range nodes {
		must(t, s.Kubelet.AddNode(ctx, node))
		t.Cleanup(func() {
			if err := s.Kubelet.RemoveNode(context.Background(), node.Name); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cleanUp(t, s) })
}

func TestS4JobsFillTheFirstFlavorThenTheSecond(t *testing.T) {
	ctx, s := scene(t, "mixed", flavorPolicy,
		history.Limit{Queue: "mixed", Flavor: "new", Resource: "nvidia.com/gpu", Amount: 4},
		history.Limit{Queue: "mixed", Flavor: "old", Resource: "nvidia.com/gpu", Amount: 4})
	addNodes(t, ctx, s, flavorNodes())

	_, err := s.Apply(ctx, job{name: "first", queue: "mixed", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "first", 4))
	wantPods(t, ctx, s, "first", "new-1", "new", true)

	_, err = s.Apply(ctx, job{name: "second", queue: "mixed", pods: 3, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "second", 3))
	wantPods(t, ctx, s, "second", "old-1", "old", false)
}

// wantPods checks node, selector and toleration of a Job's pods.
func wantPods(t *testing.T, ctx context.Context, s *stories.Scene, name, node, kind string, tolerates bool) {
	t.Helper()
	pods, err := s.Pods(ctx, name)
	must(t, err)
	for _, pod := range pods {
		if pod.Spec.NodeName != node || pod.Spec.NodeSelector["kind"] != kind {
			t.Errorf("%s runs on %s with selector %v, want %s and kind %s", pod.Name, pod.Spec.NodeName, pod.Spec.NodeSelector, node, kind)
		}
		found := false
		for _, toleration := range pod.Spec.Tolerations {
			found = found || toleration.Key == "new"
		}
		if found != tolerates {
			t.Errorf("%s has tolerations %v, want key new: %v", pod.Name, pod.Spec.Tolerations, tolerates)
		}
	}
}

func TestS4AJobThatAsksForOneKindItselfOnlyGetsThat(t *testing.T) {
	ctx, s := scene(t, "mixed", flavorPolicy)
	addNodes(t, ctx, s, flavorNodes())
	asks := "      nodeSelector: {kind: old}\n"
	_, err := s.Apply(ctx, job{name: "old-only", queue: "mixed", pods: 4, gpus: 1, podSpec: asks}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "old-only", 4))
	wantPods(t, ctx, s, "old-only", "old-1", "old", false)

	// The new machine is free, but it is not what this one asks for.
	_, err = s.Apply(ctx, job{name: "old-too", queue: "mixed", pods: 1, gpus: 1, podSpec: asks}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "old-too", "WaitingForQuota"))
}

func TestS4ConflictingWishesAreHeldWithAReason(t *testing.T) {
	ctx, s := scene(t, "mixed", flavorPolicy)
	addNodes(t, ctx, s, flavorNodes())
	_, err := s.Apply(ctx, job{name: "neither", queue: "mixed", pods: 1, gpus: 1, podSpec: "      nodeSelector: {kind: ancient}\n"}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "neither", "NoMatchingFlavor"))
	why, err := s.Explain(ctx, "neither")
	must(t, err)
	must(t, stories.Contains(why, "kind"))
}

func TestAnOwnerHoldsARunningJobEditsItAndLetsItGoAgain(t *testing.T) {
	ctx, s := scene(t, "mixed", flavorPolicy)
	heldEditedAndLetGo(t, ctx, s)
}

func heldEditedAndLetGo(t *testing.T, ctx context.Context, s *stories.Scene) {
	addNodes(t, ctx, s, flavorNodes())
	_, err := s.Apply(ctx, job{name: "moves", queue: "mixed", pods: 2, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "moves", 2))
	wantPods(t, ctx, s, "moves", "new-1", "new", true)
	hold(t, ctx, s, "moves")

	// Growing is refused while it runs; held, it is an edit like any other.
	must(t, s.Eventually(ctx, "it takes an edit", func(ctx context.Context) (bool, string) {
		_, err := s.Kubectl(ctx, "patch", "job", "moves", "--type=merge", "-p", `{"spec":{"parallelism":1,"template":{"spec":{"nodeSelector":{"kind":"old"}}}}}`)
		return err == nil, fmt.Sprint(err)
	}))
	_, err = s.Kubectl(ctx, "annotate", "job", "moves", "holdshort.dev/hold-")
	must(t, err)
	must(t, s.Running(ctx, "moves", 1))
	wantPods(t, ctx, s, "moves", "old-1", "old", false)
}

// hold has a Job's owner hold it, and waits until its pods are gone.
func hold(t *testing.T, ctx context.Context, s *stories.Scene, name string) {
	t.Helper()
	_, err := s.Kubectl(ctx, "annotate", "job", name, "holdshort.dev/hold=please")
	must(t, err)
	must(t, s.Eventually(ctx, "its pods are gone", func(ctx context.Context) (bool, string) {
		pods, err := s.Pods(ctx, name)
		return err == nil && len(pods) == 0, fmt.Sprint(len(pods), err)
	}))
	must(t, s.Waits(ctx, name, "HeldByOwner"))
}

func TestAJobThatRanGoesOnOnAnotherFlavorOrLeavesItsQueue(t *testing.T) {
	ctx, s := scene(t, "mixed", flavorPolicy)
	anotherFlavorOrNone(t, ctx, s)
}

func anotherFlavorOrNone(t *testing.T, ctx context.Context, s *stories.Scene) {
	addNodes(t, ctx, s, flavorNodes())
	for _, name := range []string{"moves", "leaves"} {
		_, err := s.Apply(ctx, job{name: name, queue: "mixed", pods: 2, gpus: 1}.yaml())
		must(t, err)
		must(t, s.Running(ctx, name, 2))
		wantPods(t, ctx, s, name, "new-1", "new", true)
	}
	hold(t, ctx, s, "moves")
	_, err := s.Apply(ctx, job{name: "takes-its-place", queue: "mixed", pods: 2, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "takes-its-place", 2))
	_, err = s.Kubectl(ctx, "annotate", "job", "moves", "holdshort.dev/hold-")
	must(t, err)
	must(t, s.Running(ctx, "moves", 2))
	wantPods(t, ctx, s, "moves", "old-1", "old", false)

	hold(t, ctx, s, "leaves")
	must(t, s.Eventually(ctx, "it may leave its queue", func(ctx context.Context) (bool, string) {
		_, err := s.Kubectl(ctx, "label", "job", "leaves", "holdshort.dev/queue-")
		return err == nil, fmt.Sprint(err)
	}))
	left, err := s.Job(ctx, "leaves")
	must(t, err)
	if flavors, found := left.Spec.Template.Annotations["holdshort.dev/flavors"]; found {
		t.Errorf("it left its queue, but its pods would still be charged there, on %s", flavors)
	}
}
