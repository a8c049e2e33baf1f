package effect

import (
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// Admit lifts the suspension of a Job, in one PATCH that holds only for the
// resourceVersion it was decided on.
type Admit struct {
	Job         *demand.Job
	Reservation demand.Reservation
	// NodeSelector and Tolerations to add to the pod template (on top of what
	// the user wrote, see demand.Injected); never a key that the user set.
	NodeSelector map[string]string
	Tolerations  []policies.Toleration
	// PreferNodes are the planned nodes, as a preferred affinity; a hint.
	PreferNodes []string
	// PreferDomains is the same for the domains of a level; nil: none.
	PreferDomains *demand.Domains
}

// Suspend takes a Job back: suspend it, drop its reservation, queue it again.
type Suspend struct {
	Job     *demand.Job
	Reason  reason.Reason
	Backoff *demand.Backoff // when it may try again; nil: at once
	// Preempted is for whom it makes room; nil: for nobody.
	Preempted *demand.Preempted
	// Ran is how long it has run in all by now, in nanoseconds.
	Ran int64
	// Silent leaves out why: a Job that is full takes nothing longer than the
	// reservation that goes.
	Silent bool
}

// Explain writes on the Job why it waits, and where: only when the code or the
// queue changed.
type Explain struct {
	Job    *demand.Job
	Queue  string // that the policy put it in; "" if that is not known
	State  string // policies.StateQueued, …Held, …Rejected
	Reason reason.Reason
	// Nodes is how the nodes look to it, if it waits for them; nil: it does not.
	Nodes *demand.Nodes
}

// StateOf is the label that goes with a reason.
func StateOf(code reason.Code) string {
	switch {
	case code == reason.BadRequest || code == reason.DeniedByPolicy:
		return policies.StateRejected // only an edit lets it run
	case reason.Of(code).Group == reason.GroupHeld, reason.Of(code).Group == reason.GroupNeedsUser:
		return policies.StateHeld
	}
	return policies.StateQueued
}
