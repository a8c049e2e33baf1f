package supply

// Counted is all that is counted for claims.
type Counted struct {
	Devices []Devices
	Costs   []Cost
	// Extended is the row that a node gives out a resource of, if it has no plugin for it.
	Extended map[string]string
}
