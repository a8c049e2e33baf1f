package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// QueueHold is what an operator wants with a queue.
// +kubebuilder:validation:Enum=None;Hold;HoldAndDrain
type QueueHold string

// The values of QueueHold; empty means HoldNone.
const (
	HoldNone  QueueHold = "None"
	HoldStart QueueHold = "Hold"         // admit nothing new; what runs goes on
	HoldDrain QueueHold = "HoldAndDrain" // and take back what runs
)

// Holds tells whether nothing new is admitted.
func (h QueueHold) Holds() bool { return h == HoldStart || h == HoldDrain }

// QueueSpec is what a person sets; everything else comes from the policy.
type QueueSpec struct {
	// +optional
	Hold QueueHold `json:"hold,omitempty"`
}

// QueueStatus is published by the ledger, at most every two seconds.
type QueueStatus struct {
	// Pending is how many Jobs wait.
	// +optional
	Pending int64 `json:"pending"`
	// Admitted is how many Jobs run or may run.
	// +optional
	Admitted int64 `json:"admitted"`
	// Used and limits, one row for each flavor and resource of the quota.
	// +optional
	// +listType=map
	// +listMapKey=flavor
	// +listMapKey=resource
	Usage []QueueUsage `json:"usage,omitempty"`
	// Summary is the usage in one line, for a table: "4/8 gpu".
	// +optional
	Summary string `json:"summary,omitempty"`
	// Head is the first waiting Job and why it waits.
	// +optional
	Head *QueueHead `json:"head,omitempty"`
	// Starts is when the first Jobs in line start, as far as that can be told, in
	// the order of the line.
	// +optional
	// +listType=atomic
	Starts []QueueStart `json:"starts,omitempty"`
	// Reasons counts the waiting Jobs by reason code.
	// +optional
	Reasons map[string]int64 `json:"reasons,omitempty"`
	// Revision of the policy that these numbers were decided by.
	// +optional
	Revision string `json:"revision,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// QueueUsage is one resource of one flavor.
type QueueUsage struct {
	Flavor   string            `json:"flavor"`
	Resource string            `json:"resource"`
	Used     resource.Quantity `json:"used"`
	Limit    resource.Quantity `json:"limit"`
	// Available is how much more the queue may use, of its own or borrowed.
	// +optional
	Available *resource.Quantity `json:"available,omitempty"`
	// Borrowed is how much it uses beyond its own, of what others in its cohort
	// leave. Absent: nothing.
	// +optional
	Borrowed *resource.Quantity `json:"borrowed,omitempty"`
	// Lent is how much of its own it does not use and could not, since others in
	// its cohort have it. Absent: nothing.
	// +optional
	Lent *resource.Quantity `json:"lent,omitempty"`
	// Counts is what is charged here, and how much for each unit of it. Absent: the
	// resource alone, as it is.
	// +optional
	Counts map[string]int64 `json:"counts,omitempty"`
}

// QueueHead is the first Job in line.
type QueueHead struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	// Nodes is how the nodes look to it if it waits for them, flavor by flavor.
	// +optional
	// +listType=atomic
	Nodes []FlavorNodes `json:"nodes,omitempty"`
}

// FlavorNodes is how the nodes of a flavor look to the pods of a Job.
type FlavorNodes struct {
	Flavor string `json:"flavor"`
	// +optional
	// +listType=atomic
	Groups []NodeGroup `json:"groups,omitempty"`
}

// NodeGroup is nodes on which the pods of a Job fare alike.
type NodeGroup struct {
	Nodes int64 `json:"nodes"`
	// Pods is how many each of them could take now.
	Pods int64 `json:"pods"`
	// Node is one of them.
	// +optional
	Node string `json:"node,omitempty"`
	// Why they take no more.
	Why string `json:"why"`
}

// QueueStart is when a waiting Job starts, if nobody new comes before it. It is named
// to who may read the Job, and knows its UID.
type QueueStart struct {
	UID types.UID `json:"uid"`
	// Earliest moment. Absent: any moment now, or not at all.
	// +optional
	Earliest *metav1.Time `json:"earliest,omitempty"`
	// Latest moment. Absent: nobody knows, and Unknown says why.
	// +optional
	Latest *metav1.Time `json:"latest,omitempty"`
	// Ground is what the moments are told from: "run limits and 43 past runs".
	// +optional
	Ground string `json:"ground,omitempty"`
	// Unknown is why there is no latest moment.
	// +optional
	Unknown string `json:"unknown,omitempty"`
}

// Queue is one queue of the policy, under the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=hsq
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pending`
// +kubebuilder:printcolumn:name="Admitted",type=integer,JSONPath=`.status.admitted`
// +kubebuilder:printcolumn:name="Used",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Head",type=string,JSONPath=`.status.head.name`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.head.reason`
// +kubebuilder:printcolumn:name="Hold",type=string,JSONPath=`.spec.hold`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Queue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              QueueSpec   `json:"spec,omitempty"`
	Status            QueueStatus `json:"status,omitempty"`
}

// QueueList is a list of queues.
//
// +kubebuilder:object:root=true
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Queue `json:"items"`
}
