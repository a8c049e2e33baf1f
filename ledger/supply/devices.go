package supply

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
