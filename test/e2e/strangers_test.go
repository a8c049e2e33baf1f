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

// accelerators are the names under which vendors announce whole cards, parts of them and
// shared ones.
func accelerators() []string {
	return []string{
		"amd.com/gpu", "aws.amazon.com/neuron", "google.com/tpu", "gpu.intel.com/xe", "habana.ai/gaudi",
		"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb",
	}
}

// strangersPolicy gives its queue more of everything than there is.
func strangersPolicy(ns string) string {
	quota := &strings.Builder{}
	for _, name := range accelerators() {
		fmt.Fprintf(quota, "%s: 99, ", name)
	}
	return fmt.Sprintf(`holdshort:
  config:
    resources: {unlimited: [cpu, memory, pods]}
    flavors: {pool: {nodeLabels: {pool: %[1]s}}}
    queues:
      %[1]s:
        namespaces: {all: true}
        flavors: [pool]
        quota: {pool: {%[2]s}}
`, ns, strings.TrimSuffix(quota.String(), ", "))
}

// Five of eight are held by a pod that nobody queued: of what kind is all the same.
func TestWhateverIsHeldByAStrangerIsNotFree(t *testing.T) {
	ctx, s := sceneBy(t, "strangers", strangersPolicy("strangers"), history.Rules{})
	node := cluster.NodeSpec{Name: "strangers-1", Labels: map[string]string{"pool": "strangers"}, Extra: map[string]string{}}
	for _, name := range accelerators() {
		node.Extra[name] = "8"
	}
	addNodes(t, ctx, s, []cluster.NodeSpec{node})
	for i, name := range accelerators() {
		holdsFive(t, ctx, s, fmt.Sprintf("holds-%d", i), name)
		_, err := s.Apply(ctx, job{name: fmt.Sprintf("asks-%d", i), queue: "strangers", pods: 2, resources: fmt.Sprintf("{limits: {%s: 2}}", name)}.yaml())
		must(t, err)
	}
	for i, name := range accelerators() {
		must(t, s.Waits(ctx, fmt.Sprintf("asks-%d", i), "WaitingForMachines"))
		out, err := s.Explain(ctx, fmt.Sprintf("asks-%d", i))
		must(t, err)
		must(t, stories.Contains(out, "4 "+name+" asked, 3 free"))
	}
	for i := range accelerators() {
		_, err := s.Kubectl(ctx, "delete", "pod", fmt.Sprintf("holds-%d", i), "--wait=false")
		must(t, err)
		must(t, s.Running(ctx, fmt.Sprintf("asks-%d", i), 2))
	}
}

// holdsFive makes a pod that nobody queued, and waits until it runs.
func holdsFive(t *testing.T, ctx context.Context, s *stories.Scene, name, of string) {
	t.Helper()
	_, err := s.Apply(ctx, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {plane.holdshort.dev/stop: 50ms}}, "+
		"spec: {nodeSelector: {pool: %s}, containers: [{name: c, image: c, resources: {limits: {%s: 5}}}]}}", name, s.NS, of))
	must(t, err)
	must(t, s.PodRuns(ctx, name))
}
