package policies

// Cohort is a group of queues, and of other cohorts, that lend each other what
// they don't use.
type Cohort struct {
	// Parent is the cohort that this one belongs to.
	Parent string `json:"parent,omitempty"`
	// Weight of the cohort's share where shares are fair; nil means 1.
	Weight *Weight `json:"weight,omitempty"`
	// Quota of the cohort itself, for whoever borrows it: flavor → resource → limit.
	Quota map[string]map[string]Limit `json:"quota,omitempty"`
}

// FairSharing divides what is borrowed by weight instead of by arrival.
type FairSharing struct {
	Enabled bool `json:"enabled"`
	// Strategies say when a share is taken from another, tried in order.
	Strategies []ShareStrategy `json:"strategies,omitempty"`
}

// ShareStrategy compares the share of whoever wants with that of whoever has.
type ShareStrategy string

// The share strategies.
const (
	LessThanOrEqualToFinalShare ShareStrategy = "LessThanOrEqualToFinalShare"
	LessThanInitialShare        ShareStrategy = "LessThanInitialShare"
)

// Group is resources that get one flavor together.
type Group struct {
	Resources []string `json:"resources"`
	// Flavors in order of preference, of the queue's own.
	Flavors []string `json:"flavors"`
}

// Fungibility says when the search for a flavor goes on though one would do.
type Fungibility struct {
	WhenCanBorrow  Search           `json:"whenCanBorrow,omitempty"`
	WhenCanPreempt Search           `json:"whenCanPreempt,omitempty"`
	Preference     FlavorPreference `json:"preference,omitempty"`
}

// Search is what to do on finding a flavor that would do.
type Search string

// The values of Search. Empty means the default: to take what can be borrowed,
// and to look further before others are preempted.
const (
	MayStopSearch Search = "MayStopSearch"
	TryNextFlavor Search = "TryNextFlavor"
)

// FlavorPreference says which of two flavors is the better one.
type FlavorPreference string

// The values of FlavorPreference. Empty means BorrowingOverPreemption.
const (
	BorrowingOverPreemption FlavorPreference = "BorrowingOverPreemption"
	PreemptionOverBorrowing FlavorPreference = "PreemptionOverBorrowing"
)

// Preemption says whom the workloads of a queue may displace.
type Preemption struct {
	WithinQueue         Victims      `json:"withinQueue,omitempty"`
	ReclaimWithinCohort Victims      `json:"reclaimWithinCohort,omitempty"`
	BorrowWithinCohort  BorrowVictim `json:"borrowWithinCohort,omitzero"`
}

// Victims are the workloads that may be displaced.
type Victims string

// The values of Victims. Empty means VictimsNever.
const (
	VictimsNever             Victims = "Never"
	VictimsLowerPriority     Victims = "LowerPriority"
	VictimsLowerOrNewerEqual Victims = "LowerOrNewerEqualPriority" // within the queue only
	VictimsAny               Victims = "Any"                       // reclaiming only
)

// BorrowVictim says whom a workload may displace that would borrow.
type BorrowVictim struct {
	Policy Victims `json:"policy,omitempty"`
	// MaxPriorityThreshold spares the victims above it.
	MaxPriorityThreshold *int64 `json:"maxPriorityThreshold,omitempty"`
}

// Budget is how much of a resource may be used over time.
type Budget struct {
	// Hours is resource → units times hours, over all flavors.
	Hours map[string]int64 `json:"hours"`
	// Period after which it begins anew.
	Period Period `json:"period"`
	// Per says whose budget it is: the queue's, or each user's.
	Per BudgetOwner `json:"per,omitempty"`
}

// Period is a stretch of the calendar, in UTC.
type Period string

// The periods.
const (
	Day   Period = "day"
	Week  Period = "week"
	Month Period = "month"
)

// BudgetOwner says whose budget it is.
type BudgetOwner string

// The owners of budgets. Empty means BudgetOfQueue.
const (
	BudgetOfQueue BudgetOwner = "queue"
	BudgetOfUser  BudgetOwner = "user"
)
