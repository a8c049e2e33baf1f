package policies

import "slices"

// Accepts says whether the queue takes Jobs of a namespace with these labels.
// A queue that names no namespaces takes none.
func (q Queue) Accepts(namespace string, labels map[string]string) bool {
	rule := q.Namespaces
	if rule.All || slices.Contains(rule.Names, namespace) {
		return true
	}
	// An empty label selector selects nothing here: whoever wants all says so.
	if len(rule.Labels) == 0 {
		return false
	}
	for key, want := range rule.Labels {
		if got, there := labels[key]; !there || got != want {
			return false
		}
	}
	return true
}
