package intake

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"
)

// defaultPodLevel fills in the pod's own resources (spec.resources) as the API
// server does when it stores a pod that has any: huge page limits from the
// containers, then cpu and memory requests from the containers, then the
// remaining requests from the pod's limits. Its last step, pod limits from the
// containers, changes no request.
//
// Servers before 1.37 do this when they decode the pod, before LimitRanges
// apply; the difference is at most those defaults.
func defaultPodLevel(pod *corev1.Pod) {
	own := pod.Spec.Resources
	if own == nil || len(own.Requests)+len(own.Limits) == 0 {
		return
	}
	limits := resourcehelpers.AggregateContainerLimits(pod, resourcehelpers.PodResourcesOptions{})
	for name, q := range limits {
		_, requested := own.Requests[name]
		_, limited := own.Limits[name]
		if hugePages(name) && !requested && !limited {
			put(&own.Limits, name, q)
		}
	}
	requests := resourcehelpers.AggregateContainerRequests(pod, resourcehelpers.PodResourcesOptions{})
	for name, q := range requests {
		if _, set := own.Requests[name]; !set && resourcehelpers.IsSupportedPodLevelResource(name) && !hugePages(name) {
			put(&own.Requests, name, q)
		}
	}
	for name, q := range own.Limits {
		if _, set := own.Requests[name]; !set && resourcehelpers.IsSupportedPodLevelResource(name) {
			put(&own.Requests, name, q)
		}
	}
}

func hugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}
