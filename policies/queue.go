package policies

// Queue is who may use how much of what.
type Queue struct {
	// Namespaces whose Jobs the queue accepts; absent means none.
	Namespaces NamespaceRule `json:"namespaces,omitzero"`
	// Flavors in order of preference; each exists in Catalog.Flavors.
	Flavors []string `json:"flavors"`
	// Quota is flavor → resource → limit. A resource that any flavor of the
	// queue names is limited; a flavor that lacks it has 0 of it.
	Quota map[string]map[string]Limit `json:"quota"`
	// Groups split the quota: the resources of a group get one flavor together.
	// Without any, all resources are one group.
	Groups   []Group  `json:"groups,omitempty"`
	Strategy Strategy `json:"strategy,omitempty"`
	// Cohort is whose unused quota the queue may borrow.
	Cohort string `json:"cohort,omitempty"`
	// Weight of the queue's share where shares are fair; nil means 1.
	Weight      *Weight     `json:"weight,omitempty"`
	Fungibility Fungibility `json:"fungibility,omitzero"`
	Preemption  Preemption  `json:"preemption,omitzero"`
	// MaxWorkloads is how many may be admitted at once; nil means any number.
	MaxWorkloads *int64 `json:"maxWorkloads,omitempty"`
	Budget       Budget `json:"budget,omitzero"`
	// PlacementTimeoutSeconds is how long an admitted gang may take to be bound
	// for the first time before it is taken back; 0 means the default, 120.
	PlacementTimeoutSeconds int64 `json:"placementTimeoutSeconds,omitempty"`
	// PodsReadyTimeoutSeconds is the same for being ready; 0 means 1800.
	PodsReadyTimeoutSeconds int64 `json:"podsReadyTimeoutSeconds,omitempty"`
	// RecoveryTimeoutSeconds is how long a gang that lost pods may take to be
	// whole again; 0 means for ever.
	RecoveryTimeoutSeconds int64   `json:"recoveryTimeoutSeconds,omitempty"`
	Backoff                Backoff `json:"backoff,omitzero"`
}

// Backoff spaces the attempts of a workload that was taken back: base, then
// twice as much each time, at most max; each up to a quarter less, so that those
// who were taken back together do not come back together. Zeros mean 60 and 3600.
type Backoff struct {
	BaseSeconds int64 `json:"baseSeconds,omitempty"`
	MaxSeconds  int64 `json:"maxSeconds,omitempty"`
	// LimitCount is how often it is tried again before it is given up; nil means
	// for ever.
	LimitCount *int64 `json:"limitCount,omitempty"`
}

// NamespaceRule selects namespaces: all of them, by name, or by labels (all of
// which must match). The parts are alternatives.
type NamespaceRule struct {
	All    bool              `json:"all,omitempty"`
	Names  []string          `json:"names,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Limit is one quota. A bare number or Kubernetes quantity is short for
// {nominal: …}. Decoded from Kubernetes quantities to the resource's unit.
type Limit struct {
	Nominal int64 `json:"nominal"`
	// BorrowingLimit is how much more may be used of what the cohort leaves; nil
	// means all of it.
	BorrowingLimit *int64 `json:"borrowingLimit,omitempty"`
	// LendingLimit is how much of it others may use while it is free; nil means
	// all of it.
	LendingLimit *int64 `json:"lendingLimit,omitempty"`
}
