package decide_test

import (
	"slices"
	"testing"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/supply"
)

// What a deleted Job has is known to come free while its pods end; that it has is news of
// its queue nevertheless.
func TestAQueueIsToldOfWhenPodsAreGone(t *testing.T) {
	w, planner := newWorld(t), decide.NewPlanner()
	w.node("n1", 4)
	w.job("a", 1, 4)
	w.carryOut(planner.Plan(w.all()))
	w.pod("a0", "n1", "a", 4, tagged("research"))
	used := func(r decide.Result) int64 {
		t.Helper()
		if !slices.Contains(r.Stale, "research") {
			t.Fatalf("what changed is of %q, not of research", r.Stale)
		}
		state, _ := planner.Queue("research")
		return state.Rows[0].Usage
	}
	if got := used(planner.Plan(w.all())); got != 4 {
		t.Errorf("it runs, and %d are used", got)
	}
	job := *w.book.Job("uid-a")
	job.Deleting = true
	w.book.SetJob(&job)
	w.pod("a0", "n1", "a", 4, tagged("research"), func(p *supply.Pod) { p.Deleting, p.DeletingSince = true, start })
	if got := used(planner.Plan(w.all())); got != 4 {
		t.Errorf("its pod still ends, and %d are used", got)
	}
	w.book.DeletePod("pod-a0")
	w.book.DeleteJob("uid-a")
	if got := used(planner.Plan(w.all())); got != 0 {
		t.Errorf("its pod is gone, and %d are used", got)
	}
}
