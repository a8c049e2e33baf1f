package demand

import (
	"cmp"

	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// Job is one managed Job as the ledger sees it. Immutable once made.
type Job struct {
	UID             string
	Namespace       string
	Name            string
	ResourceVersion string
	Generation      int64
	Created         int64  // unix nanoseconds
	Queue           string // the label's value
	Arrival         Arrival

	// PodSets is what it would run if it were admitted now, in the form it has
	// before any flavor is injected. Never empty; batch/v1 Jobs have one.
	PodSets []PodSet
	// Mutated is what the policy's mutate changes of what its user wrote, to be
	// written when it is admitted; nil: nothing. The rest of the Job is as if it
	// were written already.
	Mutated *Mutated
	// Problem is why the Job cannot be counted at all (a negative or
	// uncountable amount, a missing RuntimeClass), nil if it can.
	Problem *reason.Reason

	Suspended bool
	Finished  bool // complete or failed, or about to be
	Deleting  bool
	// HeldByOwner: the owner asks to keep it suspended (annotation hold).
	HeldByOwner bool
	// Bypass: somebody who may lifted it past the queue and said why.
	Bypass bool
	// Reservation of this very UID, nil if there is none that counts. A suspended
	// Job has none.
	Reservation *Reservation
	Backoff     Backoff
	// MaxRuntimeSec is how long its user lets it run in all; 0: no limit.
	MaxRuntimeSec int64
	// Ran is how long it has run already, in nanoseconds, without the admission
	// that it has now.
	Ran int64
	// Preempted is whom it made room for when it was last taken back; nil: nobody.
	Preempted *Preempted
	State     string // the label's value
	// MessageCode is the reason code that is written on the Job now.
	MessageCode reason.Code
	// InQueue is the queue that is written on it: where the policy put it, if
	// that is not what its label says.
	InQueue string

	Active      int64 // pods that are neither terminal nor deleting
	Terminating int64 // pods that are deleting and not yet gone
	Ended       int64 // pods that ended, well or badly, since the Job exists
	Succeeded   int64 // of these, well
	Started     bool  // was unsuspended since its last suspension was observed

	// Policy is what the policy gets to see, without the parts that every
	// evaluation fills in itself.
	Policy *policies.Workload
	// Digest of everything classify may read from the Job.
	Digest string
}

// Arrival is a place in the queue: the effective moment, then the stamp, then
// the UID, so that it is a total order. The effective moment is the later of
// stamp and creation, so a forged stamp gains less than a second.
type Arrival struct {
	Effective int64 // unix nanoseconds
	Stamp     int64
	// Stamped: the stamp is on the Job. If not, Stamp is what the ledger is to
	// write there, so that the place stays the same.
	Stamped bool
}

// CompareArrival orders two Jobs by arrival: effective moment, stamp, UID.
func CompareArrival(a, b *Job) int {
	return cmp.Or(
		cmp.Compare(a.Arrival.Effective, b.Arrival.Effective),
		cmp.Compare(a.Arrival.Stamp, b.Arrival.Stamp),
		cmp.Compare(a.UID, b.UID),
	)
}

// Elsewhere is what InQueue should be for a Job in this queue.
func (j *Job) Elsewhere(queue string) string {
	if queue == j.Queue {
		return ""
	}
	return queue
}

// Key is the Job's namespace/name, for people. The ledger's own key is the UID.
func (j *Job) Key() string { return j.Namespace + "/" + j.Name }

// Admitted tells whether the Job runs, or may, by the ledger's decision. One that
// is over or on its way out gets no new pod.
func (j *Job) Admitted() bool {
	return j.Reservation != nil && !j.Suspended && !j.Finished && !j.Deleting
}
