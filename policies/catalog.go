package policies

import "slices"

// Contract is the version of the contract that this build speaks.
const Contract = 1

// Catalog is the value of holdshort.policy.catalog: what exists in this
// cluster. Decoded strictly (unknown keys are errors) and validated, so that
// whoever holds one may rely on it.
type Catalog struct {
	Queues  map[string]Queue  `json:"queues"`
	Flavors map[string]Flavor `json:"flavors"`
	// Cohorts are groups of queues that lend each other what they don't use. A
	// cohort that a queue names and that is not here has no quota of its own.
	Cohorts     map[string]Cohort `json:"cohorts,omitempty"`
	FairSharing FairSharing       `json:"fairSharing,omitzero"`
	Resources   ResourceRules     `json:"resources,omitzero"`
	// Unreserved says what happens to labelled Jobs that run without a
	// reservation: they are charged (the default) or suspended.
	Unreserved Unreserved `json:"unreserved,omitempty"`
	// Rivals says which waiting pods that no admission made may take what is free.
	Rivals Rivals `json:"rivals,omitzero"`
	// Kinds of workloads besides batch/v1 Jobs, by name.
	Kinds map[string]Kind `json:"kinds,omitempty"`
}

// Unreserved is what to do with a labelled Job that runs without reservation.
type Unreserved string

// The values of Unreserved. Empty means UnreservedCharge.
const (
	UnreservedCharge  Unreserved = "charge"
	UnreservedSuspend Unreserved = "suspend"
)

// Rivals bounds the waiting pods for which room is left that they could take at any
// moment: pods that no admission made.
type Rivals struct {
	// FromPriority leaves out pods of lower priority; nil leaves out none. It belongs
	// at or below the priority of the pods of Jobs, so that the scheduler lets these
	// displace whom it leaves out.
	FromPriority *int64 `json:"fromPriority,omitempty"`
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
	// Elastic: machines that are not there yet and may be asked for.
	Elastic Elastic `json:"elastic,omitzero"`
	// Placement says who chooses the nodes of the pods.
	Placement Placement `json:"placement,omitempty"`
	// Topology is the node labels that name the parts of the cluster, the widest
	// first: zone, block, rack. A Job can ask for one part at one of these levels.
	Topology []string `json:"topology,omitempty"`
}

// Elastic bounds the machines that an autoscaler may add.
type Elastic struct {
	// Max is the number of nodes that there may be in all.
	Max int64 `json:"max"`
	// Node is what pods can have of one of them. None means what every node that is
	// there has, so that there is no first one.
	Node Amounts `json:"node,omitempty"`
	// TimeoutSeconds is how long the autoscaler may take: by then all pods have
	// nodes, or it has none to give and is not asked again for as long. 0 means 900.
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
}

// Amounts is how much of each resource, in the unit of each: numbers, or quantities
// such as "64Gi", where they are written.
type Amounts map[string]int64

// MostElastic is how many flavors of a catalog can be elastic, and MostMachines how
// many nodes one of them may have.
const (
	MostElastic  = 64
	MostMachines = 10_000
)

// ElasticFlavors are the names of those of which machines may be added, sorted.
func (c *Catalog) ElasticFlavors() []string {
	var names []string
	for name, f := range c.Flavors {
		if f.Elastic.Max > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Placement says who chooses the nodes of the pods.
type Placement string

// The placements. Empty means PlacementPool.
const (
	PlacementPool  Placement = "pool"  // the scheduler, among all nodes of the flavor
	PlacementExact Placement = "exact" // the plan, pod by pod
)

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
	// Conversions charge a resource as others: resource → what is charged instead
	// → how much of it for each unit.
	Conversions map[string]map[string]int64 `json:"conversions,omitempty"`
	// PerDevice are resources that a container asks for once for each of its
	// devices: resource → the resource that counts the devices. A container
	// without that one has one device.
	PerDevice map[string]string `json:"perDevice,omitempty"`
}

// Kind is how workloads of one kind are treated.
type Kind struct {
	// Managed says whether they queue; false leaves them alone.
	Managed bool `json:"managed"`
}
