//go:build plane

package cluster_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

const oneTemplate = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}}
`

// Two cards, of which one pod has one, and something happens before another comes:
// it runs as soon as it is over, and the first one all the time.
func TestFaultsOfDevices(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	p := startPlane(t, ctx, cluster.Options{Nodes: []cluster.NodeSpec{{Name: "node-1", Devices: kubelet.Devices{Cards: 2}}}})
	if err := p.Kubelet.AddDeviceClasses(ctx, ""); err != nil {
		t.Fatal(err)
	}
	noSchedule := resourcev1.DeviceTaint{Key: "sick", Effect: resourcev1.DeviceTaintEffectNoSchedule}
	for name, fault := range map[string]func(other string) (func(context.Context) error, error){
		"the pool is announced anew in halves": func(string) (func(context.Context) error, error) {
			return p.Kubelet.BumpPool(ctx, "node-1")
		},
		"the driver begins anew": func(string) (func(context.Context) error, error) {
			return p.Kubelet.ResetPool(ctx, "node-1")
		},
		"the driver taints the other card": func(other string) (func(context.Context) error, error) {
			return p.Kubelet.TaintDevice(ctx, "node-1", other, noSchedule)
		},
		"a rule taints the other card": func(other string) (func(context.Context) error, error) {
			return p.Kubelet.TaintDeviceByRule(ctx, "node-1", other, noSchedule)
		},
		"the other card falls off the bus": func(other string) (func(context.Context) error, error) {
			return p.Kubelet.LoseDevice(ctx, "node-1", other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := p.namespace(t, ctx)
			p.kubectl(t, ctx, oneTemplate+claimPod("a", "resourceClaimTemplateName: one"), "apply", "-n", namespace, "-f", "-")
			p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 1})
			other := "gpu-0"
			if p.has(t, ctx, namespace) == other {
				other = "gpu-1"
			}
			end, err := fault(other)
			if err != nil {
				t.Fatal(err)
			}
			p.kubectl(t, ctx, claimPod("b", "resourceClaimTemplateName: one"), "apply", "-n", namespace, "-f", "-")
			p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 1, corev1.PodPending: 1})
			if err := end(ctx); err != nil {
				t.Fatal(err)
			}
			p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2})
			p.deallocate(t, ctx, namespace)
		})
	}
	t.Run("a card in use falls off the bus", func(t *testing.T) { losesACardInUse(t, ctx, p) })
	t.Run("a card in use is tainted, and its pod evicted", func(t *testing.T) {
		namespace := p.namespace(t, ctx)
		p.kubectl(t, ctx, oneTemplate+claimPod("a", "resourceClaimTemplateName: one"), "apply", "-n", namespace, "-f", "-")
		p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 1})
		untaint, err := p.Kubelet.TaintDevice(ctx, "node-1", p.has(t, ctx, namespace), resourcev1.DeviceTaint{Key: "sick", Effect: resourcev1.DeviceTaintEffectNoExecute})
		if err != nil {
			t.Fatal(err)
		}
		p.phases(t, ctx, namespace, map[corev1.PodPhase]int{})
		if err := untaint(ctx); err != nil {
			t.Fatal(err)
		}
		p.deallocate(t, ctx, namespace)
	})
	if _, err := p.Kubelet.LoseDevice(ctx, "node-1", "gpu-9"); err == nil || !strings.Contains(err.Error(), "gpu-9") {
		t.Errorf("losing a card that is not there: %v", err)
	}
}

// has is the device of the only claim of a namespace.
func (p *plane) has(t *testing.T, ctx context.Context, namespace string) string {
	t.Helper()
	claims, err := p.Client.ResourceV1().ResourceClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(claims.Items) != 1 {
		t.Fatalf("%d claims: %v", len(claims.Items), err)
	}
	return claims.Items[0].Status.Allocation.Devices.Results[0].Device
}

// losesACardInUse: its pod runs on, its claim keeps its name, and one card is left.
func losesACardInUse(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	p.kubectl(t, ctx, oneTemplate+claimPod("a", "resourceClaimTemplateName: one"), "apply", "-n", namespace, "-f", "-")
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 1})
	lost := p.has(t, ctx, namespace)
	back, err := p.Kubelet.LoseDevice(ctx, "node-1", lost)
	if err != nil {
		t.Fatal(err)
	}
	p.kubectl(t, ctx, claimPod("b", "resourceClaimTemplateName: one")+claimPod("c", "resourceClaimTemplateName: one"), "apply", "-n", namespace, "-f", "-")
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2, corev1.PodPending: 1})
	p.kubectl(t, ctx, "", "delete", "pod", "a", "-n", namespace)
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 1, corev1.PodPending: 1})
	if err := back(ctx); err != nil {
		t.Fatal(err)
	}
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2})
	p.deallocate(t, ctx, namespace)
}
