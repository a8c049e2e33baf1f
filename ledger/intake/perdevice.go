package intake

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// forEachDevice multiplies what containers ask for once for each of their devices by how
// many devices each has; without the resource that counts them, that is one. units is
// policies.ResourceRules.PerDevice. What was given is not written to.
func forEachDevice(containers []corev1.Container, units map[string]string) []corev1.Container {
	copied := false
	for i := range containers {
		asked := containers[i].Resources.Requests
		var all corev1.ResourceList
		for name, counter := range units {
			each, there := asked[corev1.ResourceName(name)]
			devices := asked[corev1.ResourceName(counter)]
			if !there || devices.Value() <= 1 {
				continue
			}
			if all == nil {
				all = maps.Clone(asked)
			}
			each = each.DeepCopy()
			each.Mul(devices.Value()) // beyond an int64 it is exact, too
			all[corev1.ResourceName(name)] = each
		}
		if all == nil {
			continue
		}
		if !copied {
			containers, copied = slices.Clone(containers), true
		}
		containers[i].Resources.Requests = all
	}
	return containers
}
