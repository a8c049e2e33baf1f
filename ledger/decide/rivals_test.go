package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// Pods that only keep machines warm wait for ever, and the scheduler has them go for any
// other. The policy says from which priority on waiting pods count.
func TestThePolicySaysWhichWaitingPodsCount(t *testing.T) {
	w, planner := newWorld(t), decide.NewPlanner()
	w.node("n1", 4)
	w.pod("filler", "", "", 4, func(p *supply.Pod) { p.Priority = -10; p.UnschedulableSince = 1 })
	w.job("a", 1, 4)
	from := func(priority int64) policies.Rivals { return policies.Rivals{FromPriority: &priority} }
	for _, c := range []struct {
		name   string
		rivals policies.Rivals
		starts []string
	}{
		{"all do", policies.Rivals{}, []string{}},
		{"those from just below do", from(-10), []string{}},
		{"all again", policies.Rivals{}, []string{}},
		{"those from 0 on do", from(0), []string{"a"}},
	} {
		catalog := *w.catalog
		catalog.Rivals = c.rivals
		w.catalog = &catalog
		w.book.Follow(w.catalog)
		if err := w.book.SelfCheck(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := planner.Plan(w.all())
		if diff := cmp.Diff(c.starts, started(r)); diff != "" {
			t.Errorf("%s: who starts (-want +got):\n%s", c.name, diff)
		}
	}
	w.pod("urgent", "", "", 4, func(p *supply.Pod) { p.Priority = 7; p.UnschedulableSince = 1 })
	if got := started(planner.Plan(w.all())); len(got) > 0 {
		t.Errorf("%v starts, though a pod of higher priority waits", got)
	}
}
