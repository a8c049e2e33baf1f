// Package v1alpha1 has the types of the few custom resources: Queue, which the
// ledger publishes so that people can look at their queue, and PolicyRollout,
// which tells what the policy engine is doing.
//
// +kubebuilder:object:generate=true
// +groupName=holdshort.dev
package v1alpha1
