package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/holdshort/holdshort/test/usage"
)

// expectation of a whole shape on two cores, and what Kueue v0.19.2 needs there
// for its own test.
const (
	wallExpected  = 160 * time.Second
	largeExpected = 10 * time.Second
	kueueSays     = "Kueue v0.19.2 on two cores: 401 s, use 52 %, starts after 234 s (small), 118 s (medium), 26 s (large), 91 s of cpu, 642 MiB"
)

// result is what was measured.
type result struct {
	tally    *tally
	wall     time.Duration
	created  time.Duration // when the last Job was
	creation time.Duration // of one, on average
	writes   requests
	used     map[string]usage.Usage // by program
	bare     *bare
}

func (r *result) print(out io.Writer, whole bool) {
	s := r.tally.shape
	fmt.Fprintf(out, "\n%d Jobs in %d queues of %d cohorts: %.1f s of wall time (no scheduler can need less than %.1f s)\n",
		s.jobs(), s.cohorts*s.queues, s.cohorts, r.wall.Seconds(), s.least().Seconds())
	fmt.Fprintf(out, "the last Job was created after %.1f s; a creation took %s on average\n", r.created.Seconds(), r.creation.Round(time.Millisecond))
	fmt.Fprintf(out, "mean use of the quota: %.0f %%; %d Jobs were taken back, and lost %.0f s of run time × request\n\n",
		100*r.tally.use(r.wall), r.tally.takings, r.tally.lost.Seconds())
	fmt.Fprintf(out, "%-10s %8s %12s %12s %12s\n", "", "jobs", "start mean", "start p50", "start p99")
	for i, c := range s.classes {
		waits := slices.Sorted(slices.Values(r.tally.waits[i]))
		n := len(waits)
		fmt.Fprintf(out, "%-10s %8d %12s %12s %12s\n", c.name, n, short(mean(waits)), short(waits[n/2]), short(waits[n*99/100]))
	}
	fmt.Fprintf(out, "\n%.2f writes of ours per Job:\n", float64(r.writes.total())/float64(s.jobs()))
	for _, what := range slices.Sorted(maps.Keys(r.writes)) {
		fmt.Fprintf(out, "  %6d  %s\n", r.writes[what], what)
	}
	fmt.Fprintln(out)
	for _, program := range slices.Sorted(maps.Keys(r.used)) {
		u := r.used[program]
		fmt.Fprintf(out, "%-16s %6.1f s of cpu, at most %4d MiB\n", program, u.CPU.Seconds(), u.MemoryMax>>20)
	}
	fmt.Fprintf(out, "\n%.1f ms of cpu per Job, of which %.1f ms are the manager's\n",
		each(total(r.used), s.jobs()), each(r.used["manager"].CPU, s.jobs()))
	if r.bare != nil {
		least := each(total(r.bare.used), r.bare.jobs)
		fmt.Fprintf(out, "%.1f ms where holdshort is not there, and Jobs are created suspended, lifted and ended: on two cores "+
			"nothing that lifts Jobs can need less than %.0f s for all of these\n", least, least*float64(s.jobs())/1000/2)
	}
	if whole {
		fmt.Fprintf(out, "\nexpected on two cores: under %s, large after less than %s\n%s\n", wallExpected, largeExpected, kueueSays)
	}
}

func total(used map[string]usage.Usage) (sum time.Duration) {
	for _, u := range used {
		sum += u.CPU
	}
	return sum
}

// each is a part of a time, in milliseconds.
func each(all time.Duration, parts int) float64 { return all.Seconds() * 1000 / float64(parts) }

func mean(all []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(max(1, len(all)))
}

func short(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
