package demand

import (
	"maps"
	"strings"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// PodSet is a group of pods of one shape.
type PodSet struct {
	Name string
	// Count is how many pods it wants at once.
	Count    int64
	MinCount int64 // least it starts with; 0: all of Count. Below Count
	// Requests of one pod, exactly as the API server will make it, with one of
	// resource.Pods and what its claims are charged as. Zero amounts are left out.
	Requests resource.List
	Place    Place
	Topology Topology
	Labels   map[string]string // by which other pods keep away from these
	// Limits of one pod, and its terms: ResourceQuotas of its namespace may count them.
	Limits resource.List
	Terms  Terms
	// Together is how many pods one of the set stands for, that start on one node or not
	// at all: Requests and Limits are theirs, and the devices are once for all of them.
	// 0: each stands for itself.
	Together int64
}

// Each is what one of the pods that go together asks for, besides the devices that they
// share, and its limits.
func (s *PodSet) Each() (requests, limits resource.List) {
	n := max(1, s.Together)
	return s.Place.OnNode(s.Requests).Over(n), s.Limits.Over(n)
}

// Pods is how many pods the set comes to.
func (s *PodSet) Pods() int64 { return resource.Mul(s.Count, max(1, s.Together)) }

// Topology is that pods are to be near each other: on nodes with one value of a label.
type Topology struct {
	Level    string // the label; empty: they may be anywhere
	Required bool   // all of them, or none starts; else as far as there is room
}

// Place says on which nodes a pod may run.
type Place struct {
	NodeSelector map[string]string
	// Affinity terms, of which one must match; nil means no requirement, an
	// empty (non-nil) list matches nothing.
	Affinity []NodeTerm
	// Pins are what else ties it to nodes: each has to be met.
	Pins []Pin
	// Features that a node has to declare.
	Features    []string
	Tolerations []policies.Toleration
	// Existing: only on nodes that are there already.
	Existing bool
	// Once is what it takes of things that a node has once, such as a port: name →
	// resource.Whole of it, or 1. Never charged. Clear are those of which nobody
	// else there may have any.
	Once  resource.List
	Clear []string
	// Apart are the pods that it keeps away from. The book makes Once and Clear of
	// them, by all that is known of others.
	Apart []Apart
	// PerNode is how many pods of the set one node takes, whatever there is; 0
	// means no limit.
	PerNode int64
	// Devices are the units that a pod takes of a row that is counted for claims:
	// one name, since rows may mean the same devices. They say where there is room,
	// and are nothing that a quota knows.
	Devices resource.List
	// Claimed is what of the requests stands for these devices: a quota knows it, and
	// no node has it.
	Claimed resource.List
	// Unverified names constraints that the ledger does not check (pod
	// affinity, topology spread, volumes yet to be made); such a workload is admitted
	// by resources and judged by the placement timeout.
	Unverified []string
}

// OnNode is what of a pod's requests its node loses, besides its devices.
func (p *Place) OnNode(requests resource.List) resource.List {
	if len(p.Claimed) == 0 {
		return requests
	}
	rest := maps.Clone(requests)
	for name, n := range p.Claimed {
		if rest[name] = max(0, resource.Sub(rest[name], n)); rest[name] == 0 {
			delete(rest, name)
		}
	}
	return rest
}

// Pin is a thing of a pod that is somewhere already, or may not be everywhere.
type Pin struct {
	Name string // of the thing, for people. Pods whose pins differ in nothing else are alike
	Is   string // where it is, for people: "bound to a volume of zone=a"
	// Terms of which one must match a node; empty: none does.
	Terms []NodeTerm
}

// NodeTerm is a conjunction of requirements on a node.
type NodeTerm struct {
	Labels []NodeRequirement
	Fields []NodeRequirement // only metadata.name
}

// NodeRequirement is one expression of a node selector term.
type NodeRequirement struct {
	Key      string
	Operator string // In, NotIn, Exists, DoesNotExist, Gt, Lt
	Values   []string
}

// Wish writes what is asked of the value, for people.
func (r NodeRequirement) Wish() string {
	if len(r.Values) == 0 {
		return r.Operator
	}
	return r.Operator + " " + strings.Join(r.Values, ",")
}
