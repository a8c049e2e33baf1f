//go:build plane

package e2e

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// A pod with a claim is deleted by force and runs on. One card is free beside its own, and
// the scheduler, for whom both are, would give away its own first.
func deletedByForce(t *testing.T, s *deviceScene) {
	s.node("two", kubelet.Devices{Cards: 2})
	s.apply(template("card", kubelet.ClassGPU, 1), strings.Replace(s.stranger("notebook", byTemplate("card")), "stop: 50ms", "stop: 50ms, plane.holdshort.dev/ghost: 1m", 1))
	must(t, s.PodRuns(s.ctx, "notebook"))
	_, err := s.Kubectl(s.ctx, "delete", "pod", "notebook", "--force", "--grace-period=0")
	must(t, err)
	s.apply(claims("train", "24h", 1, byTemplate("card")))
	must(t, s.Waits(s.ctx, "train", "WaitingForMachines"))
	other := s.node("other", kubelet.Devices{Cards: 1})
	runsOn(t, s.ctx, s.Scene, "train", 1, other)
}
