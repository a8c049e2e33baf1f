package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdshort/holdshort/test/witness"
)

// result is what came of a contender.
type result struct {
	name   string
	counts witness.Counts
	jobs   int
	wall   time.Duration // until all had ended, or it was late
	tail   string        // of its log
}

// late: not all of its Jobs have completed.
func (r result) late() bool { return r.counts.Completed < r.jobs }

// tolerance is what of a makespan is noise: the last of so many Jobs ends at the tick of
// controllers that sync once a second.
const tolerance = 1.03

func tabulate(out io.Writer, l load, results []result) {
	fmt.Fprintf(out, "\n%d Jobs on %d nodes with %d GPUs each, %d of them held by %d pods that nobody queued; nobody can need less than %.1f s\n\n",
		len(l.gangs), nodes, each, foreign, len(l.strangers), l.least().Seconds())
	fmt.Fprintf(out, "%-34s %14s %12s %12s %12s %10s %8s\n", "", "unschedulable", "for at most", "reserved", "", "makespan", "ratio")
	fmt.Fprintf(out, "%-34s %14s %12s %12s %12s %10s %8s\n", "", "pods, > 5 s", "", "GPU s idle", "restarts", "", "")
	for _, r := range results {
		wall := fmt.Sprintf("%.1f s", r.wall.Seconds())
		if r.late() {
			wall = "> " + wall
		}
		fmt.Fprintf(out, "%-34s %14d %12s %12.0f %12d %10s %8.2f\n", r.name, len(r.counts.Stuck),
			r.counts.Longest.Round(100*time.Millisecond), r.counts.Idle, r.counts.Again, wall, r.wall.Seconds()/results[0].wall.Seconds())
	}
	fmt.Fprintln(out)
}

// judge says which of our promises were broken.
func judge(ours result, theirs []result) error {
	var broken []string
	if n := len(ours.counts.Stuck); n > 0 {
		broken = append(broken, fmt.Sprintf("%d pods of ours could not be placed for more than %s: %s", n, patience, strings.Join(ours.counts.Stuck, ", ")))
	}
	if ours.late() {
		broken = append(broken, fmt.Sprintf("%d of our %d Jobs have completed after %s. The manager's log: %s", ours.counts.Completed, ours.jobs, ours.wall, ours.tail))
	}
	for _, r := range theirs {
		if !r.late() && ours.wall.Seconds() > tolerance*r.wall.Seconds() {
			broken = append(broken, fmt.Sprintf("we took %.1f s, and %s %.1f s", ours.wall.Seconds(), r.name, r.wall.Seconds()))
		}
	}
	broken = append(broken, ours.counts.Broken...)
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("promises were broken:\n%s", strings.Join(broken, "\n"))
}
