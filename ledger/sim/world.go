package sim

import (
	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// World is what happens in a run, and by which rules. All times are nanoseconds.
type World struct {
	Changes []Change // in any order; at the same moment, in this one
	// Catalog to begin with; nil: no policy is in force yet.
	Catalog    *policies.Catalog
	Namespaces map[string]map[string]string // name → labels
	Rules      Rules
	Delays     Delays
	Options    decide.Options
	Seed       uint64
	Until      int64 // when the run is cut off; 0: not at all
	// Observe sees every plan before it is carried out; nil: nobody does.
	Observe func(Moment)
	// Go says, at every moment, whether to go on; an error ends the run. nil: always.
	Go func() error
	// Autoscaler adds machines of elastic flavors; nil: none come.
	Autoscaler *Autoscaler
	// Hints: pods go where the plan meant them to go, if they can; else to any node.
	Hints bool
}

// Change is something that happens from outside: the one field that is set.
type Change struct {
	At         int64
	Arrive     *Workload
	Delete     string // UID of a workload
	Prioritize *Priority
	Node       *supply.Node // new or changed
	NodeGone   string
	Catalog    *policies.Catalog
}

// Priority is a new priority of a workload.
type Priority struct {
	UID      string
	Priority int64
}

// Workload is a Job that somebody submits.
type Workload struct {
	UID       string
	Namespace string
	Name      string
	// PodSets with as many pods as it has to complete.
	PodSets []demand.PodSet
	Verdict policies.Verdict // of the policy, if no rule judges
	Runs    int64            // how long each of its pods does; 0: for ever
	// Policy is what a policy may read of it, its deadline with it; nil: nothing.
	Policy *policies.Workload
}

// Rules are what a policy says beside its catalog.
type Rules struct {
	// Judge says what classify and deny do; nil: the workload's own verdict.
	Judge func(w *Workload, now int64) decide.Outcome
	// Hold answers whether a workload may start now; nil: nothing is held.
	Hold func(q Question) decide.HoldAnswer
	// Protect answers whether one may make room for another; nil: all may.
	Protect func(ask decide.ProtectAsk, now int64) decide.ProtectAnswer
	// Catalog is asked at every moment, and of who waits, Judge again if it says so;
	// nil: the catalog is what changes say.
	Catalog func(now int64, stock Stock) (catalog *policies.Catalog, again bool)
	// Every is how often rules may change their mind as time goes by, while anybody
	// waits; 0: they don't.
	Every int64
}

// Stock counts the machines of a catalog's flavors.
type Stock func(*policies.Catalog) policies.CatalogCapacity

// Question is what hold may read of the state.
type Question struct {
	Workload *Workload
	Usage    policies.Usage
	Capacity map[string]policies.FlavorCapacity
	Now      int64
}

// Delays are how long things take at most; how long each time, the seed says.
type Delays struct {
	Write    int64 // of the ledger; 0: at once
	React    int64 // of the Job controller
	Schedule int64 // until a pod is bound
	Ready    int64 // until a bound pod is ready
	Grace    int64 // until a pod that is being deleted has gone
}

// Moment is a plan, what it was made of and what it was made from.
type Moment struct {
	Input decide.Input
	Plan  decide.Result
	Book  *book.Book
	// Round counts the plans of this moment, from 1. Only what the ledger itself
	// did happened since the one before.
	Round int
	// Jobs and Pods and Nodes are the objects that a restarted ledger would see.
	Jobs  []*demand.Job
	Pods  []*supply.Pod
	Nodes []*supply.Node
}
