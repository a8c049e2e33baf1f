package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// What the first Job of a queue keeps of the queue's own is others' again when another
// comes before it that keeps nothing from them, or when it goes.
func TestAPlannerThatRemembersOpensWhatIsNotKeptAnyMore(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(*world)
	}{
		{"one that borrows from farther comes before it", func(w *world) { w.ranked(w.job("before", 2, 2, in("blue")), 3) }},
		{"it is deleted", func(w *world) { w.book.DeleteJob("uid-keeps") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			none := int64(0)
			w.catalog.Cohorts = map[string]policies.Cohort{
				"all": {Parent: "top", Quota: map[string]map[string]policies.Limit{"gpu": {gpu: {Nominal: 1, BorrowingLimit: &none}}}},
			}
			red, blue := queue(4), queue(4)
			red.Cohort, blue.Cohort, blue.Strategy = "all", "all", policies.StrictFIFO
			blue.Quota["gpu"][gpu] = policies.Limit{Nominal: 4, BorrowingLimit: &none}
			w.catalog.Queues = map[string]policies.Queue{"red": red, "blue": blue}
			w.node("n1", 20)
			w.runs(w.job("red runs", 4, 1, in("red")), "n1")
			w.runs(w.job("blue runs", 2, 1, in("blue")), "n1")
			w.ranked(w.job("keeps", 3, 1, in("blue")), 2)
			w.job("red waits", 1, 2, in("red"))
			remembers := decide.NewPlanner()
			if r := remembers.Plan(w.all()); len(r.Admit) > 0 {
				t.Fatalf("%v starts on what is kept", started(r))
			}
			c.after(w)
			in := w.all()
			in.Touched = []string{"uid-before", "uid-keeps"}
			if diff := cmp.Diff([]string{"red waits"}, started(remembers.Plan(in))); diff != "" {
				t.Errorf("who starts, from memory (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"red waits"}, started(decide.Plan(in))); diff != "" {
				t.Errorf("who starts, from nothing (-want +got):\n%s", diff)
			}
		})
	}
}

// A queue may run one Job. The first was to be asked about, and is held: the second
// has its turn.
func TestAPlannerThatRemembersGivesTheTurnOfWhoIsHeldToTheNext(t *testing.T) {
	w := newWorld(t)
	q, one := queue(4), int64(1)
	q.MaxWorkloads = &one
	w.catalog.Queues["research"] = q
	w.node("n1", 4)
	w.job("held", 1, 0)
	w.job("next", 2, 0)
	w.in.AskHold = true
	w.in.Holds = map[string]decide.HoldAnswer{"uid-next": {}}
	remembers := decide.NewPlanner()
	if diff := cmp.Diff([]string{"uid-held"}, remembers.Plan(w.all()).Asks); diff != "" {
		t.Fatalf("who is asked about (-want +got):\n%s", diff)
	}
	w.in.Holds["uid-held"] = decide.HoldAnswer{Reason: &reason.Reason{Code: reason.HeldByPolicy}}
	in := w.all()
	in.Touched = []string{"uid-held"}
	if diff := cmp.Diff([]string{"next"}, started(remembers.Plan(in))); diff != "" {
		t.Errorf("who starts (-want +got):\n%s", diff)
	}
}

// Who comes first among those that are alike, none of whom fits, is told what they lack.
func TestAPlannerThatRemembersTellsTheFirstOfManyWhatItLacks(t *testing.T) {
	w := newWorld(t)
	q, other := queue(2), queue(4)
	q.Cohort, other.Cohort, q.Preemption.WithinQueue = "all", "all", policies.VictimsLowerPriority
	w.catalog.Queues = map[string]policies.Queue{"research": q, "other": other}
	w.node("n1", 8)
	w.runs(w.job("runs", 3, 1), "n1")
	w.ranked(w.job("waits", 5, 1), 1)
	remembers := decide.NewPlanner()
	for range 2 {
		remembers.Plan(w.all())
	}
	w.ranked(w.job("first", 5, 1), 2)
	in := w.all()
	in.Touched = []string{"uid-first"}
	remembers.Plan(in)
	if diff := cmp.Diff(decide.Plan(in).Waiting, remembers.Waiting()); diff != "" {
		t.Errorf("from nothing (-) and from memory (+):\n%s", diff)
	}
}

// By shares, a start in a queue puts those of it at risk who were none before, even if
// who starts may not be displaced: big asks for less than red's share as soon as pinned runs.
func TestAPlannerThatRemembersSeesASharesRise(t *testing.T) {
	w := newWorld(t)
	w.catalog.FairSharing.Enabled = true
	w.catalog.Cohorts = map[string]policies.Cohort{"all": {Quota: map[string]map[string]policies.Limit{"gpu": {gpu: {Nominal: 9}}}}}
	red, blue := queue(0), queue(0)
	red.Cohort, blue.Cohort, blue.Preemption.ReclaimWithinCohort = "all", "all", policies.VictimsAny
	w.catalog.Queues = map[string]policies.Queue{"red": red, "blue": blue}
	w.node("n1", 9)
	w.runs(w.job("old", 5, 1, in("red")), "n1")
	w.job("big", 5, 1, in("blue"))
	w.job("pinned", 1, 1, in("red"))
	never := false
	w.verdicts["uid-pinned"] = decide.Outcome{Verdict: policies.Verdict{Queue: "red", Preemptible: &never}}
	remembers := decide.NewPlanner()
	r := remembers.Plan(w.all())
	if diff := cmp.Diff([]string{"pinned"}, started(r)); diff != "" {
		t.Fatalf("who starts (-want +got):\n%s", diff)
	}
	w.carryOut(r)
	in := w.all()
	in.Touched = []string{"uid-pinned"}
	if got := remembers.Plan(in).Suspend; len(got) != 1 || got[0].Job.Name != "old" {
		t.Errorf("from memory %v are taken back, want old", got)
	}
}
