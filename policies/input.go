package policies

// Input is the document that a policy reads as input. Each entrypoint sees the
// fields that the contract grants it; the others are absent, not null.
type Input struct {
	Workload  *Workload                 `json:"workload,omitempty"`
	Namespace *Namespace                `json:"namespace,omitempty"`
	Job       map[string]any            `json:"job,omitempty"`
	Request   *Request                  `json:"request,omitempty"`
	Old       *Workload                 `json:"old,omitempty"`
	Verdict   *VerdictInput             `json:"verdict,omitempty"`
	Usage     *Usage                    `json:"usage,omitempty"`
	Capacity  map[string]FlavorCapacity `json:"capacity,omitempty"`
	NowNS     int64                     `json:"now_ns,omitempty"`
	Victim    *Victim                   `json:"victim,omitempty"`
	Incoming  *Incoming                 `json:"incoming,omitempty"`
}

// Workload is one Job as policies see it.
type Workload struct {
	UID               string            `json:"uid"`
	Name              string            `json:"name"` // may be empty on create with generateName
	Namespace         string            `json:"namespace"`
	Kind              string            `json:"kind"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	Queue             string            `json:"queue"` // the label's value
	User              string            `json:"user"`
	ArrivalNS         int64             `json:"arrival_ns"`
	CreatedNS         int64             `json:"created_ns"`
	PodSets           []PodSet          `json:"podSets"`
	Total             map[string]int64  `json:"total"`
	PriorityClass     string            `json:"priorityClass"`
	PriorityClassVal  int64             `json:"priorityClassValue"`
	ActiveDeadlineSec int64             `json:"activeDeadline_s"`
	Owner             *Owner            `json:"owner,omitempty"`
	Generation        int64             `json:"generation"`
}

// PodSet is a group of equal pods; Requests are per pod.
type PodSet struct {
	Name          string            `json:"name"`
	Count         int64             `json:"count"`
	MinCount      int64             `json:"minCount,omitempty"` // starts with so few if there is no room for all
	Requests      map[string]int64  `json:"requests"`
	NodeSelector  map[string]string `json:"nodeSelector"`
	Tolerations   []Toleration      `json:"tolerations"`
	PriorityClass string            `json:"priorityClass"`
}

// Owner is the Job's controller.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Namespace is the workload's namespace.
type Namespace struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

// Request is the admission request; only deny and warn see it, in the webhook.
type Request struct {
	Operation string   `json:"operation"` // CREATE or UPDATE
	User      string   `json:"user"`
	Groups    []string `json:"groups"`
	DryRun    bool     `json:"dryRun"`
}

// VerdictInput is what classify said, for hold and protect.
type VerdictInput struct {
	Queue         string     `json:"queue"`
	Priority      int64      `json:"priority"`
	Order         []OrderKey `json:"order"`
	Flavors       []string   `json:"flavors"`
	Preemptible   bool       `json:"preemptible"`
	MinRuntimeSec int64      `json:"minRuntime_s"`
	MaxRuntimeSec int64      `json:"maxRuntime_s"` // 0: no limit
	User          string     `json:"user"`
}

// Victim is what would be displaced, for protect.
type Victim struct {
	Workload   *Workload     `json:"workload"`
	Verdict    *VerdictInput `json:"verdict"`
	AdmittedNS int64         `json:"admitted_ns"`
	RanSec     int64         `json:"ran_s"`
	Flavors    []string      `json:"flavors"`
	Borrowing  bool          `json:"borrowing"`
}

// Incoming is whom a victim would make room for, for protect.
type Incoming struct {
	Workload *Workload     `json:"workload"`
	Verdict  *VerdictInput `json:"verdict"`
}

// Usage is who uses what, for hold.
type Usage struct {
	// Queue is resource → flavor → amounts, of the verdict's queue.
	Queue ResourceUsage `json:"queue"`
	// Cohort is what all queues of its cohort have of the same, those of cohorts
	// below it included; nothing where the queue has none.
	Cohort ResourceUsage `json:"cohort"`
	// User is what the verdict's user has of it in that queue.
	User ResourceUsage `json:"user"`
	// Running is how many Jobs of this user run in this queue, or are admitted
	// before this one.
	Running int64 `json:"running"`
	// Waiting is how many Jobs of this user wait in this queue, this one included.
	Waiting int64 `json:"waiting"`
}

// ResourceUsage is resource → flavor → amounts.
type ResourceUsage map[string]map[string]UsageAmount

// UsageAmount is the usage of one resource of one flavor.
type UsageAmount struct {
	// Used is all that is charged.
	Used int64 `json:"used"`
	// Reserved is what of it is charged for pods that are on no node yet.
	Reserved int64 `json:"reserved"`
	// Nominal is the quota: of the user, that of the queue; of a cohort, its own and
	// those of all that is below it.
	Nominal int64 `json:"nominal"`
	// Limit is the most that the quotas ever let it use, with all that may be
	// borrowed; of the user, that of the queue.
	Limit int64 `json:"limit"`
}

// FlavorCapacity is resource → live amounts on the flavor's nodes.
type FlavorCapacity map[string]CapacityAmount

// CapacityAmount is what the nodes of a flavor have of one resource.
type CapacityAmount struct {
	Allocatable int64 `json:"allocatable"`
	// Unhealthy is what is built in and can't be given out: on nodes that are
	// down or closed, and devices out of order.
	Unhealthy   int64 `json:"unhealthy"`
	Held        int64 `json:"held"`
	Promised    int64 `json:"promised"`
	Free        int64 `json:"free"`
	LargestSlot int64 `json:"largestSlot"`
}
