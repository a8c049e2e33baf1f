package sim

import (
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
)

// Kind of a record.
type Kind string

// The kinds.
const (
	Arrived  Kind = "arrived"
	Waits    Kind = "waits" // for another reason than before
	Admitted Kind = "admitted"
	Evicted  Kind = "evicted"
	Ended    Kind = "ended"
	Deleted  Kind = "deleted"
)

// Record is one thing that happened to a workload.
type Record struct {
	At     int64
	Kind   Kind
	UID    string
	Code   reason.Code   // why it waits, or was taken back
	Reason reason.Reason // the same, with all that is said about it
	By     string        // UID of whom it was taken back for
	// Given is what an admitted one was given.
	Given *demand.Reservation
}

// Log is a run.
type Log struct {
	Records []Record
	// Waiting are those that wait when the run is over, by UID → why.
	Waiting map[string]reason.Reason
	// Running are those that run then, sorted.
	Running []string
	// Unschedulable counts how often a pod found no node.
	Unschedulable int
	Metrics       Metrics
}

// Metrics are sums over a run.
type Metrics struct {
	Began    int64
	Makespan int64 // from the first change to the last record
	Evicted  int
	// Wait of each workload from its arrival to its first admission, by UID; those
	// that never started have none.
	Wait map[string]int64
	// Use is what bound pods held, of what nodes had, of each resource and over
	// the whole run: 0 to 1.
	Use map[string]float64
}

func (r *run) record(rec Record) {
	rec.At = r.now
	r.log.Records = append(r.log.Records, rec)
	switch rec.Kind {
	case Evicted:
		r.log.Metrics.Evicted++
	case Admitted:
		if _, again := r.log.Metrics.Wait[rec.UID]; !again {
			r.log.Metrics.Wait[rec.UID] = r.now - r.jobs[rec.UID].is.Created
		}
	case Ended, Deleted, Arrived, Waits:
	}
	r.log.Metrics.Makespan = r.now - r.log.Metrics.Began
}

// measure adds up what is in use from now until then.
func (r *run) measure(then int64) {
	for _, name := range sorted(r.nodes) {
		for resourceName, n := range r.nodes[name].Allocatable {
			r.had[resourceName] += float64(n) * float64(then-r.now)
			r.used[resourceName] += float64(r.held[name][resourceName]) * float64(then-r.now)
		}
	}
}

// close puts the sums of a run together.
func (r *run) close() {
	for name, had := range r.had {
		if had > 0 {
			r.log.Metrics.Use[name] = r.used[name] / had
		}
	}
	for _, uid := range sorted(r.jobs) {
		switch j := r.jobs[uid]; {
		case j.is.Admitted():
			r.log.Running = append(r.log.Running, uid)
		case !j.is.Finished && !j.is.Deleting:
			r.log.Waiting[uid] = j.waits
		}
	}
}
