//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
)

// slicePolicy has one quota for cards and for sevenths of them.
const slicePolicy = `holdshort:
  config:
    flavors:
      cards: {nodeLabels: {kind: cards}}
    resources:
      conversions:
        nvidia.com/gpu: {slices: %[2]d}
        nvidia.com/mig-1g.10gb: {slices: 1}
    queues:
      vision:
        namespaces: {names: [%[1]s]}
        flavors: [cards]
        quota:
          cards: {slices: 14}
`

func inSlices(ns string, card int) string { return fmt.Sprintf(slicePolicy, ns, card) }

// A queue with the slices of two cards has one whole and sevenths of others, and the
// next waits for quota, though there are machines; when the policy counts a card for
// less, it starts.
func TestOneQuotaIsSharedByCardsAndTheirParts(t *testing.T) {
	const part = "nvidia.com/mig-1g.10gb"
	ctx, s := sceneBy(t, "units", inSlices("units", 7), history.Rules{
		Conversions: map[string]map[string]int64{"nvidia.com/gpu": {"slices": 7}, part: {"slices": 1}},
		Limits:      []history.Limit{{Queue: "vision", Flavor: "cards", Resource: "slices", Amount: 14}},
	})
	labels := map[string]string{"kind": "cards"}
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "whole-1", GPUs: 4, Labels: labels}, {Name: "parts-1", Labels: labels}})
	must(t, s.Kubelet.SetAllocatable(ctx, "parts-1", part, "14"))

	apply := func(j job) {
		t.Helper()
		_, err := s.Apply(ctx, j.yaml())
		must(t, err)
	}
	apply(job{name: "card", queue: "vision", pods: 1, gpus: 1})
	must(t, s.Running(ctx, "card", 1))
	apply(job{name: "parts", queue: "vision", pods: 3, resources: "{limits: {nvidia.com/mig-1g.10gb: 2}}"})
	must(t, s.Running(ctx, "parts", 3))

	apply(job{name: "more", queue: "vision", pods: 1, resources: "{limits: {nvidia.com/mig-1g.10gb: 2}}"})
	apply(job{name: "another", queue: "vision", pods: 1, gpus: 1})
	must(t, s.Waits(ctx, "more", "WaitingForQuota"))
	must(t, s.Waits(ctx, "another", "WaitingForQuota"))
	must(t, s.NoPods(ctx, "more"))
	must(t, s.NoPods(ctx, "another"))
	j, err := s.Job(ctx, "more")
	must(t, err)
	const says = "vision uses 13 of 14 slices on cards; 2 nvidia.com/mig-1g.10gb = 2 slices asked, 1 left"
	if got := j.Annotations["holdshort.dev/message"]; !strings.Contains(got, says) {
		t.Errorf("it says %q, want %q", got, says)
	}
	must(t, s.Eventually(ctx, "the queue shows slices", func(ctx context.Context) (bool, string) {
		out, err := s.Plugin(ctx, cluster.Admin, "queues", "vision", "--no-headers")
		return err == nil && strings.Contains(out, "13/14 slices on cards"), out
	}))
	out, err := s.Plugin(ctx, cluster.Alice, "explain", "job/another", "-n", s.NS)
	must(t, err)
	for _, holder := range []string{"card", "parts"} {
		if !strings.Contains(out, s.NS+"/"+holder) && !strings.Contains(out, holder+" ") {
			t.Errorf("explain does not name %s:\n%s", holder, out)
		}
	}
	if !strings.Contains(out, "7 slices") || !strings.Contains(out, "6 slices") {
		t.Errorf("explain does not say what they hold in slices:\n%s", out)
	}

	_, err = s.Kubectl(ctx, "delete", "job", "card", "--cascade=foreground")
	must(t, err)
	must(t, s.Running(ctx, "more", 1))
	must(t, s.Waits(ctx, "another", "WaitingForQuota")) // 8 of 14 are used
}

