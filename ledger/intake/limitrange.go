package intake

import (
	corev1 "k8s.io/api/core/v1"
)

// containerDefaults are what a namespace's LimitRanges give to a container that
// does not say.
type containerDefaults struct{ limits, requests corev1.ResourceList }

// limitDefaults joins the LimitRanges of a namespace. Where several name the
// same resource the API server takes any, in no stated order; the ledger takes
// the larger, so it never charges less than the pod will hold.
func limitDefaults(ranges []*corev1.LimitRange) containerDefaults {
	var joined containerDefaults
	for _, r := range ranges {
		limits, requests := corev1.ResourceList{}, corev1.ResourceList{}
		for _, item := range r.Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				item = completeItem(item)
				overwrite(limits, item.Default)
				overwrite(requests, item.DefaultRequest)
			}
		}
		raise(&joined.limits, limits)
		raise(&joined.requests, requests)
	}
	return joined
}

// completeItem fills in what the API server fills in when a LimitRange is
// stored: limits from max, requests from limits, then from min.
func completeItem(item corev1.LimitRangeItem) corev1.LimitRangeItem {
	limits, requests := item.Default.DeepCopy(), item.DefaultRequest.DeepCopy()
	fill(&limits, item.Max)
	fill(&requests, limits)
	fill(&requests, item.Min)
	item.Default, item.DefaultRequest = limits, requests
	return item
}

func (d containerDefaults) apply(r *corev1.ResourceRequirements) {
	fill(&r.Limits, d.limits)
	fill(&r.Requests, d.requests)
}

// fill sets what is missing.
func fill(list *corev1.ResourceList, from corev1.ResourceList) {
	for name, q := range from {
		if _, set := (*list)[name]; !set {
			put(list, name, q)
		}
	}
}

// overwrite sets everything, later items of one LimitRange before earlier ones.
func overwrite(list, from corev1.ResourceList) {
	for name, q := range from {
		list[name] = q
	}
}

// raise keeps the larger amount of each.
func raise(list *corev1.ResourceList, from corev1.ResourceList) {
	for name, q := range from {
		if now, set := (*list)[name]; !set || q.Cmp(now) > 0 {
			put(list, name, q)
		}
	}
}
