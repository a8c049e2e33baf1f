package policies

// Contract is the version of the contract that this build speaks.
const Contract = 1

// Catalog is the value of holdshort.policy.catalog: what exists in this
// cluster. Decoded strictly (unknown keys are errors) and validated, so that
// whoever holds one may rely on it.
type Catalog struct {
	Queues    map[string]Queue  `json:"queues"`
	Flavors   map[string]Flavor `json:"flavors"`
	Resources ResourceRules     `json:"resources,omitzero"`
	// Unreserved says what happens to labelled Jobs that run without a
	// reservation: they are charged (the default) or suspended.
	Unreserved Unreserved `json:"unreserved,omitempty"`
}

// Unreserved is what to do with a labelled Job that runs without reservation.
type Unreserved string

// The values of Unreserved. Empty means UnreservedCharge.
const (
	UnreservedCharge  Unreserved = "charge"
	UnreservedSuspend Unreserved = "suspend"
)

// Queue is who may use how much of what.
type Queue struct {
	// Namespaces whose Jobs the queue accepts; absent means none.
	Namespaces NamespaceRule `json:"namespaces,omitzero"`
	// Flavors in order of preference; each exists in Catalog.Flavors.
	Flavors []string `json:"flavors"`
	// Quota is flavor → resource → limit. A resource that any flavor of the
	// queue names is limited; a flavor that lacks it has 0 of it.
	Quota    map[string]map[string]Limit `json:"quota"`
	Strategy Strategy                    `json:"strategy,omitempty"`
	// PlacementTimeoutSeconds is how long an admitted gang may take to be bound
	// for the first time before it is taken back; 0 means the default, 120.
	PlacementTimeoutSeconds int64 `json:"placementTimeoutSeconds,omitempty"`
	// PodsReadyTimeoutSeconds is the same for being ready; 0 means 1800.
	PodsReadyTimeoutSeconds int64   `json:"podsReadyTimeoutSeconds,omitempty"`
	Backoff                 Backoff `json:"backoff,omitzero"`
}

// Strategy says whether a workload that cannot start blocks those behind it.
type Strategy string

// The strategies. Empty means BestEffortFIFO.
const (
	BestEffortFIFO Strategy = "BestEffortFIFO"
	StrictFIFO     Strategy = "StrictFIFO"
)

// Backoff spaces the attempts of a workload that was taken back: base, then
// twice as much each time, at most max. Zeros mean 60 and 3600.
type Backoff struct {
	BaseSeconds int64 `json:"baseSeconds,omitempty"`
	MaxSeconds  int64 `json:"maxSeconds,omitempty"`
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
}

// Flavor is a kind of machine.
type Flavor struct {
	// NodeLabels that its nodes carry and that are injected into pods as node
	// selector. None means every node that the pod itself selects and tolerates.
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// Taints that its nodes carry: a pod needs to tolerate them, by itself or
	// by the flavor's Tolerations.
	Taints []Taint `json:"taints,omitempty"`
	// Tolerations are injected into pods that don't already tolerate.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	Verify      Verify       `json:"verify,omitempty"`
}

// Verify says whether live nodes are a second gate besides quota.
type Verify string

// The values of Verify. Empty means VerifyNodes.
const (
	VerifyNodes Verify = "nodes"
	VerifyNone  Verify = "none"
)

// Taint is a node's taint.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Toleration is a pod's toleration; an empty operator means Equal.
type Toleration struct {
	Key               string `json:"key,omitempty"`
	Operator          string `json:"operator,omitempty"`
	Value             string `json:"value,omitempty"`
	Effect            string `json:"effect,omitempty"`
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// ResourceRules sort the resources that no quota of a queue names.
type ResourceRules struct {
	// Unlimited resources are checked for fit only. nil means the default:
	// cpu, memory, ephemeral-storage, pods, hugepages-*.
	Unlimited []string `json:"unlimited,omitempty"`
	// Ignored resources are neither charged nor checked. A trailing * matches
	// by prefix, in both lists.
	Ignored []string `json:"ignored,omitempty"`
}
