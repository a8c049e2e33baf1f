package intake

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdshort/holdshort/policies"
)

// Scope is where holdshort manages Jobs.
type Scope struct {
	// OwnNamespace is where holdshort itself runs; nothing in it is managed.
	OwnNamespace string
	// ManagedNamespaces narrows the namespaces by their labels; nil means all.
	ManagedNamespaces labels.Selector
}

// Managed tells whether a Job is holdshort's to manage. The admission policies
// and webhook rules of the chart say the same in CEL; testdata/managed.yaml
// holds all of them together, so change that table first.
func Managed(job *batchv1.Job, namespace policies.Namespace, scope Scope) bool {
	if _, labelled := job.Labels[policies.LabelQueue]; !labelled {
		return false
	}
	return scope.namespace(namespace) && !ownedElsewhere(job.OwnerReferences) &&
		(job.Spec.ManagedBy == nil || slices.Contains(JobControllers(), *job.Spec.ManagedBy))
}

func (s Scope) namespace(n policies.Namespace) bool {
	if n.Name == s.OwnNamespace || slices.Contains(SystemNamespaces(), n.Name) {
		return false
	}
	return s.ManagedNamespaces == nil || s.ManagedNamespaces.Matches(labels.Set(n.Labels))
}

// ownedElsewhere looks at the controlling owner only. The reference may be
// forged, and stays where the API server does not know the owner's kind. That
// gains nothing: who forges it could as well leave the label out, and a Job that
// loses it enters its queue like one that is labelled just then. Among too many,
// nobody looks for it.
func ownedElsewhere(owners []metav1.OwnerReference) bool {
	if len(owners) > OwnersMax {
		return false
	}
	for _, owner := range owners {
		if owner.Controller == nil || !*owner.Controller {
			continue
		}
		group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		if slices.Contains(HandledElsewhere(), group) {
			return true
		}
	}
	return false
}

// SystemNamespaces are never managed, nor is holdshort's own.
func SystemNamespaces() []string {
	return []string{metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"}
}

// HandledElsewhere are the kinds whose Jobs follow their parent: it decides
// about their suspension.
func HandledElsewhere() []schema.GroupKind {
	return []schema.GroupKind{{Group: "jobset.x-k8s.io", Kind: "JobSet"}}
}

// JobControllers are the values of spec.managedBy that mean the controller of
// Kubernetes itself; absent means it too.
func JobControllers() []string {
	return []string{"", batchv1.JobControllerName}
}
