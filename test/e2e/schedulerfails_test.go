//go:build plane

package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// When the pod of a Job that was let go comes to the scheduler, an expression fails on the
// card. The scheduler does not call that unschedulable; the Job is taken back all the same.
func schedulerFails(t *testing.T, s *deviceScene) {
	node := s.node("one", kubelet.Devices{Cards: 1})
	policy := fmt.Sprintf(devicePolicy, s.NS, 4)
	inForce(t, s.ctx, s.Env, strings.Replace(policy, "preemption:", "placementTimeoutSeconds: 3\n        backoff: {baseSeconds: 60}\n        preemption:", 1))
	s.apply(template("card", kubelet.ClassGPU, 1), job{
		name: "train", queue: "dra", pods: 1, resources: "{claims: [{name: c}]}",
		podSpec: "      schedulingGates: [{name: example.com/later}]\n      resourceClaims: [" + byTemplate("card") + "]\n",
	}.yaml())
	podsOf(t, s.ctx, s.Scene, "train", 1)
	slices, err := s.Client.ResourceV1().ResourceSlices().List(s.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	must(t, err)
	slice := &slices.Items[0]
	slice.Spec.Devices[0].Attributes = nil
	_, err = s.Client.ResourceV1().ResourceSlices().Update(s.ctx, slice, metav1.UpdateOptions{})
	must(t, err)
	ungate(t, s.ctx, s.Scene, "train", 1)
	must(t, s.Says(s.ctx, "train", "BadRequest")) // it did not say why it waits while it was let go
	podsOf(t, s.ctx, s.Scene, "train", 0)
	must(t, s.NoPods(s.ctx, "train"))
}
