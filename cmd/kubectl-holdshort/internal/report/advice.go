package report

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/reason"
)

// The answers to "can it ever run?" and "can it run now?".
const (
	Yes     = "yes"
	No      = "no"
	Unknown = "unknown"
)

// advice says what would change the answer.
func advice(code, state string) *Advice {
	if code == "" {
		return &Advice{CanEverRun: Unknown, CanRunNow: Unknown, Text: undecided(state)}
	}
	entry := reason.Of(reason.Code(code))
	if entry.Code == reason.HeldByPolicy {
		entry.Advice = "" // the rule's own words are in the message already
	}
	return &Advice{CanEverRun: everRuns(entry.Group), CanRunNow: No, Text: entry.Advice}
}

// undecided is for a Job that the ledger has not yet said anything about.
func undecided(state string) string {
	if state == StateHeld {
		return reason.Of(reason.HeldByOwner).Advice
	}
	return "Nothing is decided yet; if that lasts longer than a few seconds, ask whether the manager runs."
}

// writeRefused is the reason of the ledger's event when the API server does not take
// what it writes on a Job; what it would say cannot stand on the Job then.
const writeRefused = "WriteRefused"

// unwritable is the advice for a Job that carries no word of the ledger since it
// takes none; empty if no event says so.
func unwritable(events []corev1.Event) string {
	for i := range events {
		if own(&events[i]) && events[i].Reason == writeRefused {
			return "The API server does not take what the queue writes on this Job, and the events say why. Try: shorten its annotations, or make the Job smaller."
		}
	}
	return ""
}

// everRuns tells a Job that only has to wait from one that needs an edit, of
// itself, of the policy or of the machines. On an error nobody knows.
func everRuns(group reason.Group) string {
	switch group {
	case reason.GroupNeedsUser:
		return No
	case reason.GroupSystem:
		return Unknown
	}
	return Yes
}

// WaitsForShare tells whether the queue's own numbers explain why it waits.
func (j Job) WaitsForShare() bool {
	return j.Waits() && reason.Of(reason.Code(j.Code)).Group == reason.GroupShare
}
