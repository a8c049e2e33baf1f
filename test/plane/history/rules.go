package history

import (
	"fmt"
	"slices"
)

// Rules says what has to hold.
type Rules struct {
	// Limits of what queues may hold. What is not listed has none.
	Limits []Limit
	// Conversions are what is charged instead of a resource, for each unit of it. What is
	// not there is charged as itself.
	Conversions map[string]map[string]int64
	// Queues to judge; empty means all. Planes are shared between tests.
	Queues []string
	// RanOnce asks at the end whether each Job was admitted once and not suspended
	// again, made as many pods as it has completions, and completed.
	RanOnce bool
	// Homeless pods are expected: nobody sees to it that they find a node.
	Homeless bool
}

// Limit of one queue, flavor and resource: cpu in thousandths of a core, memory
// in bytes, everything else whole.
type Limit struct {
	Queue, Flavor, Resource string
	Amount                  int64
	// Since is the resourceVersion from which on it counts; of several limits
	// for the same, the one with the latest Since does. For a test that edits
	// quotas: when raising one, a version from before the edit; when lowering
	// one, a version from after the edit took effect.
	Since int64
}

// Violation is a broken rule.
type Violation struct {
	Rule    string
	Version int64  // where in the history
	Object  string // kind/namespace/name
	Message string
	Holders string // of a quota: who held how much of it, a line each
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s at version %d: %s", v.Rule, v.Object, v.Version, v.Message)
}

// judges tells whether a queue is one to judge.
func (r Rules) judges(queue string) bool {
	return queue != "" && (len(r.Queues) == 0 || slices.Contains(r.Queues, queue))
}

// limit that counts for a row at a version.
func (r Rules) limit(k row, version int64) (int64, bool) {
	var newest *Limit
	for i := range r.Limits {
		l := &r.Limits[i]
		if (row{l.Queue, l.Flavor, l.Resource}) == k && l.Since <= version && (newest == nil || l.Since >= newest.Since) {
			newest = l
		}
	}
	if newest == nil {
		return 0, false
	}
	return newest.Amount, true
}
