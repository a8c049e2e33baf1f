//go:build plane

package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// Nothing here knows holdshort: the scheduler allocates, the fake kubelet checks.
func TestDevicesByClaims(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	half := kubelet.Part{Profile: "3g.40gb", Memory: "40Gi", Slices: 3, Places: 3}
	p := startPlane(t, ctx, cluster.Options{Nodes: []cluster.NodeSpec{
		{Name: "whole", Devices: kubelet.Devices{Cards: 2}},
		{Name: "cut", Devices: kubelet.Devices{Cards: 1, Parts: []kubelet.Part{half}}, Taints: []corev1.Taint{
			{Key: "cut", Effect: corev1.TaintEffectNoSchedule}, // whole cards go elsewhere
		}},
	}})
	if err := p.Kubelet.AddDeviceClasses(ctx, kubelet.ResourceGPU); err != nil {
		t.Fatal(err)
	}
	t.Run("of three who want half a card two run and one waits until one ends", func(t *testing.T) { threeHalves(t, ctx, p) })
	t.Run("a card is given for an extended resource, and none beyond the last", func(t *testing.T) { extended(t, ctx, p) })
	t.Run("pods share a claim, and nobody else gets its card", func(t *testing.T) { sharesAClaim(t, ctx, p) })
	t.Run("a card that somebody gave twice is refused", func(t *testing.T) { refusesADevice(t, ctx, p) })
}

// deallocate ends the pods of a namespace and waits until nobody has devices, and the
// scheduler has heard of it: it does not always look again at a pod that it tried a
// moment before.
func (p *plane) deallocate(t *testing.T, ctx context.Context, namespace string) {
	t.Helper()
	// First who waits: it would be given what comes free while it goes itself.
	p.kubectl(t, ctx, "", "delete", "pods", "--field-selector=status.phase=Pending", "-n", namespace)
	p.kubectl(t, ctx, "", "delete", "pods", "--all", "-n", namespace)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		claims, err := p.Client.ResourceV1().ResourceClaims(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(claims.Items, func(c resourcev1.ResourceClaim) bool { return c.Status.Allocation != nil }) {
			time.Sleep(time.Second)
			return
		}
	}
	t.Fatalf("claims of namespace %s keep their devices", namespace)
}

const halfTemplate = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: half}
spec: {spec: {devices: {requests: [{name: h, exactly: {deviceClassName: mig.nvidia.com, count: 1}}]}}}
`

func claimPod(name, claim string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  tolerations: [{key: cut, operator: Exists}]
  resourceClaims: [{name: c, %s}]
  containers: [{name: main, image: pretended, resources: {claims: [{name: c}]}}]
`, name, claim)
}

// phases of the pods of a namespace once the scheduler has spoken of each, by
// phase: those of pods that it cannot place are Pending.
func (p *plane) phases(t *testing.T, ctx context.Context, namespace string, want map[corev1.PodPhase]int) {
	t.Helper()
	var got map[corev1.PodPhase]int
	var said []string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		pods, err := p.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got = map[corev1.PodPhase]int{}
		said = said[:0]
		spoken := true
		for i := range pods.Items {
			for _, c := range pods.Items[i].Status.Conditions {
				if c.Type == corev1.PodScheduled {
					said = append(said, pods.Items[i].Name+": "+c.Message)
				}
			}
			got[pods.Items[i].Status.Phase]++
			spoken = spoken && len(pods.Items[i].Status.Conditions) > 0
		}
		if spoken && fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
	}
	t.Fatalf("pods by phase: %v; want %v\n%s", got, want, strings.Join(said, "\n"))
}

func threeHalves(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	manifest := halfTemplate
	for _, name := range []string{"a", "b", "c"} {
		manifest += claimPod(name, "resourceClaimTemplateName: half")
	}
	p.kubectl(t, ctx, manifest, "apply", "-n", namespace, "-f", "-")
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2, corev1.PodPending: 1})
	running, err := p.Kubectl(ctx, cluster.Admin, "get", "pods", "-n", namespace, "--field-selector=status.phase=Running", "-o", "name")
	if err != nil {
		t.Fatal(err)
	}
	p.kubectl(t, ctx, "", "delete", "-n", namespace, strings.Fields(running)[0])
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2})
	p.deallocate(t, ctx, namespace)
}

func extended(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	pod := func(name string) string {
		return `
---
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: pretended, resources: {limits: {nvidia.com/gpu: 1}}}]
`
	}
	p.kubectl(t, ctx, pod("a")+pod("b")+pod("c"), "apply", "-n", namespace, "-f", "-")
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2, corev1.PodPending: 1})
	p.deallocate(t, ctx, namespace)
}

const sharedClaim = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}
`

func sharesAClaim(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	p.kubectl(t, ctx, sharedClaim+claimPod("a", "resourceClaimName: shared")+claimPod("b", "resourceClaimName: shared"), "apply", "-n", namespace, "-f", "-")
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2})
	other := strings.ReplaceAll(sharedClaim, "shared", "other")
	p.kubectl(t, ctx, other+claimPod("c", "resourceClaimName: other"), "apply", "-n", namespace, "-f", "-")
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 2, corev1.PodPending: 1})
	p.deallocate(t, ctx, namespace)
}

// refusesADevice plays a scheduler that gives a card to two claims.
func refusesADevice(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	taken := strings.ReplaceAll(sharedClaim, "count: 2", "count: 1")
	p.kubectl(t, ctx, taken+claimPod("first", "resourceClaimName: shared"), "apply", "-n", namespace, "-f", "-")
	p.phases(t, ctx, namespace, map[corev1.PodPhase]int{corev1.PodRunning: 1})
	first, err := p.Client.ResourceV1().ResourceClaims(namespace).Get(ctx, "shared", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Replace(claimPod("second", "resourceClaimName: twice"), "spec:", "spec:\n  schedulerName: nobody", 1)
	p.kubectl(t, ctx, strings.ReplaceAll(taken, "shared", "twice")+second, "apply", "-n", namespace, "-f", "-")
	pod, err := p.Client.CoreV1().Pods(namespace).Get(ctx, "second", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := p.Client.ResourceV1().ResourceClaims(namespace).Get(ctx, "twice", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	twice.Status = *first.Status.DeepCopy()
	twice.Status.ReservedFor[0].Name, twice.Status.ReservedFor[0].UID = pod.Name, pod.UID
	if _, err := p.Client.ResourceV1().ResourceClaims(namespace).UpdateStatus(ctx, twice, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	node := twice.Status.Allocation.Devices.Results[0].Pool
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := p.Client.CoreV1().Pods(namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=jsonpath={.status.reason}=UnexpectedAdmissionError", "--timeout=30s", "pod/second")
}
