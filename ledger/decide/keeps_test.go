package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
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
