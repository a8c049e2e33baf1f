//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

const cardsRow = kubelet.ClassGPU + ".deviceclass.resource.k8s.io/devices"

func (s *deviceScene) limit(row string, hard int) {
	s.t.Helper()
	s.operate(fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: devices, namespace: %s}\nspec: {hard: {%s: %d}}\n", s.NS, row, hard))
}

// used is what the API server says.
func (s *deviceScene) used(row, amount string) {
	s.t.Helper()
	must(s.t, s.Eventually(s.ctx, "the API server counts "+amount+" "+row, func(ctx context.Context) (bool, string) {
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "resourcequota", "devices", "-n", s.NS, "-o", "jsonpath={.status.used."+strings.ReplaceAll(row, ".", `\.`)+"}")
		return err == nil && out == amount, out
	}))
}

// refused: a pod was let in, and then the claim that it needs was not.
func (s *deviceScene) refused(pod string) {
	s.t.Helper()
	must(s.t, s.Eventually(s.ctx, "the API server refuses a claim for "+pod, func(ctx context.Context) (bool, string) {
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "events", "-n", s.NS, "--field-selector", "involvedObject.name="+pod, "-o", "custom-columns=M:.message", "--no-headers")
		return err == nil && strings.Contains(out, "exceeded quota"), out
	}))
}

func gpusOn(name, kind string, pods int) string {
	spec := ""
	if kind != "" {
		spec = "      nodeSelector: {kind: " + kind + "}\n"
	}
	return job{name: name, queue: "dra", pods: pods, gpus: 1, podSpec: spec}.yaml()
}

// What containers ask for of nvidia.com/gpu counts as devices of its class where the
// scheduler makes claims for it, and not on nodes with a device plugin.
func devicesOfANamespace(t *testing.T, s *deviceScene) {
	addNodes(t, s.ctx, s.Scene, []cluster.NodeSpec{
		{Name: s.NS + "-plugin", GPUs: 4, Labels: map[string]string{"pool": s.NS, "kind": "plugin"}},
		{Name: s.NS + "-devices", Devices: kubelet.Devices{Cards: 4}, Labels: map[string]string{"pool": s.NS, "kind": "devices"}},
	})
	s.limit(cardsRow, 1)
	s.used(cardsRow, "0")
	s.apply(gpusOn("by-plugin", "plugin", 2))
	must(t, s.Running(s.ctx, "by-plugin", 2))
	s.apply(gpusOn("drawn", "devices", 1))
	must(t, s.Running(s.ctx, "drawn", 1))
	s.used(cardsRow, "1")
	s.apply(gpusOn("more", "devices", 1), gpusOn("never", "devices", 2), gpusOn("either", "", 1))
	must(t, s.Says(s.ctx, "more", "WaitingForNamespaceQuota"))
	s.explains("more", "1 "+cardsRow+" asked, 1 of 1 used", "the scheduler claims devices for nvidia.com/gpu")
	must(t, s.Says(s.ctx, "never", "NeverFits"))
	must(t, s.Says(s.ctx, "either", "WaitingForNamespaceQuota"))
	s.explains("either", "some nodes on which its pods may run have no device plugin for it", "Try: a nodeSelector for nodes with the plugin, or a flavor for each kind")

	// The API server would indeed refuse it, and lets it in elsewhere.
	stranger := func(name, kind string) {
		t.Helper()
		s.operate(fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s}\nspec:\n  nodeSelector: {pool: %[2]s, kind: %s}\n"+
			"  containers: [{name: main, image: main, resources: {limits: {nvidia.com/gpu: 1}}}]\n", name, s.NS, kind))
	}
	stranger("on-devices", "devices")
	s.refused("on-devices")
	stranger("on-plugin", "plugin")
	must(t, s.PodRuns(s.ctx, "on-plugin"))
	s.used(cardsRow, "1")

	_, err := s.Kubectl(s.ctx, "delete", "pod", "on-devices", "--now")
	must(t, err)
	_, err = s.Kubectl(s.ctx, "delete", "job", "drawn")
	must(t, err)
	must(t, s.Running(s.ctx, "more", 1))
	must(t, s.NoPods(s.ctx, "either"))
	// Once its nodes are known, it counts for nothing.
	_, err = s.Kubectl(s.ctx, "delete", "job", "either")
	must(t, err)
	s.apply(gpusOn("either", "plugin", 1))
	must(t, s.Running(s.ctx, "either", 1))
}

// A claim that is there counts when it is made, and not again for who uses it; claims that
// are made for pods count before they are.
func claimsOfANamespace(t *testing.T, s *deviceScene) {
	s.node("four", kubelet.Devices{Cards: 4})
	s.limit(cardsRow, 2)
	s.apply(sharedClaim("common", kubelet.ClassGPU, 1), template("card", kubelet.ClassGPU, 1))
	s.used(cardsRow, "1")
	s.apply(claims("two", "24h", 2, byTemplate("card")))
	must(t, s.Says(s.ctx, "two", "WaitingForNamespaceQuota"))
	s.apply(claims("one", "24h", 1, byTemplate("card")))
	must(t, s.Running(s.ctx, "one", 1))
	s.used(cardsRow, "2")
	s.apply(claims("shares", "24h", 1, byName("common")))
	must(t, s.Running(s.ctx, "shares", 1))
	s.explains("two", "2 "+cardsRow+" asked, 2 of 2 used")

	// By their number alone.
	const number = "count/resourceclaims.resource.k8s.io"
	s.limit(number, 2)
	s.used(number, "2")
	s.apply(claims("another", "24h", 1, byTemplate("card")))
	must(t, s.Says(s.ctx, "another", "WaitingForNamespaceQuota"))
	s.explains("another", "1 "+number+" asked, 2 of 2 used")
	s.limit(number, 3)
	must(t, s.Running(s.ctx, "another", 1))
	s.used(number, "3")
	must(t, s.NoPods(s.ctx, "two"))
}
