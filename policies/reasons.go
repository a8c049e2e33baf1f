package policies

import "strings"

// OwnReason tells whether a code is one that holdshort itself gives a Job that
// waits. A policy that used it would put its words into holdshort's mouth.
func OwnReason(code string) bool {
	switch code {
	case "PolicyError", "PolicyUnavailable", "CatchingUp",
		"HeldByOwner", "QueueHeld", "HeldByPolicy",
		"NeverFits", "UnknownQueue", "UnknownResource", "NoMatchingFlavor", "BadRequest", "DeniedByPolicy",
		"OutOfTime", "GaveUp", "BackingOff", "Preempted", "MakingRoom", "WaitingForVolumes", "MissingObject", "WaitingForQuota", "WaitingForNamespaceQuota",
		"WaitingForMachines", "Fragmented", "BehindOthers":
		return true
	}
	return false
}

// NamespacedReason tells whether a code says whose it is: team.example/Freeze.
func NamespacedReason(code string) bool {
	owner, name, _ := strings.Cut(code, "/")
	return owner != "" && name != ""
}
