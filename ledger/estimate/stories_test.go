package estimate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// scene is what is there when somebody asks when Jobs start.
type scene struct {
	jobs    []*sim.Workload // arrive a second apart
	asked   int64           // seconds after the first came
	history *estimate.History
	change  func(in *estimate.Input)
}

func (s scene) ask(t *testing.T) map[string]string {
	t.Helper()
	w := sim.World{Catalog: catalog(policies.BestEffortFIFO, map[string]int64{"q": 2, "other": 2}), Changes: arrive(s.jobs...), Until: start + 10_000*second, Hints: true}
	w.Changes = append(w.Changes, sim.Change{At: start + s.asked*second, Node: node("last", 0)})
	var said map[string]string
	w.Observe = func(m sim.Moment) {
		if said != nil || m.Input.Now < start+s.asked*second || len(m.Plan.Admit) > 0 {
			return
		}
		in := seen(&m, s.history)
		if s.change != nil {
			s.change(&in)
		}
		said = map[string]string{}
		for uid, one := range byUID(estimate.Work(in)) {
			said[uid] = tell(one)
		}
	}
	if _, err := sim.Run(w); err != nil {
		t.Fatal(err)
	}
	return said
}

func TestWhenJobsStart(t *testing.T) {
	const never = 20_000 * second
	two := func(uid string, limit, runs int64) *sim.Workload { return asks(uid, "q", 2, 1, limit, runs) }
	held := func(why reason.Reason) func(*estimate.Input) {
		return func(in *estimate.Input) { in.Plan.Holds = map[string]decide.HoldAnswer{"b": {Reason: &why}} }
	}
	for name, c := range map[string]struct {
		scene
		want map[string]string
	}{
		"a limit alone says when at the latest": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10},
			map[string]string{"b": "10s to 60s, limits"},
		},
		"with runs that have ended, it says from when on, too": {
			scene{jobs: []*sim.Workload{two("a", 100*second, minute), two("b", 0, minute)}, asked: 10, history: limited("q", 10, 50, 100)},
			map[string]string{"b": "50s to 100s, limits, 10 runs"},
		},
		"what has passed is no longer to come": {
			scene{jobs: []*sim.Workload{two("a", 100*second, 99*second), two("b", 0, minute)}, asked: 80, history: limited("q", 10, 50, 100)},
			map[string]string{"b": "83s to 100s, limits, 10 runs"},
		},
		"without a limit, runs that have ended say both": {
			scene{jobs: []*sim.Workload{two("a", 0, minute), two("b", 0, minute), two("c", 0, minute)}, asked: 10, history: past("q", 10, minute, 2*minute)},
			map[string]string{"b": "60s to 120s, 10 runs", "c": "120s to 240s, 10 runs"},
		},
		"with neither, nobody knows": {
			scene{jobs: []*sim.Workload{two("a", 0, minute), two("b", minute, minute)}, asked: 10, history: past("other", 10, minute, minute)},
			map[string]string{"b": "10s to ?: a Job before it has no limit of how long it runs, and too few runs of its queue have ended to tell"},
		},
		"a Job that has run for longer than any before it may go on for ever": {
			scene{jobs: []*sim.Workload{two("a", 0, 500*second), two("b", 0, minute)}, asked: 200, history: past("q", 10, minute, 2*minute)},
			map[string]string{"b": "200s to ?: a Job before it has no limit of how long it runs, and too few runs of its queue have ended to tell"},
		},
		"a queue that is held": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10,
				change: func(in *estimate.Input) { in.Plan.Held = map[string]bool{"q": true} }},
			map[string]string{"b": "? to ?: it is held (QueueHeld), and nobody knows how long"},
		},
		"a rule that holds it until a moment": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10,
				change: held(reason.Reason{Code: reason.HeldByPolicy, Until: start + 90*second})},
			map[string]string{"b": "90s to 90s, limits"},
		},
		"a rule that holds it and does not say until when": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: held(reason.Reason{Code: reason.HeldByPolicy})},
			map[string]string{"b": "? to ?: it is held (HeldByPolicy), and nobody knows how long"},
		},
		"the policy refuses it": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: func(in *estimate.Input) {
				in.Plan.Verdicts["b"] = decide.Outcome{Verdict: policies.Verdict{Queue: "q"}, Reason: &reason.Reason{Code: reason.DeniedByPolicy}}
			}},
			map[string]string{"b": "? to ?: never as things are (DeniedByPolicy)"},
		},
		"it can never fit": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), asks("b", "q", 3, 1, minute, minute)}, asked: 10},
			map[string]string{"b": "? to ?: never as things are (NeverFits)"},
		},
		"it backs off until a moment": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: func(in *estimate.Input) {
				in.Plan.Verdicts["b"] = decide.Outcome{Verdict: policies.Verdict{Queue: "q"}, Reason: &reason.Reason{Code: reason.BackingOff, Until: start + 300*second}}
			}},
			map[string]string{"b": "300s to 300s, limits"},
		},
		"the clock has jumped back to before what runs started": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: func(in *estimate.Input) { in.Plan.Now = start - 1000*second }},
			map[string]string{"b": "-1000s to -940s, limits"},
		},
		"the clock has jumped far ahead": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: func(in *estimate.Input) { in.Plan.Now = start + never }},
			map[string]string{"b": "20000s to 20000s, limits"},
		},
		"pods take a while to go": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: func(in *estimate.Input) { in.Lag = 30 * second }},
			map[string]string{"b": "10s to 90s, limits"},
		},
		"machines that are gone come back by nobody's end": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: func(in *estimate.Input) { in.Nodes = nil }},
			map[string]string{"b": "? to ?: never as things are (NeverFits)"},
		},
		"nobody has the time to look": {
			scene{jobs: []*sim.Workload{two("a", minute, minute), two("b", minute, minute)}, asked: 10, change: func(in *estimate.Input) {
				in.Go = func() bool { return false }
			}},
			map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.ask(t)); diff != "" {
				t.Errorf("when they start (-want +got):\n%s", diff)
			}
		})
	}
}

