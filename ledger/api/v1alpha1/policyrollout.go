package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyRolloutName is the name of the one PolicyRollout.
const PolicyRolloutName = "holdshort"

// PolicyRolloutSpec is what people tell the manager about revisions: one thing at
// a time, by its whole digest.
//
// +kubebuilder:validation:XValidation:rule="[has(self.approve), has(self.discard), has(self.pin), has(self.promote)].filter(x, x).size() <= 1",message="approve, discard, pin and promote exclude one another. Try: set the other ones to null in the same patch, or kubectl holdshort policy"
type PolicyRolloutSpec struct {
	// Approve is the digest of the candidate that may come into force though it
	// awaits approval. The manager takes it out when that has happened.
	// +optional
	Approve Digest `json:"approve,omitempty"`
	// Discard is the digest of a candidate that shall not come into force.
	// +optional
	Discard Digest `json:"discard,omitempty"`
	// Pin is the digest of the active or the previous revision. It is in force,
	// and stays so whatever the source says, until the pin is taken out or a
	// candidate is approved in its place.
	// +optional
	Pin Digest `json:"pin,omitempty"`
	// Promote is the digest of the shadow revision. It comes into force if it
	// passes what a candidate has to, and stays pinned until the source has the
	// same content; then the manager takes this out.
	// +optional
	Promote Digest `json:"promote,omitempty"`
}

// Digest names the content of a bundle: sha256, in hexadecimal.
//
// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
type Digest string

// Verdicts on a revision.
const (
	VerdictActive           = "Active"
	VerdictRejected         = "Rejected"
	VerdictAwaitingApproval = "AwaitingApproval"
	VerdictDiscarded        = "Discarded"
	VerdictShadow           = "Shadow"
	// VerdictUnavailable: the source cannot be read, so there is nothing to judge.
	VerdictUnavailable = "Unavailable"
)

// Revision is one policy bundle that was read.
type Revision struct {
	// Digest of its content; none if nothing could be read.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Short is the beginning of the digest, for people to read. Two revisions may
	// share it.
	// +optional
	Short string `json:"short,omitempty"`
	// Source it came from: a folder, the ConfigMaps or a server.
	Source string `json:"source"`
	// Time of the verdict; for Unavailable, since when.
	Time metav1.Time `json:"time"`
	// Verdict: Active, Rejected, AwaitingApproval, Discarded, Shadow, or
	// Unavailable if the source cannot be read.
	Verdict string `json:"verdict"`
	// Reason why it awaits approval or was discarded, why the catalog of a shadow
	// stands still, or what is in force while the source cannot be read.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Errors by file:row, at most 20.
	// +optional
	// +listType=atomic
	Errors []PolicyProblem `json:"errors,omitempty"`
	// Warnings are what is allowed but probably not meant, at most 20.
	// +optional
	// +listType=atomic
	Warnings []PolicyProblem `json:"warnings,omitempty"`
	// Tests are the bundle's own, as they ended.
	// +optional
	Tests *PolicyTests `json:"tests,omitempty"`
	// Preflight is what it would change for the Jobs that there are.
	// +optional
	Preflight *Preflight `json:"preflight,omitempty"`
	// Reads is what its rules read, by entrypoint: an answer stands until
	// something of it changes.
	// +optional
	// +listType=map
	// +listMapKey=entrypoint
	Reads []PolicyReads `json:"reads,omitempty"`
}

// PolicyReads is what the rules of one entrypoint read, through helpers too.
type PolicyReads struct {
	// Entrypoint: catalog, classify, deny and so on.
	Entrypoint string `json:"entrypoint"`
	// Input are paths such as input.workload.queue, at most 50.
	// +optional
	// +listType=atomic
	Input []string `json:"input,omitempty"`
	// Config are paths such as data.holdshort.config.classes, at most 50.
	// +optional
	// +listType=atomic
	Config []string `json:"config,omitempty"`
}

// PolicyTests counts the tests of a bundle.
type PolicyTests struct {
	Passed int64 `json:"passed"`
	Failed int64 `json:"failed"`
}

// Preflight is what a revision would change for the Jobs that there are.
type Preflight struct {
	// Jobs that were asked about: all that are not over.
	Jobs int64 `json:"jobs"`
	// HarmedPercent of them would newly fail to be judged, be denied or have no
	// queue.
	HarmedPercent int64 `json:"harmedPercent"`
	// Changes by kind.
	// +optional
	// +listType=map
	// +listMapKey=kind
	Changes []PreflightChange `json:"changes,omitempty"`
}

// PreflightChange is one kind of change.
type PreflightChange struct {
	// Kind: Fails, Denied, UnknownQueue, UnknownResource, Held, FlavorLost,
	// QueueChanged, PriorityChanged or OverQuota.
	Kind string `json:"kind"`
	// Count of Jobs; of queues for OverQuota.
	Count int64 `json:"count"`
	// Examples are a few of them, with the numbers.
	// +optional
	// +listType=atomic
	Examples []string `json:"examples,omitempty"`
}

// ShadowStatus is what a second bundle would decide, which is never enforced.
type ShadowStatus struct {
	Revision `json:",inline"`
	// Compared decisions since both revisions are what they are.
	Compared int64 `json:"compared"`
	// Dropped decisions were not compared because too many came at once.
	Dropped int64 `json:"dropped"`
	// Differences by kind.
	// +optional
	// +listType=map
	// +listMapKey=kind
	Differences []DifferenceCount `json:"differences,omitempty"`
	// Latest differences, the newest first, at most 20.
	// +optional
	// +listType=atomic
	Latest []Difference `json:"latest,omitempty"`
}

// DifferenceCount counts the decisions that differ in one thing. A Job is decided
// about more than once.
type DifferenceCount struct {
	// Kind: queue, priority, order, flavors, user, mutate, deny, warn, hold, or error if
	// one of the two gave no answer.
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	// Jobs that they are about, at most 10000.
	// +optional
	Jobs int64 `json:"jobs,omitempty"`
}

// Difference is one decision on which active and shadow disagree.
type Difference struct {
	Time metav1.Time `json:"time"`
	Kind string      `json:"kind"`
	// Job as namespace/name.
	Job string `json:"job"`
	// Active and Shadow are what each of them said.
	Active string `json:"active"`
	Shadow string `json:"shadow"`
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
	// Previous was in force before Active; kept, so that a rollback finds it.
	// +optional
	Previous *Revision `json:"previous,omitempty"`
	// Shadow is evaluated beside Active and never enforced.
	// +optional
	Shadow *ShadowStatus `json:"shadow,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PolicyRollout tells what the policy engine is doing, and takes people's word on it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=hspr
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active.short`
// +kubebuilder:printcolumn:name="Candidate",type=string,JSONPath=`.status.candidate.verdict`
// +kubebuilder:printcolumn:name="Problem",type=string,JSONPath=`.status.candidate.errors[0].message`
// +kubebuilder:printcolumn:name="Where",type=string,JSONPath=`.status.candidate.errors[0].at`,priority=1
// +kubebuilder:printcolumn:name="Shadow",type=string,JSONPath=`.status.shadow.short`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.active.time`
type PolicyRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec   PolicyRolloutSpec   `json:"spec,omitzero"`
	Status PolicyRolloutStatus `json:"status,omitempty"`
}

// PolicyRolloutList is a list of rollouts.
//
// +kubebuilder:object:root=true
type PolicyRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyRollout `json:"items"`
}
