//go:build plane

package e2e

import (
	"context"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// Two Jobs share the one card. It is charged once, and a third waits.
func sharedByJobs(t *testing.T, s *deviceScene) {
	s.node("one", kubelet.Devices{Cards: 1})
	s.apply(sharedClaim("common", kubelet.ClassGPU, 1), claims("first", "24h", 1, byName("common")))
	must(t, s.Running(s.ctx, "first", 1))
	s.apply(claims("second", "24h", 2, byName("common")))
	must(t, s.Running(s.ctx, "second", 2))
	s.uses("1/4 nvidia.com/gpu")
	s.apply(template("card", kubelet.ClassGPU, 1), claims("third", "1s", 1, byTemplate("card")))
	must(t, s.Waits(s.ctx, "third", "WaitingForMachines"))
	for _, name := range []string{"first", "second"} {
		must(t, s.NoPods(s.ctx, "third"))
		s.uses("1/4 nvidia.com/gpu") // whoever of them is left
		_, err := s.Kubectl(s.ctx, "delete", "job", name, "--cascade=foreground")
		must(t, err)
	}
	must(t, s.Finished(s.ctx, "third"))
}

// Two Jobs with one claim come together. Each would fit somewhere, and they don't fit
// together where the devices of the first one are.
func sharedAtOnce(t *testing.T, s *deviceScene) {
	for _, name := range []string{"one", "two"} {
		s.node(name, kubelet.Devices{Cards: 1})
	}
	big := func(name string) string {
		return job{name: name, queue: "dra", pods: 1, podSpec: "      resourceClaims: [" + byName("common") + "]\n",
			resources: "{claims: [{name: c}], requests: {cpu: 20}}"}.yaml()
	}
	s.apply(sharedClaim("common", kubelet.ClassGPU, 1), big("a")+big("b"))
	var first, second string
	must(t, s.Eventually(s.ctx, "one runs", func(ctx context.Context) (bool, string) {
		for _, first = range []string{"a", "b"} {
			if pods, err := s.Pods(ctx, first); err == nil && len(pods) == 1 && pods[0].Spec.NodeName != "" {
				return true, ""
			}
		}
		return false, "none"
	}))
	second = map[string]string{"a": "b", "b": "a"}[first]
	must(t, s.Waits(s.ctx, second, "WaitingForMachines"))
	s.explains(second, "resource claim c is allocated on")
	_, err := s.Kubectl(s.ctx, "delete", "job", first)
	must(t, err)
	must(t, s.Running(s.ctx, second, 1))
}

// Pods that share a claim which nobody has yet start on one node, which has room for all
// of them, and are charged for it once. One that is lost comes back there.
func sharedByPods(t *testing.T, s *deviceScene) {
	pool := map[string]string{"pool": s.NS}
	addNodes(t, s.ctx, s.Scene, []cluster.NodeSpec{
		{Name: s.NS + "-little", Devices: kubelet.Devices{Cards: 2}, CPU: "2", Labels: pool},
		{Name: s.NS + "-much", Devices: kubelet.Devices{Cards: 2}, CPU: "8", Labels: pool},
	})
	three := func(name, claim string) string {
		return job{
			name: name, queue: "dra", pods: 3, run: "24h", podSpec: "      resourceClaims: [" + byName(claim) + "]\n",
			resources: `{claims: [{name: c}], requests: {cpu: "1500m"}}`,
		}.yaml()
	}
	s.apply(sharedClaim("common", kubelet.ClassGPU, 2), sharedClaim("other", kubelet.ClassGPU, 1), three("first", "common"))
	must(t, s.Running(s.ctx, "first", 3))
	s.uses("2/4 nvidia.com/gpu")
	s.onOneNode("first", s.NS+"-much")
	s.apply(three("second", "other")) // whose claim has room on the other one, and its pods have not
	must(t, s.Waits(s.ctx, "second", "Fragmented"))
	s.explains("second", "its 3 pods share a claim for devices and count as one, on one node")
	pods, err := s.Pods(s.ctx, "first")
	must(t, err)
	_, err = s.Kubectl(s.ctx, "delete", "pod", pods[0].Name)
	must(t, err)
	must(t, s.Running(s.ctx, "first", 3))
	s.onOneNode("first", s.NS+"-much")
	s.uses("2/4 nvidia.com/gpu")
	must(t, s.NoPods(s.ctx, "second"))
	_, err = s.Kubectl(s.ctx, "delete", "job", "first")
	must(t, err)
	must(t, s.Running(s.ctx, "second", 3))
	s.uses("1/4 nvidia.com/gpu")
}

func (s *deviceScene) onOneNode(job, node string) {
	s.t.Helper()
	pods, err := s.Pods(s.ctx, job)
	must(s.t, err)
	for _, pod := range pods {
		if pod.Spec.NodeName != node {
			s.t.Errorf("pod %s of %s is on %q, want %s", pod.Name, job, pod.Spec.NodeName, node)
		}
	}
}
