package decide_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/policies"
)

// One Job of eight is to make room for one of six. Two are free now, and two more will be
// when it has gone: of two Jobs that fit, one starts at once, and the other then.
func TestNobodyStartsOnWhatIsFreeOnlyOnceOthersHaveGone(t *testing.T) {
	w := newWorld(t)
	w.catalog.Queues = map[string]policies.Queue{}
	for name, nominal := range map[string]int64{"owner": 6, "borrower": 0, "one": 2, "two": 2} {
		q := queue(nominal)
		q.Cohort = "all"
		if name == "owner" {
			q.Preemption.ReclaimWithinCohort = policies.VictimsAny
		}
		w.catalog.Queues[name] = q
	}
	w.node("n1", 100)
	w.runs(w.job("lent", 1, 8, in("borrower")), "n1")
	w.ranked(w.job("owns", 1, 6, in("owner")), 5)
	w.job("first", 1, 2, in("one"))
	w.job("second", 1, 2, in("two"))
	planner := decide.NewPlanner()
	for name, r := range map[string]decide.Result{"from nothing": w.plan(), "remembered": planner.Plan(w.all())} {
		if len(r.Suspend) != 1 || r.Suspend[0].Job.Name != "lent" {
			t.Errorf("%s: %v is taken back, want lent", name, r.Suspend)
		}
		if got := started(r); len(got) != 1 {
			t.Errorf("%s: %v start, and there is room for one of them", name, got)
		}
	}
	w.carryOut(planner.Plan(w.all()))
	if r := planner.Plan(w.all()); len(r.Admit) > 0 {
		t.Errorf("%v start before anybody has gone", started(r))
	}
}
