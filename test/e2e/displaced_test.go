//go:build plane

package e2e

import (
	"fmt"
	"testing"

	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// Who goes first is given the cards of others, also of those who ask for them in another
// way: by a claim that selects, by one that does not, and by a container's nvidia.com/gpu.
func takenFromOthers(t *testing.T, s *deviceScene) {
	s.node("two", kubelet.Devices{Cards: 2})
	s.apply(template("card", kubelet.ClassGPU, 1), fmt.Sprintf(`apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: large}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: %s, count: 2, selectors: [{cel: {expression: "device.driver == '%s'"}}]}}]}}}
`, kubelet.ClassGPU, kubelet.DeviceDriver))
	high := func(j job) string {
		j.queue, j.priority, j.run = "dra", "high", "3s"
		return j.yaml()
	}
	s.apply(claims("low", "24h", 2, byTemplate("card")))
	must(t, s.Running(s.ctx, "low", 2))
	s.apply(high(job{name: "selects", pods: 1, podSpec: "      resourceClaims: [" + byTemplate("large") + "]\n", resources: "{claims: [{name: c}]}"}))
	must(t, s.Finished(s.ctx, "selects"))
	must(t, s.Running(s.ctx, "low", 2))
	s.apply(high(job{name: "contains", pods: 1, gpus: 2}))
	must(t, s.Finished(s.ctx, "contains"))
	must(t, s.Running(s.ctx, "low", 2))

	_, err := s.Kubectl(s.ctx, "delete", "job", "low")
	must(t, err)
	s.apply(job{name: "low", queue: "dra", pods: 2, gpus: 1}.yaml())
	must(t, s.Running(s.ctx, "low", 2))
	s.apply(high(job{name: "again", pods: 1, podSpec: "      resourceClaims: [" + byTemplate("large") + "]\n", resources: "{claims: [{name: c}]}"}))
	must(t, s.Finished(s.ctx, "again"))
	must(t, s.Running(s.ctx, "low", 2))
}
