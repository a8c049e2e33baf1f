package intake

import (
	"cmp"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
)

// ExtendedBy is the class for each resource that some class gives devices for. Of several
// the newest does, then the first by name, as the scheduler has it. implied is whether the name that Kubernetes has for a class is one.
func ExtendedBy(classes map[string]*resourceapi.DeviceClass, implied bool) map[string]string {
	by := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class := classes[name]
		if implied {
			by[resourceapi.ResourceDeviceClassPrefix+name] = name
		}
		resource := class.Spec.ExtendedResourceName
		if resource == nil || *resource == "" {
			continue
		}
		other := classes[by[*resource]]
		if other == nil || cmp.Compare(class.CreationTimestamp.UnixNano(), other.CreationTimestamp.UnixNano()) > 0 {
			by[*resource] = name
		}
	}
	return by
}
