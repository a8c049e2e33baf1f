package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

func by(user string) func(*demand.Job) {
	return func(j *demand.Job) { j.Policy = &policies.Workload{User: user} }
}

// Blue and red have 4 GPUs each, of which red lends 1; what is above their cohort has
// 2 more, of which they may have 1.
func TestHoldIsToldWhatQueueCohortAndUserHaveAndWhatOfItHasNoNodeYet(t *testing.T) {
	w := shared(t, func(q *policies.Queue) { q.Preemption = policies.Preemption{} })
	w.node("n3", 8)
	red := w.catalog.Queues["red"]
	red.Quota = gpus(policies.Limit{Nominal: 4, LendingLimit: most(1)})
	w.catalog.Queues["red"] = red
	w.catalog.Cohorts = map[string]policies.Cohort{
		"all": {Parent: "top", Quota: gpus(policies.Limit{BorrowingLimit: most(1)})},
		"top": {Quota: gpus(policies.Limit{Nominal: 2})},
	}
	w.runs(w.job("placed", 2, 1, in("blue"), by("ann")), "n1")
	w.carryOut(w.planOf(w.job("placing", 2, 1, in("red"), by("ann"))))
	w.pod("placing-1", "n2", "placing", 1, tagged("red"))
	w.carryOut(w.planOf(w.job("comes", 1, 1, in("blue"), by("bob"))))
	w.in.AskHold = true
	w.job("first", 1, 1, in("blue"), by("ann"))
	w.job("second", 1, 1, in("blue"), by("ann"))
	row := func(a policies.UsageAmount) policies.ResourceUsage {
		return policies.ResourceUsage{gpu: {"gpu": a}}
	}
	want := policies.Usage{
		// 4 of its own, 1 of red's, 1 from above.
		Queue:  row(policies.UsageAmount{Used: 4, Reserved: 2, Nominal: 4, Limit: 6}),
		Cohort: row(policies.UsageAmount{Used: 6, Reserved: 3, Nominal: 8, Limit: 9}),
		User:   row(policies.UsageAmount{Used: 3, Reserved: 1, Nominal: 4, Limit: 6}),
		// With the one that is asked about first.
		Running: 2, Waiting: 1,
	}
	if diff := cmp.Diff(want, w.plan().AskUsage["uid-second"]); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}
