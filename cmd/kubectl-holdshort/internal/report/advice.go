package report

import (
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
