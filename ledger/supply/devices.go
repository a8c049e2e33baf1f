package supply

import "math"

// Devices are the rows of a node that are counted for claims, not read from its
// status: sets of devices, and kits of claims. They replace the rows that the
// node had. Immutable once made.
type Devices struct {
	Node string
	// Rows by name; one that is missing has nothing.
	Rows map[string]Stock
}

// Stock of one row.
type Stock struct {
	Total int64 // were nothing in use
	Free  int64
}

// Cost is how much one unit of a row can take from another on the same node, beside
// what it takes from its own: their devices are the same, or consume the same counters.
type Cost struct {
	Of, From string
	Units    int64 // All: as much as there is
}

// All is a cost of which nothing more is known.
const All = math.MaxInt64
