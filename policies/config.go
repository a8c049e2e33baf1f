package policies

// Config is holdshort.config, the data that the default rules read: what a
// bundle says in data.yaml. Keyed by name, so that overlays merge. Unknown keys
// are errors, except under Custom, which is the author's.
type Config struct {
	Flavors     map[string]Flavor `json:"flavors,omitempty"`
	Queues      map[string]Queue  `json:"queues,omitempty"`
	Cohorts     map[string]Cohort `json:"cohorts,omitempty"`
	FairSharing FairSharing       `json:"fairSharing,omitzero"`
	Classes     map[string]Class  `json:"classes,omitempty"`
	Teams       map[string]Team   `json:"teams,omitempty"`
	Resources   ResourceRules     `json:"resources,omitzero"`
	Unreserved  Unreserved        `json:"unreserved,omitempty"`
	Rivals      Rivals            `json:"rivals,omitzero"`
	Kinds       map[string]Kind   `json:"kinds,omitempty"`
	Custom      any               `json:"custom,omitempty"`
}

// Class is what the value of the label holdshort.dev/priority stands for.
type Class struct {
	Priority int64 `json:"priority"`
	// Preemptible says whether others may displace a Job of the class; nil means yes.
	Preemptible *bool `json:"preemptible,omitempty"`
}

// Team is a namespace, and the queue of its Jobs that name none themselves
// (the label is empty or "auto").
type Team struct {
	Queue string `json:"queue"`
}
