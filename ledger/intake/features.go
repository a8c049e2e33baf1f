package intake

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
)

// features that a node has to declare for a pod, by the scheduler's own rules. Servers
// that do not ask nodes for them have none of the fields that need one.
func features(spec *corev1.PodSpec) []string {
	if len(spec.EphemeralContainers) > 0 { // they come to a pod that has its node
		without := *spec
		without.EphemeralContainers = nil
		spec = &without
	}
	known := nodedeclaredfeatures.DefaultFramework
	set, err := known.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: spec}, version.MajorMinor(1, 37))
	if err != nil || set.IsEmpty() {
		return nil
	}
	names, err := known.Unmap(set)
	if err != nil {
		return nil
	}
	return names
}
