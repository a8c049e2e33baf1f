package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyRolloutName is the name of the one PolicyRollout.
const PolicyRolloutName = "holdshort"

// Revision is one policy bundle that was read.
type Revision struct {
	// Digest of its content.
	Digest string `json:"digest"`
	// Source it came from: a folder, or the ConfigMaps.
	Source string      `json:"source"`
	Time   metav1.Time `json:"time"`
	// Verdict: Active or Rejected.
	Verdict string `json:"verdict"`
	// Errors by file:row, at most 20.
	// +optional
	// +listType=atomic
	Errors []PolicyProblem `json:"errors,omitempty"`
	// Warnings are what is allowed but probably not meant, at most 20.
	// +optional
	// +listType=atomic
	Warnings []PolicyProblem `json:"warnings,omitempty"`
}

// PolicyProblem is one thing that is wrong with a bundle.
type PolicyProblem struct {
	// At is file:row, or the file alone.
	At      string `json:"at"`
	Message string `json:"message"`
	// Try says how to mend it.
	// +optional
	Try string `json:"try,omitempty"`
}

// PolicyRolloutStatus says what is in force and what was refused.
type PolicyRolloutStatus struct {
	// Active is in force.
	// +optional
	Active *Revision `json:"active,omitempty"`
	// Candidate is the newest content that was read and is not in force.
	// +optional
	Candidate *Revision `json:"candidate,omitempty"`
	// +optional
	Previous *Revision `json:"previous,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PolicyRollout tells what the policy engine is doing.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=hspr
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active.digest`
// +kubebuilder:printcolumn:name="Candidate",type=string,JSONPath=`.status.candidate.verdict`
// +kubebuilder:printcolumn:name="Problem",type=string,JSONPath=`.status.candidate.errors[0].at`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.active.time`
type PolicyRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            PolicyRolloutStatus `json:"status,omitempty"`
}

// PolicyRolloutList is a list of rollouts.
//
// +kubebuilder:object:root=true
type PolicyRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyRollout `json:"items"`
}
