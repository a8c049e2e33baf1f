package scenario

import (
	"github.com/holdshort/holdshort/policies"
)

// file is a scenario as it is written. Moments are durations since its start, such
// as 90m or 26h30m.
type file struct {
	About           string                       `json:"about,omitempty"`
	Starts          string                       `json:"starts,omitempty"` // RFC 3339
	Until           string                       `json:"until,omitempty"`
	Namespaces      map[string]map[string]string `json:"namespaces,omitempty"` // name → labels
	PriorityClasses map[string]int64             `json:"priorityClasses,omitempty"`
	Nodes           []nodeSpec                   `json:"nodes"`
	Jobs            []jobSpec                    `json:"jobs"`
	Changes         []changeSpec                 `json:"changes,omitempty"`
	Autoscaler      autoscalerSpec               `json:"autoscaler,omitempty"`
	Expect          []expectSpec                 `json:"expect"`
}

type nodeSpec struct {
	Name   string            `json:"name"`
	Count  int64             `json:"count,omitempty"` // so many alike: name-1, name-2, …
	Labels map[string]string `json:"labels,omitempty"`
	Taints []policies.Taint  `json:"taints,omitempty"`
	Has    policies.Amounts  `json:"has"`
}

// autoscalerSpec is how machines of elastic flavors come.
type autoscalerSpec struct {
	After string   `json:"after,omitempty"` // how long each takes
	Empty []string `json:"empty,omitempty"` // flavors of which it has none
}

type jobSpec struct {
	Name          string                `json:"name"`
	Count         int64                 `json:"count,omitempty"` // so many alike: name-1, name-2, …
	At            string                `json:"at,omitempty"`
	Namespace     string                `json:"namespace,omitempty"`
	Queue         string                `json:"queue,omitempty"`
	Priority      string                `json:"priority,omitempty"` // the label: a class of the policy
	PriorityClass string                `json:"priorityClass,omitempty"`
	User          string                `json:"user,omitempty"`
	Labels        map[string]string     `json:"labels,omitempty"`
	Annotations   map[string]string     `json:"annotations,omitempty"`
	Pods          int64                 `json:"pods,omitempty"`
	Requests      policies.Amounts      `json:"requests,omitempty"` // of a pod
	NodeSelector  map[string]string     `json:"nodeSelector,omitempty"`
	Tolerations   []policies.Toleration `json:"tolerations,omitempty"`
	Deadline      string                `json:"deadline,omitempty"` // activeDeadlineSeconds
	Runs          string                `json:"runs,omitempty"`     // each pod; for ever, if it is left out
}

// changeSpec is the one of its fields that is set, at a moment.
type changeSpec struct {
	At       string    `json:"at"`
	Node     *nodeSpec `json:"node,omitempty"` // new, or changed
	NodeGone string    `json:"nodeGone,omitempty"`
	Delete   string    `json:"delete,omitempty"` // a Job
}

// expectSpec is all that it says of a Job.
type expectSpec struct {
	Job         string `json:"job"`
	StartsBy    string `json:"startsBy,omitempty"`
	StartsAfter string `json:"startsAfter,omitempty"` // not before, if at all
	EndsBy      string `json:"endsBy,omitempty"`
	NeverStarts bool   `json:"neverStarts,omitempty"`
	WaitsAt     string `json:"waitsAt,omitempty"`
	Code        string `json:"code,omitempty"` // with waitsAt: why
	Denied      string `json:"denied,omitempty"`
	On          string `json:"on,omitempty"` // flavor
	PreemptedBy string `json:"preemptedBy,omitempty"`
}
