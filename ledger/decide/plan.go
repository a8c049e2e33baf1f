package decide

import (
	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// Input is everything a plan depends on.
type Input struct {
	Options
	Snapshot *book.Snapshot
	// Catalog of the active revision; nil when no policy is in force: nothing
	// is admitted.
	Catalog  *policies.Catalog
	Revision string // its digest
	// Memory of the round before, in plans of one round.
	Memory *Memory
	// Verdicts by Job UID, for every Job that may be admitted.
	Verdicts map[string]Outcome
	// Namespaces by name → labels: which queue accepts which.
	Namespaces map[string]map[string]string
	// Held are the queues that an operator holds.
	Held map[string]bool
	// Drained are those of them that nothing is to run in either.
	Drained map[string]bool
	// Holds are the answers to earlier Asks, by Job UID.
	Holds map[string]HoldAnswer
	// AskHold: ask for what hold says of whom Holds has no answer.
	AskHold bool
	// Protects are the answers to earlier questions whether a Job may make room for
	// another; AskProtect: ask where there is none.
	Protects   map[Displacement]ProtectAnswer
	AskProtect bool
	// Survey: tell what hold may read of every Job that waits, though it is not
	// asked for; another policy is tried on it.
	Survey bool
	// Busy are the UIDs with a write of the ledger's in flight: they are neither
	// admitted nor suspended, nor reported.
	Busy map[string]bool
	// Touched are the UIDs for which Verdicts, Holds, Protects or Busy have something
	// else than in the Planner's last plan. What changed in the book need not be named.
	Touched []string
	// Since is when this process first knew the whole cluster: what was admitted
	// before has its timeouts counted from here.
	Since int64
	Now   int64 // unix nanoseconds
	Limit int   // most admissions in one plan; 0: no limit
}

// Outcome is what classify and deny said of one Job: a verdict, or reasons why
// there is none. Error is not "no": it is its own code.
type Outcome struct {
	Verdict policies.Verdict
	// Reason is set when the Job may not be admitted: PolicyError, DeniedByPolicy.
	Reason *reason.Reason
}

// Displacement is one Job that would make room for another, by UID.
type Displacement struct{ Victim, By string }

// ProtectAnswer is what protect said of one; nil Reason: it may be.
type ProtectAnswer struct{ Reason *reason.Reason }

// ProtectAsk is a displacement for which protect must be evaluated, with what it
// may read of the victim.
type ProtectAsk struct {
	Displacement
	Admitted  int64    // unix nanoseconds
	Flavors   []string // that it runs on, sorted
	Borrowing bool     // its queue uses more than its own of them
}

// HoldAnswer is what hold said of one Job; nil Reason: it may start.
type HoldAnswer struct{ Reason *reason.Reason }

// Result is what to do now. Slices are in decision order.
type Result struct {
	Admit   []effect.Admit
	Suspend []effect.Suspend
	// Changed are the UIDs of those that wait for another reason than after the plan
	// before, or did not wait then, in the order of their queues.
	Changed []string
	// Stale are the queues of which something may be otherwise, by name.
	Stale []string
	// Waiting has every queued Job that was not admitted, in the order of its
	// queue, with the reason.
	Waiting []Waiting
	// Asks are the UIDs for which hold must be evaluated before the plan can go
	// on (only when Input.AskHold is set).
	Asks []string
	// AskProtect are the displacements that must be asked about before the plan can
	// go on (only when Input.AskProtect is set).
	AskProtect []ProtectAsk
	// AskUsage and AskCapacity are what hold may read of the state at the place
	// of each ask: those admitted or asked for before it count as running. In a
	// survey, others that wait have the state at the end of the plan.
	AskUsage    map[string]policies.Usage
	AskCapacity map[string]policies.FlavorCapacity
	// WakeAt is the earliest moment at which the passing of time alone changes
	// the plan (a backoff or a timeout ends); 0: never.
	WakeAt int64
	// More: Input.Limit was reached, so plan again at once. Who was not looked at
	// is in Waiting with BehindOthers, which is not worth writing down.
	More bool
	// Memory for the next plan, where plans are one round.
	Memory *Memory
	// Queues is every queue of the policy and every other one that anything is
	// charged to, by name.
	Queues []QueueState
}

// QueueState is one queue after the plan.
type QueueState struct {
	Name     string
	InPolicy bool
	Pending  int // Jobs that wait
	Admitted int // Jobs that run, or may, by a reservation
	// Rows is flavor by resource; of a queue of the policy, what its quota names.
	// Usage has what the plan admits, and Jobs that run without a reservation. A
	// flavor or queue that left the policy has rows, with nothing allowed, as
	// long as anything is charged there.
	Rows []quota.Row
	// Head is the first in line, nil if there is none.
	Head *Waiting
	// Reasons is how many wait for what.
	Reasons map[reason.Code]int64
}

// Waiting is one queued Job and why it waits.
type Waiting struct {
	UID   string
	Key   string // namespace/name
	Queue string // where the policy put it; empty if that is not known
	Rank  int    // 1 is the head of its queue; 0: not in line
	// StartBy is when it starts at the latest, unless somebody of higher rank comes;
	// 0 where that is not known.
	StartBy int64
	// Priority and Order it was ranked by.
	Priority int64
	Reason   reason.Reason
	// Steady is the part of the reason's message to be told anew when it changes; empty:
	// that the code is the same is enough.
	Steady string
	// Others that apply too, most important first.
	Others []reason.Reason
}
