package report

import (
	"time"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// APIVersion of everything that is printed as JSON or YAML.
const APIVersion = "holdshort.dev/cli/v1"

// Kind heads a printed document.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// QueueList is the answer of kubectl holdshort queues.
type QueueList struct {
	Kind
	Items []Queue `json:"items"`
}

// Queue is one queue of the policy.
type Queue struct {
	Kind
	Name     string           `json:"name"`
	Pending  int64            `json:"pending"` // all that wait, those too that are not in line
	InLine   int64            `json:"inLine"`  // of them, those that start as soon as there is room
	Admitted int64            `json:"admitted"`
	Usage    []QueueUsage     `json:"usage"`
	Summary  string           `json:"summary,omitempty"`
	Head     *QueueHead       `json:"head,omitempty"`
	Reasons  map[string]int64 `json:"reasons,omitempty"` // code → waiting Jobs
	Held     bool             `json:"held"`
	Drained  bool             `json:"drained,omitempty"` // nothing is to run there either
	Revision string           `json:"revision,omitempty"`
	Created  time.Time        `json:"created"`
	Deleted  bool             `json:"deleted,omitempty"` // a watch saw it go
}

// QueueUsage is one resource of one flavor.
type QueueUsage struct {
	Flavor   string `json:"flavor"`
	Resource string `json:"resource"`
	Used     int64  `json:"used"`
	Limit    int64  `json:"limit"`
	// Available is how much more it may use, of its own or borrowed.
	Available int64 `json:"available"`
	// Borrowed is how much it uses beyond its own, of its cohort's; Lent how much of
	// its own others have.
	Borrowed int64 `json:"borrowed,omitempty"`
	Lent     int64 `json:"lent,omitempty"`
	// Counts is what is charged here, and how much for each unit of it; none: the
	// resource alone, as it is.
	Counts map[string]int64 `json:"counts,omitempty"`
}

// chargedFor is how much of the row a list is charged.
func (u *QueueUsage) chargedFor(list resource.List) int64 {
	if len(u.Counts) == 0 {
		return list[u.Resource]
	}
	sum := int64(0)
	for name, each := range u.Counts {
		sum = resource.Add(sum, resource.Mul(list[name], each))
	}
	return sum
}

// QueueHead is the first Job in line.
type QueueHead struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Code      string `json:"code"`
	Message   string `json:"message"`
}

// JobList is the answer of kubectl holdshort jobs.
type JobList struct {
	Kind
	Items []Job `json:"items"`
}

// The states that people see. They follow what the Job is, not only its label,
// which keeps its last value when the Job ends.
const (
	StateUnmanaged = "unmanaged"
	StateWaiting   = "waiting"
	StateHeld      = "held"
	StateRejected  = "rejected"
	StateAdmitted  = "admitted"
	StateBypassed  = "bypassed" // lifted past the queue by somebody who may
	StateUncharged = "running"  // runs without a reservation, charged from its pods
	StateComplete  = "complete"
	StateFailed    = "failed"
	StateDeleting  = "deleting"
)

// States are all of them that a list of queued Jobs can have.
func States() []string {
	return []string{
		StateWaiting, StateHeld, StateRejected, StateAdmitted, StateBypassed, StateUncharged, StateComplete, StateFailed, StateDeleting,
		StateUnmanaged,
	}
}

// Job is one Job as the list shows it.
type Job struct {
	Kind
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	UID       string        `json:"uid"`
	Queue     string        `json:"queue"`
	State     string        `json:"state"`
	Since     time.Time     `json:"since"`    // in this state, as far as the Job tells
	Reserved  resource.List `json:"reserved"` // charged amounts, all pods together
	Position  int64         `json:"position,omitempty"`
	Code      string        `json:"code,omitempty"` // why it waits, or failed
	Message   string        `json:"message,omitempty"`
	// Until is when what holds it ends by itself, if the policy says so.
	Until *time.Time `json:"until,omitempty"`
	// Start is when it starts, as far as that can be told; nil: nothing is.
	Start   *Start    `json:"start,omitempty"`
	Arrival time.Time `json:"arrival"`
	Created time.Time `json:"created"`
	Deleted bool      `json:"deleted,omitempty"` // a watch saw it go

	key arrivalKey
}

// Start is when a Job starts if nobody new comes before it.
type Start struct {
	// Earliest moment; nil: at any moment now, or nobody knows.
	Earliest *time.Time `json:"earliest,omitempty"`
	// Latest moment; nil: nobody knows, and Unknown says why.
	Latest  *time.Time `json:"latest,omitempty"`
	Ground  string     `json:"ground,omitempty"` // what it is told from
	Unknown string     `json:"unknown,omitempty"`
}

