package estimate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// drawWorld is Jobs that all have arrived within a minute, and run for exactly as
// long as they may if exact is set, or else for some time.
func drawWorld(t *rapid.T, exact bool) sim.World {
	c := catalog(rapid.SampledFrom([]policies.Strategy{policies.BestEffortFIFO, policies.StrictFIFO, policies.Backfill}).Draw(t, "strategy"), nil)
	c.Cohorts = map[string]policies.Cohort{"all": {}}
	c.FairSharing.Enabled = rapid.Bool().Draw(t, "fair")
	queues := rapid.IntRange(1, 3).Draw(t, "queues")
	for i := range queues {
		q := catalog(policies.BestEffortFIFO, map[string]int64{"q": rapid.Int64Range(0, 6).Draw(t, "quota")}).Queues["q"]
		q.Strategy = rapid.SampledFrom([]policies.Strategy{policies.BestEffortFIFO, policies.StrictFIFO, policies.Backfill}).Draw(t, "strategy")
		q.Cohort = rapid.SampledFrom([]string{"", "all"}).Draw(t, "cohort")
		if rapid.Bool().Draw(t, "preempts") {
			q.Preemption.WithinQueue = policies.VictimsLowerPriority
			if q.Cohort != "" {
				q.Preemption.ReclaimWithinCohort = policies.VictimsAny
			}
		}
		c.Queues[fmt.Sprint("q", i)] = q
	}
	w := sim.World{Catalog: c, Seed: rapid.Uint64().Draw(t, "seed"), Until: start + 30_000*second}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		w.Changes = append(w.Changes, sim.Change{At: start, Node: node(fmt.Sprint("n", i), rapid.Int64Range(1, 8).Draw(t, "gpus"))})
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		limit := rapid.Int64Range(1, 300).Draw(t, "limit") * second
		runs := limit
		if !exact {
			runs = rapid.Int64Range(1, limit/second).Draw(t, "runs") * second
			if rapid.IntRange(0, 5).Draw(t, "unlimited") == 0 {
				limit = 0
			}
		}
		job := asks(fmt.Sprint("j", i), fmt.Sprint("q", rapid.IntRange(0, queues-1).Draw(t, "queue")),
			rapid.Int64Range(1, 3).Draw(t, "pods"), rapid.Int64Range(0, 3).Draw(t, "gpus"), limit, runs)
		job.Verdict.Priority = rapid.Int64Range(0, 2).Draw(t, "priority")
		w.Changes = append(w.Changes, sim.Change{At: start + rapid.Int64Range(0, 59).Draw(t, "arrives")*second, Arrive: job})
	}
	w.Changes = append(w.Changes, sim.Change{At: start + minute, Node: node("last", 0)})
	return w
}

// TestWithExactLimitsEverybodyStartsWithinTheRange: where Jobs run for as long as
// they may and nobody new comes, the future is known.
func TestWithExactLimitsEverybodyStartsWithinTheRange(t *testing.T) {
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, true)
		said, log := at(t, w, start+minute, nil)
		first := truth(log)
		for uid, s := range said {
			began, starts := first[uid]
			if was := began > 0 && began <= start+minute; was {
				continue // taken back since: what is told is when it starts again
			}
			switch {
			case s.Unknown == "" && (!starts || began < s.Earliest || began > s.Latest):
				t.Fatalf("%s was to start %s, and started at %s", uid, tell(s), clock(began))
			case s.Unknown != "" && starts:
				t.Fatalf("%s was to start %s, and started at %s", uid, tell(s), clock(began))
			}
			told++
		}
	})
	if told == 0 {
		t.Error("nobody waited in any of these worlds")
	}
}

// TestWhoIsNotPlayedComesBeforeNobodyWhoIsToldAnEnd: however few are played, who is
// told when it starts at the latest starts within that.
func TestWhoIsNotPlayedComesBeforeNobodyWhoIsToldAnEnd(t *testing.T) {
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, true)
		for _, c := range w.Changes { // of a few kinds
			if c.Arrive != nil && rapid.IntRange(0, 3).Draw(t, "is usual") > 0 {
				c.Arrive.PodSets = asks("", "", 1, 2, 0, 0).PodSets
				c.Arrive.Runs, c.Arrive.Policy.ActiveDeadlineSec, c.Arrive.Verdict.Priority = 100*second, 100, 0
			}
		}
		most := rapid.IntRange(1, 4).Draw(t, "are played")
		said, log := atMost(t, w, start+minute, most)
		first := truth(log)
		for uid, s := range said {
			began := first[uid]
			if s.Unknown != "" || began > 0 && began <= start+minute {
				continue
			}
			if began < s.Earliest || began > s.Latest {
				t.Fatalf("with %d played, %s was to start %s, and started at %s", most, uid, tell(s), clock(began))
			}
			told++
		}
	})
	if told == 0 {
		t.Error("nobody was told an end in any of these worlds")
	}
}

// TestARangeIsSane: it is not before now, and has an end or a reason why not; and it
// is the same in whatever order things are listed.
func TestARangeIsSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, looks := drawWorld(t, false), 0
		w.Observe = func(m sim.Moment) {
			if looks++; looks%5 != 0 || looks > 50 {
				return
			}
			in := seen(&m, past("q0", 7, minute, 2*minute))
			said := estimate.Work(in)
			for _, s := range byUID(said) {
				switch {
				case s.Earliest != 0 && s.Earliest < m.Input.Now:
					t.Fatalf("%s: before now, %s", s.UID, tell(s))
				case (s.Latest == 0) != (s.Unknown != ""):
					t.Fatalf("%s: neither an end nor a reason: %s", s.UID, tell(s))
				case s.Latest != 0 && s.Latest < s.Earliest:
					t.Fatalf("%s: ends before it begins: %s", s.UID, tell(s))
				}
			}
			in.Jobs, in.Pods, in.Nodes = slices.Clone(in.Jobs), slices.Clone(in.Pods), slices.Clone(in.Nodes)
			slices.Reverse(in.Jobs)
			slices.Reverse(in.Pods)
			slices.Reverse(in.Nodes)
			if diff := cmp.Diff(said, estimate.Work(in)); diff != "" {
				t.Fatalf("lists in another order say something else:\n%s", diff)
			}
		}
		if _, err := sim.Run(w); err != nil {
			t.Fatalf("%v", err)
		}
	})
}

// past is runs of a queue that took from least to most, evenly.
func past(queue string, runs int, least, most int64) *estimate.History {
	h := estimate.NewHistory()
	for i := range runs {
		h.Add(queue, estimate.Run{Took: least + (most-least)*int64(i)/int64(max(1, runs-1))})
	}
	return h
}
