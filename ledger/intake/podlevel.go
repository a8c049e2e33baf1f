package intake

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"
)

// defaultPodLevel fills in the pod's own resources (spec.resources) as the API
// server does for a pod that has any: huge page limits from the containers,
// then, if it has limits, cpu and memory requests from the containers and the
// remaining requests from those limits. What follows there, pod limits from the
// containers, changes no request; nor does it that a server of 1.37 takes the
// containers' requests without any pod limit too, since they count anyway.
//
// When the server does this depends on its version, see Env.PodLevelEarly.
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
	if len(own.Limits) == 0 {
		return
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