// limited is runs that took from some to all hundredths of their limit.
func limited(queue string, runs int, least, most int64) *estimate.History {
	h := estimate.NewHistory()
	for i := range runs {
		h.Add(queue, estimate.Run{Took: (least + (most-least)*int64(i)/int64(runs-1)) * minute, Limit: 100 * minute})
	}
	return h
}

// TestOnlyTheFirstAreAsked about, but all count; and who waits beyond those that are
// looked at leaves no end to the range.
func TestOnlyTheFirstAreAskedAbout(t *testing.T) {
	var jobs []*sim.Workload
	for _, uid := range []string{"a", "b", "c", "d"} {
		jobs = append(jobs, asks(uid, "q", 2, 1, minute, minute))
	}
	got := scene{jobs: jobs, asked: 10, change: func(in *estimate.Input) { in.Each = 2 }}.ask(t)
	if diff := cmp.Diff(map[string]string{"b": "10s to 60s, limits", "c": "10s to 120s, limits"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	more := func(change func(*demand.Job)) map[string]string {
		return scene{jobs: jobs, asked: 10, change: func(in *estimate.Input) {
			in.Each = 1
			for i := range 3000 {
				next := *in.Jobs[3]
				next.UID, next.Arrival.Effective = fmt.Sprint("more", i), next.Arrival.Effective+int64(1+i)
				in.Plan.Verdicts[next.UID] = in.Plan.Verdicts["d"]
				change(&next)
				in.Jobs = append(in.Jobs, &next)
			}
		}}.ask(t)
	}
	smaller := more(func(j *demand.Job) {
		if strings.HasSuffix(j.UID, "9") && len(j.UID) == len("more2999") && j.UID > "more2500" {
			j.PodSets = slices.Clone(j.PodSets)
			j.PodSets[0].Count = 1
		}
	})
	if len(smaller) != 1 || !strings.Contains(smaller["b"], "50 Jobs wait beyond those that were looked at") {
		t.Errorf("with 3000 more, some of the last of which are smaller: %v", smaller)
	}
	if diff := cmp.Diff(map[string]string{"b": "10s to 60s, limits"}, more(func(*demand.Job) {})); diff != "" {
		t.Errorf("with 3000 more that are alike (-want +got):\n%s", diff)
	}
}

func TestHistoryIsBoundedAndKeepsWhatWasGivenAway(t *testing.T) {
	h := past("q", 10, minute, minute)
	given := h.Copy()
	for range 1000 {
		h.Add("q", estimate.Run{Took: 2 * minute})
	}
	jobs := []*sim.Workload{asks("a", "q", 2, 1, 0, minute), asks("b", "q", 2, 1, 0, minute)}
	if got := (scene{jobs: jobs, asked: 5, history: given}).ask(t)["b"]; got != "60s to 60s, 10 runs" {
		t.Errorf("what was given away changed: %s", got)
	}
	if got := (scene{jobs: jobs, asked: 5, history: h}).ask(t)["b"]; got != "120s to 120s, 200 runs" {
		t.Errorf("of the last runs: %s", got)
	}
	h.Add("q", estimate.Run{Took: -1})
	if got := (scene{jobs: jobs, asked: 5, history: h}).ask(t)["b"]; got != "120s to 120s, 200 runs" {
		t.Errorf("with a run that ended before it began: %s", got)
	}
}
