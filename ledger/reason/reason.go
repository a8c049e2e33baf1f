package reason

// Code is why a Job waits.
type Code string

// The codes, in the order of their groups: when several apply, the first is
// the main one.
const (
	PolicyError       Code = "PolicyError"
	PolicyUnavailable Code = "PolicyUnavailable"
	CatchingUp        Code = "CatchingUp"

	HeldByOwner  Code = "HeldByOwner"
	QueueHeld    Code = "QueueHeld"
	HeldByPolicy Code = "HeldByPolicy"

	NeverFits        Code = "NeverFits"
	UnknownQueue     Code = "UnknownQueue"
	UnknownResource  Code = "UnknownResource"
	NoMatchingFlavor Code = "NoMatchingFlavor"
	BadRequest       Code = "BadRequest"
	DeniedByPolicy   Code = "DeniedByPolicy"
	GaveUp           Code = "GaveUp"

	OutOfTime  Code = "OutOfTime"
	BackingOff Code = "BackingOff"
	Preempted  Code = "Preempted"
	MakingRoom Code = "MakingRoom"

	WaitingForVolumes Code = "WaitingForVolumes"
	MissingObject     Code = "MissingObject"

	WaitingForQuota Code = "WaitingForQuota"
	// Not the policy's quota, but the namespace's.
	WaitingForNamespaceQuota Code = "WaitingForNamespaceQuota"

	WaitingForMachines Code = "WaitingForMachines"
	Fragmented         Code = "Fragmented"

	BehindOthers Code = "BehindOthers"
)

// Reason is one answer to "why does it wait?".
type Reason struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// PolicyCode is the policy's own code, for HeldByPolicy and DeniedByPolicy.
	PolicyCode string `json:"policyCode,omitempty"`
	// RuleAt is file:row of the rule behind it.
	RuleAt string `json:"ruleAt,omitempty"`
	// Until is when it ends by itself, unix nanoseconds, 0 if not known.
	Until int64 `json:"until,omitempty"`
}
