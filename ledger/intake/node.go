package intake

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// Node reads a machine: what it can give (allocatable), what it has (capacity),
// and what keeps pods away from it. It shares its labels with the result.
func Node(node *corev1.Node) *supply.Node {
	n := &supply.Node{
		Name:        node.Name,
		Labels:      node.Labels,
		Taints:      taints(node),
		Ready:       ready(node),
		Closed:      repartitioning(node),
		Unsure:      shared(node),
		Allocatable: amountsOf(node.Status.Allocatable),
		Capacity:    amountsOf(node.Status.Capacity),
		Features:    node.Status.DeclaredFeatures,
	}
	if n.Unsure != "" {
		n.Allocatable, n.Capacity = withoutDevices(n.Allocatable), withoutDevices(n.Capacity)
	}
	return n
}

// amountsOf a node; those below zero are nothing to give. What a node says it has
// beyond counting is held at the limit.
func amountsOf(quantities corev1.ResourceList) amounts.List {
	result := make(amounts.List, len(quantities))
	for name, q := range quantities {
		amount, err := policies.Amount(string(name), q)
		if err != nil {
			amount = limitOf(q)
		}
		result[string(name)] = max(0, amount)
	}
	return result
}

// taints that keep pods away. A cordon is one of them, even in the moment
// before the node controller has written it down as a taint.
func taints(node *corev1.Node) []policies.Taint {
	var all []policies.Taint
	for _, t := range node.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute {
			all = append(all, policies.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	cordon := policies.Taint{Key: corev1.TaintNodeUnschedulable, Effect: string(corev1.TaintEffectNoSchedule)}
	if node.Spec.Unschedulable && !slices.Contains(all, cordon) {
		all = append(all, cordon)
	}
	return all
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
