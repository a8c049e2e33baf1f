package estimate

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
)

const (
	// runsKept is how many of the last runs of a queue count.
	runsKept = 200
	// queuesKept is of how many queues runs are kept.
	queuesKept = 4096
	// runsLeast is how many runs of a queue have to have ended before anything is
	// told from them.
	runsLeast = 5
	// rare is the part of all runs that may be shorter than what counts as early: one
	// of so many.
	rare = 20
)

// Run is how long a Job ran, from its start to its end, and how long it might have;
// in nanoseconds.
type Run struct {
	Took  int64
	Limit int64 // 0: none
}

// History is how long the last Jobs of each queue ran.
type History struct{ queues map[string][]Run }

// NewHistory returns one in which nothing has happened.
func NewHistory() *History { return &History{map[string][]Run{}} }

// Add takes in a run that has ended. What Copy gave away stays as it is.
func (h *History) Add(queue string, run Run) {
	known, there := h.queues[queue]
	if run.Took < 0 || run.Limit < 0 || !there && len(h.queues) >= queuesKept {
		return // a clock that jumped back tells nothing
	}
	known = known[max(0, len(known)+1-runsKept):]
	h.queues[queue] = append(slices.Clone(known), run)
}

// Copy is the history as it is now, for use elsewhere.
func (h *History) Copy() *History { return &History{maps.Clone(h.queues)} }

// spans answers how long Jobs may run.
type spans struct {
	history *History
	queues  map[string]*past
}

// past is the runs of one queue, the shortest first.
type past struct {
	took  []int64
	parts []int64 // of their limit, in millionths
}

const whole = 1_000_000

// span is how long a run is, and how that is known.
type span struct {
	low, high int64 // high is 0 if nobody knows
	limited   bool  // high is a limit
	runs      int   // so many past ones say the rest
}

func (s *spans) of(queue string) *past {
	if p := s.queues[queue]; p != nil {
		return p
	}
	p := &past{}
	for _, run := range s.history.queues[queue] {
		p.took = append(p.took, run.Took)
		if run.Limit > 0 {
			p.parts = append(p.parts, min(whole, int64(float64(run.Took)/float64(run.Limit)*whole)))
		}
	}
	slices.Sort(p.took)
	slices.Sort(p.parts)
	s.queues[queue] = p
	return p
}

// span of a run in a queue that may take limit in all (0: no limit), and has taken
// some already.
func (s *spans) span(queue string, limit, taken int64) span {
	p := s.of(queue)
	if limit > 0 {
		out := span{low: min(taken, limit), high: limit, limited: true}
		if beyond := after(p.parts, part(taken, limit)); len(p.parts) >= runsLeast && len(beyond) > 0 {
			low := int64(float64(limit) / whole * float64(early(beyond)))
			out.low, out.runs = min(max(taken, low), limit), len(p.parts)
		}
		return out
	}
	beyond := after(p.took, taken)
	if len(p.took) < runsLeast || len(beyond) == 0 {
		return span{low: taken}
	}
	return span{low: early(beyond), high: beyond[len(beyond)-1], runs: len(p.took)}
}

func part(taken, limit int64) int64 { return int64(float64(taken) / float64(limit) * whole) }

// after is those that are longer than what has passed already.
func after(sorted []int64, passed int64) []int64 {
	i, _ := slices.BinarySearch(sorted, passed+1)
	if passed == 0 {
		i = 0
	}
	return sorted[i:]
}

// early is what few of them are shorter than.
func early(sorted []int64) int64 { return sorted[len(sorted)/rare] }

// Ended is the run of a Job that ended at a moment; false if nobody let it run.
func Ended(j *demand.Job, end int64) (queue string, run Run, ok bool) {
	r := j.Reservation
	if r == nil || end < r.Time-second { // ends are written in whole seconds
		return "", Run{}, false
	}
	return r.Queue, Run{Took: max(0, end-r.Time), Limit: limitOf(j, r, r.Time)}, true
}
