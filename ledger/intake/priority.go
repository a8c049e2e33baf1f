package intake

import (
	"cmp"
	"iter"

	schedulingv1 "k8s.io/api/scheduling/v1"
)

// GlobalDefault is the PriorityClass of pods that name none, nil if no class is
// that. Of several the API server takes the one with the lowest value.
func GlobalDefault(classes iter.Seq[*schedulingv1.PriorityClass]) *schedulingv1.PriorityClass {
	var found *schedulingv1.PriorityClass
	for class := range classes {
		if class.GlobalDefault && (found == nil || comparePriority(class, found) < 0) {
			found = class
		}
	}
	return found
}

func comparePriority(a, b *schedulingv1.PriorityClass) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
}
