package intake

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/holdshort/holdshort/ledger/demand"
	amounts "github.com/holdshort/holdshort/ledger/resource"
)

// terms of a pod, as ResourceQuotas look at them.
func terms(spec *corev1.PodSpec) demand.Terms {
	t := demand.Terms{
		PriorityClass: spec.PriorityClassName,
		Terminating:   spec.ActiveDeadlineSeconds != nil && *spec.ActiveDeadlineSeconds >= 0,
	}
	podLevel := resourcehelpers.IsPodLevelResourcesSet(&corev1.Pod{Spec: *spec})
	if podLevel {
		t.Compute = asksForAny(spec.Resources)
	}
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			if !podLevel {
				t.Compute = t.Compute || asksForAny(&list[i].Resources)
				t.Unset |= unset(&list[i].Resources)
			}
		}
	}
	if a := spec.Affinity; a != nil {
		t.CrossNamespace = a.PodAffinity != nil && looksElsewhere(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) ||
			a.PodAntiAffinity != nil && looksElsewhere(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return t
}

// asksForAny cpu or memory, by a request or a limit.
func asksForAny(r *corev1.ResourceRequirements) bool {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if q := list[name]; !q.IsZero() {
				return true
			}
		}
	}
	return false
}

func unset(r *corev1.ResourceRequirements) demand.Amount {
	var none demand.Amount
	for _, one := range []struct {
		list corev1.ResourceList
		name corev1.ResourceName
		is   demand.Amount
	}{
		{r.Requests, corev1.ResourceCPU, demand.RequestsCPU}, {r.Requests, corev1.ResourceMemory, demand.RequestsMemory},
		{r.Limits, corev1.ResourceCPU, demand.LimitsCPU}, {r.Limits, corev1.ResourceMemory, demand.LimitsMemory},
	} {
		if _, set := one.list[one.name]; !set {
			none |= one.is
		}
	}
	return none
}

func looksElsewhere(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) bool {
	for i := range preferred {
		required = append(required[:len(required):len(required)], preferred[i].PodAffinityTerm)
	}
	for i := range required {
		if len(required[i].Namespaces) > 0 || required[i].NamespaceSelector != nil {
			return true
		}
	}
	return false
}

// limits of a pod, in the ledger's units; what can't be counted is held at the limit.
func limits(pod *corev1.Pod, options resourcehelpers.PodResourcesOptions) amounts.List {
	all, _ := list(resourcehelpers.PodLimits(pod, options))
	delete(all, amounts.Pods)
	if len(all) == 0 {
		return nil
	}
	return all
}
