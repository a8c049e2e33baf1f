package demand

import "github.com/holdshort/holdshort/ledger/reason"

// Nodes is how the nodes looked to a Job when it was told that it waits for them.
type Nodes struct {
	UID     string               `json:"uid"`
	Time    int64                `json:"time"` // unix nanoseconds
	Flavors []reason.FlavorNodes `json:"flavors"`
}
