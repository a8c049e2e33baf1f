package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of these types.
var GroupVersion = schema.GroupVersion{Group: "holdshort.dev", Version: "v1alpha1"}

// AddToScheme registers the types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Queue{}, &QueueList{}, &PolicyRollout{}, &PolicyRolloutList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