// A card becomes cheaper: who runs counts by the new rate at once, and who waits starts.
func TestOtherConversionsCountForWhoRuns(t *testing.T) {
	ctx, s := sceneBy(t, "units-cheaper", inSlices("units-cheaper", 7), history.Rules{
		Conversions: map[string]map[string]int64{"nvidia.com/gpu": {"slices": 4}},
		Limits:      []history.Limit{{Queue: "vision", Flavor: "cards", Resource: "slices", Amount: 14}},
	})
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "whole-1", GPUs: 8, Labels: map[string]string{"kind": "cards"}}})
	for _, name := range []string{"one", "two", "three"} {
		_, err := s.Apply(ctx, job{name: name, queue: "vision", pods: 1, gpus: 1}.yaml())
		must(t, err)
	}
	must(t, s.Running(ctx, "two", 1))
	must(t, s.Waits(ctx, "three", "WaitingForQuota"))
	inForce(t, ctx, s.Env, inSlices("units-cheaper", 4))
	must(t, s.Running(ctx, "three", 1))
	must(t, s.Eventually(ctx, "all count by the new rate", func(ctx context.Context) (bool, string) {
		out, err := s.Plugin(ctx, cluster.Admin, "queues", "vision", "--no-headers")
		return err == nil && strings.Contains(out, "12/14 slices on cards"), out
	}))
}

// memoryPolicy limits the memory of cards, which a pod asks for once for each of its
// cards; if it says so.
func memoryPolicy(ns, resources string) string {
	return fmt.Sprintf(`holdshort:
  config:
    flavors:
      shared: {nodeLabels: {kind: shared}}
    resources: %[2]s
    queues:
      vision:
        namespaces: {names: [%[1]s]}
        flavors: [shared]
        quota:
          shared: {nvidia.com/gpu: 8, nvidia.com/gpumem: 8192}
`, ns, resources)
}

// Two pods with one card each and one with two are charged the same; once the policy says
// that the amount is for each, who waits and who runs are counted anew.
func TestWhatIsAskedForEachDeviceIsCharged(t *testing.T) {
	const memory = "nvidia.com/gpumem"
	ctx, s := sceneBy(t, "perdevice", memoryPolicy("perdevice", "{}"), history.Rules{})
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "shared-1", GPUs: 8, Labels: map[string]string{"kind": "shared"}}})
	must(t, s.Kubelet.SetAllocatable(ctx, "shared-1", memory, "16384"))
	charged := func(what, want string) {
		t.Helper()
		must(t, s.Eventually(ctx, what, func(ctx context.Context) (bool, string) {
			out, err := s.Plugin(ctx, cluster.Admin, "queues", "vision", "--no-headers")
			return err == nil && strings.Contains(out, want), out
		}))
	}
	apply := func(name string, cards, each int) {
		t.Helper()
		_, err := s.Apply(ctx, job{name: name, queue: "vision", pods: 1, resources: fmt.Sprintf("{limits: {nvidia.com/gpu: %d, nvidia.com/gpumem: %d}}", cards, each)}.yaml())
		must(t, err)
	}
	apply("before", 2, 1024)
	must(t, s.Running(ctx, "before", 1))
	charged("it is counted once", "1024/8192 nvidia.com/gpumem")

	inForce(t, ctx, s.Env, memoryPolicy("perdevice", "{perDevice: {nvidia.com/gpumem: nvidia.com/gpu}}"))
	// The API server goes by what is written, and so does the ResourceQuota here.
	_, err := s.KubectlIn(ctx, cluster.Admin, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: memory}\nspec: {hard: {requests.nvidia.com/gpumem: 3072}}\n", "apply", "-n", s.NS, "-f", "-")
	must(t, err)
	apply("after", 2, 2048)
	must(t, s.Running(ctx, "after", 1))
	_, err = s.KubectlIn(ctx, cluster.Admin, "", "delete", "resourcequota", "memory", "-n", s.NS)
	must(t, err)
	charged("it is counted for each card", "6144/8192 nvidia.com/gpumem")
	apply("more", 2, 2048)
	must(t, s.Waits(ctx, "more", "WaitingForQuota"))
	j, err := s.Job(ctx, "more")
	must(t, err)
	const says = "vision uses 6144 of 8192 nvidia.com/gpumem on shared; 4096 asked, 2048 left"
	if got := j.Annotations["holdshort.dev/message"]; !strings.Contains(got, says) {
		t.Errorf("it says %q, want %q", got, says)
	}
	inForce(t, ctx, s.Env, memoryPolicy("perdevice", "{}"))
	must(t, s.Running(ctx, "more", 1))
}
