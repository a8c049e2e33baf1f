package quota

import "cmp"

// Key names a row: a resource of a flavor in a queue.
type Key struct{ Queue, Flavor, Resource string }

// Row is what a queue may use of one resource of one flavor, and what it does.
type Row struct {
	Key
	Nominal int64
	Usage   int64
	Left    int64 // what it may still use, borrowed or not; at least 0
	// Borrowed is what it uses beyond its own, of its cohort's; Lent what it can't
	// use of its own, since others have it.
	Borrowed, Lent int64
}

// CompareKeys orders keys by queue, flavor, resource.
func CompareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
}
