//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const rackLabel = "example.com/rack"

// racksPolicy has machines in racks, and little patience.
const racksPolicy = `holdshort:
  config:
    flavors:
      racked: {nodeLabels: {e2e: racked}, topology: [example.com/block, example.com/rack]}
    queues:
      racks:
        namespaces: {names: [racks]}
        flavors: [racked]
        quota: {racked: {nvidia.com/gpu: 1000}}
        placementTimeoutSeconds: 8
        backoff: {baseSeconds: 1, maxSeconds: 2}
`

func together(name, how, level string, pods int) string {
	return job{name: name, queue: "racks", pods: pods, gpus: 8, run: "10m",
		annotations: fmt.Sprintf(`{holdshort.dev/%s-topology: %s}`, how, level)}.yaml()
}

// stranger holds a whole node and belongs to nobody.
func stranger(node string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: on-%[1]s, annotations: {plane.holdshort.dev/stop: 50ms}}
spec:
  nodeSelector: {kubernetes.io/hostname: %[1]s}
  containers: [{name: main, image: none, resources: {limits: {nvidia.com/gpu: 8}}}]
`, node)
}

// racksOf is how many pods of a Job there are in each rack.
func racksOf(ctx context.Context, s *stories.Scene, name string) (map[string]int, error) {
	pods, err := s.Pods(ctx, name)
	if err != nil {
		return nil, err
	}
	in := map[string]int{}
	for i := range pods {
		rack, _, _ := strings.Cut(pods[i].Spec.NodeName, "-")
		in[rack]++
	}
	return in, nil
}

func inRack(t *testing.T, ctx context.Context, s *stories.Scene, name, rack string, pods int) {
	t.Helper()
	must(t, s.Running(ctx, name, pods))
	in, err := racksOf(ctx, s, name)
	must(t, err)
	if len(in) != 1 || in[rack] != pods {
		t.Errorf("%s runs in %v, want all %d pods in %s", name, in, pods, rack)
	}
}

func addRacks(t *testing.T, ctx context.Context, s *stories.Scene, racks map[string]int) {
	t.Helper()
	var nodes []cluster.NodeSpec
	for name, count := range racks {
		for i := range count {
			nodes = append(nodes, cluster.NodeSpec{Name: fmt.Sprintf("%s-%d", name, i), GPUs: 8, Labels: map[string]string{"e2e": "racked", rackLabel: name}})
		}
	}
	addNodes(t, ctx, s, nodes)
}

// TestAGangDoesNotStraddle: four pods with 8 cards each want one rack, and wait while
// two racks together have four nodes free. When one is whole, they start there.
func TestAGangDoesNotStraddle(t *testing.T) {
	ctx, s := scene(t, "racks", racksPolicy)
	addRacks(t, ctx, s, map[string]int{"racka": 4, "rackb": 4})
	for _, node := range []string{"racka-0", "rackb-0", "rackb-1", "rackb-2"} {
		_, err := s.Apply(ctx, stranger(node))
		must(t, err)
		must(t, s.PodRuns(ctx, "on-"+node))
	}
	_, err := s.Apply(ctx, together("train", "required", rackLabel, 4))
	must(t, err)
	must(t, s.Waits(ctx, "train", "Fragmented"))
	text, err := s.Explain(ctx, "train")
	must(t, err)
	must(t, stories.Contains(text, "4 pods of 8 nvidia.com/gpu each asked in one example.com/rack", "room for 4, at most 3 in one (racka, of 2)"))
	_, err = s.Apply(ctx, together("huge", "required", rackLabel, 5))
	must(t, err)
	must(t, s.Waits(ctx, "huge", "NeverFits"))
	_, err = s.Apply(ctx, together("lost", "required", "example.com/zone", 1))
	must(t, err)
	must(t, s.Waits(ctx, "lost", "NoMatchingFlavor"))

	// Who needs less takes the smaller hole, and leaves the big one whole.
	_, err = s.Apply(ctx, together("one", "required", rackLabel, 1))
	must(t, err)
	inRack(t, ctx, s, "one", "rackb", 1)

	_, err = s.Kubectl(ctx, "-n", s.NS, "delete", "pod", "on-racka-0")
	must(t, err)
	inRack(t, ctx, s, "train", "racka", 4)
	text, err = s.Explain(ctx, "train")
	must(t, err)
	must(t, stories.Contains(text, "all in example.com/rack=racka", "Admitted"))

	// What runs stays where it is over a restart, and so do pods that are replaced.
	s.Manager.Stop()
	must(t, s.Manager.Start(ctx))
	pods, err := s.Pods(ctx, "train")
	must(t, err)
	_, err = s.Kubectl(ctx, "-n", s.NS, "delete", "pod", pods[0].Name)
	must(t, err)
	must(t, s.Eventually(ctx, "the pod is replaced", func(ctx context.Context) (bool, string) {
		now, err := s.Pods(ctx, "train")
		if err != nil {
			return false, err.Error()
		}
		bound := 0
		for i := range now {
			if now[i].Name != pods[0].Name && now[i].Spec.NodeName != "" && now[i].DeletionTimestamp == nil {
				bound++
			}
		}
		return bound == 4, fmt.Sprintf("%d bound", bound)
	}))
	inRack(t, ctx, s, "train", "racka", 4)
}

// TestAGangPrefersOneRack: it takes one if it can, and as few as possible if not.
func TestAGangPrefersOneRack(t *testing.T) {
	ctx, s := scene(t, "racks", racksPolicy)
	addRacks(t, ctx, s, map[string]int{"rackc": 2, "rackd": 3})
	_, err := s.Apply(ctx, together("near", "preferred", rackLabel, 2))
	must(t, err)
	inRack(t, ctx, s, "near", "rackc", 2)
	text, err := s.Explain(ctx, "near")
	must(t, err)
	must(t, stories.Contains(text, "preferred in example.com/rack=rackc"))
	addRacks(t, ctx, s, map[string]int{"racke": 1})
	_, err = s.Apply(ctx, together("spread", "preferred", rackLabel, 4))
	must(t, err)
	must(t, s.Running(ctx, "spread", 4))
}

// TestADomainIsTakenByAStranger: a gang was let go, and before its pods are bound, a pod
// of nobody takes a node of its rack. It is taken back whole, and finds another rack.
func TestADomainIsTakenByAStranger(t *testing.T) {
	ctx, s := sceneBy(t, "racks", racksPolicy, history.Rules{Homeless: true})
	addRacks(t, ctx, s, map[string]int{"rackf": 2, "rackg": 3})
	gated := job{name: "gated", queue: "racks", pods: 2, gpus: 8, run: "10m", annotations: "{holdshort.dev/required-topology: " + rackLabel + "}",
		podSpec: "      schedulingGates: [{name: example.com/wait}]\n"}
	_, err := s.Apply(ctx, gated.yaml())
	must(t, err)
	must(t, selects(ctx, s, "gated", "rackf"))
	_, err = s.Apply(ctx, stranger("rackf-0"))
	must(t, err)
	must(t, s.PodRuns(ctx, "on-rackf-0"))
	must(t, openGates(ctx, s, "gated"))
	must(t, selects(ctx, s, "gated", "rackg"))
	must(t, openGates(ctx, s, "gated"))
	inRack(t, ctx, s, "gated", "rackg", 2)
}

// selects waits until the pods of a Job are to be in a rack.
func selects(ctx context.Context, s *stories.Scene, name, rack string) error {
	return s.Eventually(ctx, fmt.Sprintf("the pods of %s select %s", name, rack), func(ctx context.Context) (bool, string) {
		pods, err := s.Pods(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		there := 0
		for i := range pods {
			if pods[i].Spec.NodeSelector[rackLabel] == rack && pods[i].DeletionTimestamp == nil {
				there++
			}
		}
		return there == 2, fmt.Sprintf("%d of %d do", there, len(pods))
	})
}

// openGates lets the scheduler look at the pods of a Job.
func openGates(ctx context.Context, s *stories.Scene, name string) error {
	pods, err := s.Pods(ctx, name)
	if err != nil {
		return err
	}
	for i := range pods {
		if _, err := s.Kubectl(ctx, "-n", s.NS, "patch", "pod", pods[i].Name, "--type=json", `-p=[{"op":"remove","path":"/spec/schedulingGates"}]`); err != nil {
			return err
		}
	}
	return nil
}
