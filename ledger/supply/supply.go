package supply

import (
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// Node is a machine. Immutable once made.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []policies.Taint // NoSchedule and NoExecute only; the cordon is one
	// Ready is the Ready condition. The scheduler looks at taints only; the
	// ledger is stricter and gives nothing new to a node that is not ready.
	Ready bool
	// Closed says why it is given nothing new though it is ready and takes pods; empty
	// if nothing is in the way.
	Closed string
	// Unsure says why its devices can't be counted; they are in neither list below then.
	Unsure      string
	Allocatable resource.List
	// Features that it declares.
	Features []string
	// Coming: it is not there, and an autoscaler would add it.
	Coming bool
	// Capacity is what is built in, devices that are out of order included.
	Capacity resource.List
}

// Takes tells whether the scheduler would bind a pod here beside what others hold, as
// far as selectors, taints and amounts say: for the clocks that are played.
func (n *Node) Takes(p *Pod, held resource.List) bool {
	for key, value := range p.Place.NodeSelector {
		if n.Labels[key] != value {
			return false
		}
	}
	for _, taint := range n.Taints {
		if !demand.Tolerates(p.Place.Tolerations, taint) {
			return false
		}
	}
	for name, amount := range p.Place.OnNode(p.Requests) {
		if amount > n.Allocatable[name]-held[name] {
			return false
		}
	}
	return true
}

// Pod is any pod of the cluster that is not terminal, managed or not.
// Immutable once made.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	// Node it is bound to; empty while it is not. A bound pod holds its
	// requests there until it is gone or terminal, deleting or not.
	Node string
	// BoundSince is when it came there, as far as its object says, in unix nanoseconds.
	BoundSince int64
	Requests   resource.List // with one of resource.Pods
	// JobUID of the Job that controls it, empty if none does.
	JobUID string
	// Queue and Flavors as the ledger wrote them into the template: they charge
	// the pod even when its Job is gone.
	Queue    string
	Flavors  map[string]string // resource → flavor
	Gated    bool
	Priority int64 // as the scheduler has it
	// Nominated is the node whose room the scheduler keeps for it while it is not bound.
	Nominated string
	// Started: a kubelet has taken it in. Whoever names a node in a pod has it
	// bound there, and the kubelet may yet refuse it.
	Started bool
	Created int64 // unix nanoseconds
	// Deleting pods hold what they have until they are gone.
	Deleting bool
	// DeletingSince is when it was told to go, in unix nanoseconds; 0: not known.
	DeletingSince int64
	Ready         bool
	// UnschedulableSince is when the scheduler first said so, or that it failed; 0 if it did
	// not.
	UnschedulableSince int64
	// Place matters while it is not bound: where it may still land. Once and Apart
	// of it do all its life.
	Place  demand.Place
	Labels map[string]string // by which other pods keep away from it
	// Limits and terms, as demand.PodSet has them.
	Limits resource.List
	Terms  demand.Terms
}