// JobExplanation is the answer of kubectl holdshort explain.
type JobExplanation struct {
	Job
	Asks   []Ask   `json:"asks"`
	Advice *Advice `json:"advice,omitempty"`
	// Now is the row of the queue that the reason is about, at this moment.
	Now []QueueUsage `json:"now,omitempty"`
	// Moved is what the reason would say by the numbers of now, if that is something
	// else.
	Moved   string `json:"moved,omitempty"`
	Pending int64  `json:"pending,omitempty"` // how many wait in the queue
	InLine  int64  `json:"inLine,omitempty"`  // how many of them are in line
	// QueueHeld: an operator keeps the queue from starting anything.
	QueueHeld bool `json:"queueHeld,omitempty"`
	// QueueDrained: and takes back what runs there.
	QueueDrained bool `json:"queueDrained,omitempty"`
	// Nodes is how the nodes look to it, if it waits for them, flavor by flavor, and
	// NodesAt the moment at which they looked so; nil: now.
	Nodes   []reason.FlavorNodes `json:"nodes,omitempty"`
	NodesAt *time.Time           `json:"nodesAt,omitempty"`
	// Holding are Jobs of the queue that have what the reason is about, in all
	// namespaces that may be read.
	Holding []Holder `json:"holding,omitempty"`
	// Remains are pods of the queue that outlive their Job, or its admission.
	Remains []Remains `json:"remains,omitempty"`
	// HeldElsewhere is what is used by Jobs of namespaces that may not be listed.
	HeldElsewhere resource.List `json:"heldElsewhere,omitempty"`
	// HeldUnnamed is what is used though no Job or pod that was read has it, and
	// all could be read: the numbers were written at another moment.
	HeldUnnamed resource.List `json:"heldUnnamed,omitempty"`
	// GaveWay is for whom the Job was taken back the last time, until it starts again.
	GaveWay *GaveWay `json:"gaveWay,omitempty"`
	// RoomFrom are Jobs that make room for this one, in all namespaces that may be
	// read.
	RoomFrom []RoomFrom `json:"roomFrom,omitempty"`
	Revision string     `json:"revision,omitempty"` // of the policy that decided
	// Bypass is what somebody said who started the Job past the queue.
	Bypass     string      `json:"bypass,omitempty"`
	Admitted   *Admission  `json:"admission,omitempty"`
	Pods       *PodCounts  `json:"pods,omitempty"`
	Failing    []Failing   `json:"failing,omitempty"` // what is wrong with pods, the most frequent first
	FailedPods *FailedPods `json:"failedPods,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	// Unread is what could not be read, and so is missing above.
	Unread []string `json:"unread,omitempty"`
	// Suspended tells of a Job that holdshort does not manage whether it waits for
	// somebody to start it.
	Suspended bool `json:"suspended,omitempty"`
	// Misspelt are labels of such a Job that were perhaps meant for its queue.
	Misspelt []string `json:"misspelt,omitempty"`
}

// Ask is what one pod set wants.
type Ask struct {
	PodSet   string        `json:"podSet"`
	Pods     int64         `json:"pods"`
	Requests resource.List `json:"requests"` // of one pod
	// Shared is what all pods ask for together besides, by a claim that they share.
	Shared resource.List `json:"shared,omitempty"`
	// Unverified are its wishes about nodes that are not checked before it starts.
	Unverified []string `json:"unverified,omitempty"`
}

// Advice is what would change the answer.
type Advice struct {
	// CanEverRun is "no" when only an edit of the Job or the policy helps.
	CanEverRun string `json:"canEverRun"`
	CanRunNow  string `json:"canRunNow"`
	Text       string `json:"text,omitempty"`
}

// Holder is a Job that has what another waits for.
type Holder struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	State     string        `json:"state"`
	Reserved  resource.List `json:"reserved"` // what is charged for it, of what is short
	Since     time.Time     `json:"since"`
	Ending    bool          `json:"ending,omitempty"` // it is being deleted
}

// Remains are the pods of one Job that hold something without a reservation.
type Remains struct {
	Namespace string        `json:"namespace"`
	Job       string        `json:"job"`
	Pods      int64         `json:"pods"`
	Held      resource.List `json:"held"`
	Ending    bool          `json:"ending"` // all of them have been told to end
}

// Admission is what an admitted Job was given.
type Admission struct {
	Since    time.Time         `json:"since"`
	Revision string            `json:"revision"`
	Flavors  []AdmittedFlavors `json:"flavors"`
	Plan     []PlannedNode     `json:"plan,omitempty"` // by node name
	// Machines is for how many it made an autoscaler be asked.
	Machines int64 `json:"machines,omitempty"`
}

// AdmittedFlavors is what one pod set was given.
type AdmittedFlavors struct {
	PodSet   string            `json:"podSet"`
	Pods     int64             `json:"pods"`
	Requests resource.List     `json:"requests"`
	Shared   resource.List     `json:"shared,omitempty"`
	Flavors  map[string]string `json:"flavors"` // resource → flavor
	// Domains of the topology that were chosen, if the Job asks to be in one.
	Domains *demand.Domains `json:"domains,omitempty"`
}

// PlannedNode is how many pods were planned for a node.
type PlannedNode struct {
	Node string `json:"node"`
	Pods int64  `json:"pods"`
}

// PodCounts are the Job's pods by what they do.
type PodCounts struct {
	Pending     int64 `json:"pending"`
	Running     int64 `json:"running"`
	Succeeded   int64 `json:"succeeded"`
	Failed      int64 `json:"failed"`
	Terminating int64 `json:"terminating"`
}

// Failing is pods that went wrong, or do not come up, in the same way.
type Failing struct {
	Pods    int64  `json:"pods"`
	Pod     string `json:"pod"` // one of them
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// ExitCode of a container that ended by itself; 0 if none did.
	ExitCode int32 `json:"exitCode,omitempty"`
}

// FailedPods is what the Job controller counts of pods that failed.
type FailedPods struct {
	Count int64  `json:"count"`
	Limit *int32 `json:"backoffLimit,omitempty"`
	// Again: the controller makes new ones, after a pause that grows.
	Again bool `json:"again,omitempty"`
}

// JobExplanationList is the answer of kubectl holdshort explain about several.
type JobExplanationList struct {
	Kind
	Items []JobExplanation `json:"items"`
}

// Event is something that happened to the Job.
type Event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int64     `json:"count"`
}
