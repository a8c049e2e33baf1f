package demand

import "github.com/holdshort/holdshort/ledger/resource"

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
}

// ReservedPodSet is what one pod set was given.
type ReservedPodSet struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	// Requests of one pod, as charged.
	Requests resource.List `json:"requests"`
	// Flavors is resource → flavor for every charged resource.
	Flavors map[string]string `json:"flavors"`
}

// Restore is the template's scheduling fields as the user wrote them, in the
// annotation holdshort.dev/restore; the ledger puts them back before it
// injects another flavor. Raw JSON, so that fields which this build does not
// know survive.
type Restore struct {
	UID          string            `json:"uid"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Tolerations  []any             `json:"tolerations,omitempty"`
	// PreferredNodes is the preferred node affinity; the ledger adds its plan there.
	PreferredNodes []any `json:"preferredNodes,omitempty"`
}

// Backoff counts how often a gang was taken back, in the annotation
// holdshort.dev/backoff.
type Backoff struct {
	UID   string `json:"uid,omitempty"`
	Count int64  `json:"count,omitempty"`
	Until int64  `json:"until,omitempty"` // unix nanoseconds
	Code  string `json:"code,omitempty"`  // why it was taken back
}
