package policies

// Strategy says whether a workload that cannot start blocks those behind it.
type Strategy string

// The strategies. Empty means BestEffortFIFO.
const (
	BestEffortFIFO Strategy = "BestEffortFIFO"
	StrictFIFO     Strategy = "StrictFIFO"
	// Backfill lets only those overtake that the one in front does not wait for.
	Backfill Strategy = "Backfill"
)

// Strict says whether a workload that waits for room blocks those behind it. In a
// queue that may only be overtaken without harm, it does so where nobody knows
// what does no harm.
func (q Queue) Strict() bool { return q.Strategy == StrictFIFO || q.Strategy == Backfill }
