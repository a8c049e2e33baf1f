package policies

// Labels and annotations of the project. Those marked "user" are the users'
// own; all others are the ledger's, and nobody else may write them.
const (
	Prefix = "holdshort.dev/"

	LabelQueue    = Prefix + "queue"    // user: on the Job; the ledger's: on its pods
	LabelPriority = Prefix + "priority" // user: a class of the policy
	LabelState    = Prefix + "state"

	AnnotationHold   = Prefix + "hold"            // user: keep this Job suspended
	AnnotationLeast  = Prefix + "min-parallelism" // user: how few pods it starts with if there is no room for all
	AnnotationBypass = Prefix + "bypass"          // user with the RBAC verb: why the guard was passed

	AnnotationMaxRuntime = Prefix + "max-runtime-seconds" // user: how long it runs in all, over all its starts

	// user: all pods on nodes with one value of this label, or as few as there is room for
	AnnotationRequiredTopology  = Prefix + "required-topology"
	AnnotationPreferredTopology = Prefix + "preferred-topology"

	AnnotationArrival     = Prefix + "arrival"     // unix nanoseconds
	AnnotationUser        = Prefix + "user"        // who created it
	AnnotationReservation = Prefix + "reservation" // JSON: demand.Reservation
	AnnotationInjected    = Prefix + "injected"    // JSON: demand.Injected
	AnnotationMutated     = Prefix + "mutated"     // JSON: demand.Mutated
	AnnotationMessage     = Prefix + "message"     // why it waits
	AnnotationNodes       = Prefix + "nodes"       // JSON: demand.Nodes, of a Job that waits for them
	AnnotationInQueue     = Prefix + "in-queue"    // where it waits, if that is not what its label says
	AnnotationBackoff     = Prefix + "backoff"     // JSON: demand.Backoff
	AnnotationPreempted   = Prefix + "preempted"   // JSON: demand.Preempted
	AnnotationRan         = Prefix + "ran"         // JSON: demand.Ran
	AnnotationFlavors     = Prefix + "flavors"     // on pods: resource → flavor, JSON
)

// The values of LabelState.
const (
	StateQueued   = "queued"
	StateAdmitted = "admitted"
	StateHeld     = "held"
	StateRejected = "rejected"
)
