package demand

import (
	"strings"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// Reservation is what the ledger writes on a Job when it admits it, in
// the annotation holdshort.dev/reservation. It counts only for the Job whose
// UID it names, so a copied manifest carries no reservation with it.
type Reservation struct {
	UID      string           `json:"uid"`
	Queue    string           `json:"queue"`
	PodSets  []ReservedPodSet `json:"podSets"`
	Revision string           `json:"revision"`       // digest of the policy that allowed it
	Time     int64            `json:"time"`           // unix nanoseconds
	Plan     map[string]int64 `json:"plan,omitempty"` // node → pods: a hint, never rewritten
	// Machines is how many it needs that were not there: an autoscaler is to add them.
	Machines int64 `json:"machines,omitempty"`
	// MaxRuntimeSec is how long it may run in all, earlier admissions included; 0: no limit.
	// What runs keeps to it, whatever becomes of the policy.
	MaxRuntimeSec int64 `json:"maxRuntimeSeconds,omitempty"`
	// Ended and Succeeded are its pods that had ended before, and of these well: what
	// they did says nothing of those that come now.
	Ended     int64 `json:"ended,omitempty"`
	Succeeded int64 `json:"succeeded,omitempty"`
}

// EndedSince is how many pods of a Job ended since it was admitted, and of these well.
func (r *Reservation) EndedSince(j *Job) (all, well int64) {
	return max(0, j.Ended-r.Ended), max(0, j.Succeeded-r.Succeeded)
}

// ReservedPodSet is what one pod set was given.
type ReservedPodSet struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	// Requests of one pod, as it asks: what is charged for them says the policy in
	// force, at any time.
	Requests resource.List `json:"requests"`
	// Claimed is what of the requests stands for devices by claims: no node has it.
	Claimed resource.List `json:"claimed,omitempty"`
	// Shared is what all of them together are charged besides: devices by a claim that
	// they share. No node has it, either.
	Shared resource.List `json:"shared,omitempty"`
	// Unverified is what of its wishes was left to the scheduler.
	Unverified []string `json:"unverified,omitempty"`
	// Flavors is resource → flavor for every charged resource and whatever it was
	// charged for, and always for pods: what has no flavor of its own is charged where
	// the pods are.
	Flavors map[string]string `json:"flavors"`
	// NodeSelector and Tolerations that the admission added to the template:
	// they tell where pods may land that do not exist yet, whatever becomes of
	// the flavor in the policy.
	NodeSelector map[string]string     `json:"nodeSelector,omitempty"`
	Tolerations  []policies.Toleration `json:"tolerations,omitempty"`
	// Existing: an autoscaler was asked in vain, so it keeps to nodes that are there.
	Existing bool `json:"existing,omitempty"`
	// Domains that were chosen, if it asks to be in one. A required one is in NodeSelector,
	// too.
	Domains *Domains `json:"domains,omitempty"`
}

// Domains are the values of a label that nodes were chosen by.
type Domains struct {
	Level    string   `json:"level"` // the label
	Names    []string `json:"names"` // its values, sorted
	Required bool     `json:"required,omitempty"`
}

// String is for people.
func (d *Domains) String() string {
	in := d.Level + "=" + strings.Join(d.Names, ", ")
	if d.Required {
		return "all in " + in
	}
	return "preferred in " + in
}

// FlavorOf is where a resource of the pod set is charged: that of the first of its
// names that has one. What is charged for another goes where its own name says, then
// where that of the other does, as another policy may have charged it.
func (r *ReservedPodSet) FlavorOf(names ...string) string {
	return resource.FlavorOf(r.Flavors, names...)
}

// Total is what all pods of the set ask for together.
func (r *ReservedPodSet) Total() resource.List {
	total := r.Requests.Times(r.Count)
	total.AddTo(r.Shared, 1)
	return total
}

// EachCharge calls f for what one pod of the set is charged, by what it asks for; for
// a row more than once, where several are charged as one.
func (r *ReservedPodSet) EachCharge(rates resource.Rates, f func(flavor, charged string, amount int64)) {
	r.eachOf(r.Requests, rates, f)
}

// EachShared is EachCharge for what all of them together are charged besides.
func (r *ReservedPodSet) EachShared(rates resource.Rates, f func(flavor, charged string, amount int64)) {
	r.eachOf(r.Shared, rates, f)
}

func (r *ReservedPodSet) eachOf(list resource.List, rates resource.Rates, f func(flavor, charged string, amount int64)) {
	for _, asked := range list.Names() {
		if n := list[asked]; n > 0 {
			rates.Each(asked, n, func(charged string, n int64) { f(r.FlavorOf(charged, asked), charged, n) })
		}
	}
}

// Injected is what an admission added to the pod template's scheduling fields,
// and by how much it cut the parallelism, in the annotation
// holdshort.dev/injected. The Job without it is what the user wants, also after edits that the user makes while the Job is suspended
// again.
type Injected struct {
	UID          string                `json:"uid"`
	NodeSelector map[string]string     `json:"nodeSelector,omitempty"`
	Tolerations  []policies.Toleration `json:"tolerations,omitempty"`
	PreferNodes  []string              `json:"preferNodes,omitempty"` // planned: a preferred affinity
	// PreferDomains are those of the nodes planned, where the Job prefers to be in one.
	PreferDomains *Domains `json:"preferDomains,omitempty"`
	// Parallelism it was started with, where that is less than its user asked for.
	Parallelism *Change[int32] `json:"parallelism,omitempty"`
}

// Preempted is whom a Job made room for, in the annotation holdshort.dev/preempted
// of the Job that was taken back. It stays until the Job is admitted again, so
// that the room is known to be kept also after a restart.
type Preempted struct {
	UID   string `json:"uid"`   // its own
	By    string `json:"by"`    // UID of the other
	Right Right  `json:"right"` // that lets the other take its place
	Time  int64  `json:"time"`  // unix nanoseconds
	// Room is what the other is to get, for each of its pod sets.
	Room []Room `json:"room,omitempty"`
}

// Room is the pods of a set and the flavor of each group of resources that it asks
// for.
type Room struct {
	Count   int64    `json:"count"`
	Flavors []string `json:"flavors"`
}

// Right is what lets one Job take the place of another.
type Right string

// The rights.
const (
	InQueue                       Right = "InQueue"                       // of the same queue, by priority or age
	InCohortReclamation           Right = "InCohortReclamation"           // to take back what is one's own
	InCohortReclaimWhileBorrowing Right = "InCohortReclaimWhileBorrowing" // by priority, though one borrows too
	InCohortFairSharing           Right = "InCohortFairSharing"           // to the smaller share
)

// Backoff counts how often a gang was taken back, in the annotation
// holdshort.dev/backoff.
type Backoff struct {
	UID   string `json:"uid,omitempty"`
	Count int64  `json:"count,omitempty"`
	Until int64  `json:"until,omitempty"` // unix nanoseconds
	Code  string `json:"code,omitempty"`  // why it was taken back
	// NoMachines are the elastic flavors whose autoscaler gave it none, and until when
	// it is not asked again, in unix nanoseconds.
	NoMachines map[string]int64 `json:"noMachines,omitempty"`
	// Of is a digest of what was tried: once the user changes that, the record says
	// nothing any more.
	Of string `json:"of,omitempty"`
}
