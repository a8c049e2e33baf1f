package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// amounts by resource name: cpu in thousandths, everything else whole.
type amounts map[corev1.ResourceName]int64

// table is what one node has and who holds it. It never asks the API server.
type table struct {
	node        *corev1.Node // labels for affinity
	allocatable amounts
	held        map[types.UID]amounts
	pool        announced // of its DRA driver
	claims      map[types.UID][]claim
}

func newTable(node *corev1.Node) *table {
	return &table{node: node, allocatable: countList(node.Status.Allocatable), held: map[types.UID]amounts{}, claims: map[types.UID][]claim{}}
}

// refusal is why a node does not start a pod.
type refusal struct{ reason, message string }

// admit takes what the pod asks for and its claims were given, or says why it
// cannot.
func (t *table) admit(pod *corev1.Pod, claims ...claim) *refusal {
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(t.node); err != nil || !matches {
		return &refusal{"NodeAffinity", "Pod was rejected: the node does not match the pod's node selector or required affinity"}
	}
	asks := podAmounts(pod)
	for _, name := range sortedNames(asks) {
		used := t.used(name)
		if free := t.allocatable[name] - used; asks[name] > free {
			return refuse(name, asks[name], used, t.allocatable[name])
		}
	}
	if refused := t.prepare(claims); refused != nil {
		return refused
	}
	t.held[pod.UID], t.claims[pod.UID] = asks, claims
	return nil
}

// hold takes without asking, for a pod that was running before we came.
func (t *table) hold(pod *corev1.Pod, claims ...claim) {
	t.held[pod.UID], t.claims[pod.UID] = podAmounts(pod), claims
}

func (t *table) release(uid types.UID) {
	delete(t.held, uid)
	delete(t.claims, uid)
}

func (t *table) used(name corev1.ResourceName) int64 {
	var sum int64
	for _, holds := range t.held {
		sum += holds[name]
	}
	return sum
}

// refuse in the words that a kubelet has for it: the four resources it counts
// itself are "out of", devices are a plugin's error.
func refuse(name corev1.ResourceName, asked, used, has int64) *refusal {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods:
		return &refusal{"OutOf" + string(name), fmt.Sprintf("Pod was rejected: not enough %s: requested %d, used %d, capacity %d", name, asked, used, has)}
	}
	return &refusal{"UnexpectedAdmissionError", fmt.Sprintf("Pod was rejected: too few devices of %s: requested %d, available %d", name, asked, max(0, has-used))}
}

func podAmounts(pod *corev1.Pod) amounts {
	counted := countList(resource.PodRequests(unmapped(pod), resource.PodResourcesOptions{}))
	counted[corev1.ResourcePods] = 1
	return counted
}

func countList(list corev1.ResourceList) amounts {
	counted := amounts{}
	for name, quantity := range list {
		counted[name] = quantity.Value()
		if name == corev1.ResourceCPU {
			counted[name] = quantity.MilliValue()
		}
	}
	return counted
}

// sortedNames with those first that a kubelet counts before it asks its device
// plugins.
func sortedNames(a amounts) []corev1.ResourceName {
	first := []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	var rest []corev1.ResourceName
	for name := range a {
		if !slices.Contains(first, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(first, rest...)
}
