package demand

// Terms are what ResourceQuotas of a namespace look at in a pod, besides its amounts.
// Comparable.
type Terms struct {
	PriorityClass string
	Terminating   bool // it has an activeDeadlineSeconds of its own
	Compute       bool // it asks for cpu or memory; if not, it is best effort
	// CrossNamespace: its affinity to pods looks at other namespaces.
	CrossNamespace bool
	// Unset are the amounts that some container does not give, though a quota of them
	// has every container do so.
	Unset Amount
	// Claims that are made of its templates.
	Claims Claims
	// Drawn is the resources, by name and with commas between, that its containers got out
	// of devices, by a claim that the scheduler made. Of a pod on a node only.
	Drawn string
}

// Amount is a set of amounts that containers give.
type Amount uint8

// The amounts that a quota can have containers give.
const (
	RequestsCPU Amount = 1 << iota
	RequestsMemory
	LimitsCPU
	LimitsMemory
)
