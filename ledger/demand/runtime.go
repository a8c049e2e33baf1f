package demand

import "github.com/holdshort/holdshort/ledger/resource"

// second in nanoseconds, as times are.
const second = int64(1e9)

// Ran is how long a Job's admissions lasted in all, but for the one that it has
// now, in the annotation holdshort.dev/ran.
type Ran struct {
	UID         string `json:"uid"`
	Nanoseconds int64  `json:"nanoseconds"`
}

// Shorter is the smaller of two limits of which 0 means none.
func Shorter(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		return max(0, b)
	}
	return a
}

// RanUntil is how long it has run in all, if the admission that it has ends at a
// moment.
func (j *Job) RanUntil(at int64) int64 {
	if j.Reservation == nil {
		return j.Ran
	}
	return resource.Add(j.Ran, max(0, at-j.Reservation.Time))
}

// OutOfTime tells whether it has run for as long as a limit allows, so that it
// does not start again; 0 seconds are no limit.
func (j *Job) OutOfTime(seconds int64) bool {
	return seconds > 0 && j.Ran >= resource.Mul(second, seconds)
}

// EndsBy is when its time is up, if it starts at a moment; 0: never. Who was let
// past the queue is not stopped by it either.
func (j *Job) EndsBy(seconds, start int64) int64 {
	if seconds <= 0 || j.Bypass {
		return 0
	}
	return resource.Add(start, max(0, resource.Mul(second, seconds)-j.Ran))
}
