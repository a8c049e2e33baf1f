package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// row of GPUs or pods, as a queue's state shows it.
func row(queue, flavor, resource string, nominal, usage int64) quota.Row {
	return quota.Row{Key: quota.Key{Queue: queue, Flavor: flavor, Resource: resource}, Nominal: nominal, Usage: usage, Left: max(0, nominal-usage)}
}

func TestQueuesShowWhatIsChargedThoughThePolicyMovedOn(t *testing.T) {
	renamed := func(w *world) {
		w.catalog.Flavors = map[string]policies.Flavor{"h100": {}}
		q := queue(0)
		q.Flavors = []string{"h100"}
		q.Quota = map[string]map[string]policies.Limit{"h100": {gpu: {Nominal: 8}}}
		w.catalog.Queues["research"] = q
	}
	for _, c := range []struct {
		name string
		then func(*world) // after a Job of 2 pods runs in research on gpu
		want []decide.QueueState
	}{
		{"as long as the policy stands, the rows are those of the quota", func(*world) {}, []decide.QueueState{
			{Name: "research", InPolicy: true, Admitted: 1, Rows: []quota.Row{row("research", "gpu", gpu, 4, 2)}},
		}},
		{"a flavor that was renamed keeps its rows, with nothing allowed", renamed, []decide.QueueState{
			{Name: "research", InPolicy: true, Admitted: 1, Rows: []quota.Row{
				row("research", "gpu", gpu, 0, 2), row("research", "gpu", "pods", 0, 2), row("research", "h100", gpu, 8, 0),
			}},
		}},
		{"until nothing is charged there any more", func(w *world) {
			renamed(w)
			w.book.DeleteJob("uid-a")
		}, []decide.QueueState{
			{Name: "research", InPolicy: true, Rows: []quota.Row{row("research", "h100", gpu, 8, 0)}},
		}},
		{"a queue that was removed keeps its rows too", func(w *world) { delete(w.catalog.Queues, "research") }, []decide.QueueState{
			{Name: "research", Admitted: 1, Rows: []quota.Row{row("research", "gpu", gpu, 0, 2), row("research", "gpu", "pods", 0, 2)}},
		}},
		{"so does one that only pods whose Job is gone are charged to", func(w *world) {
			delete(w.catalog.Queues, "research")
			w.pod("left", "n1", "a", 1, func(p *supply.Pod) {
				p.Queue, p.Flavors = "research", map[string]string{"pods": "gpu"}
			})
			w.book.DeleteJob("uid-a")
		}, []decide.QueueState{
			{Name: "research", Rows: []quota.Row{row("research", "gpu", gpu, 0, 1), row("research", "gpu", "pods", 0, 1)}},
		}},
		{"what is written on a suspended Job makes no queue", func(w *world) {
			w.job("forger", 1, 1, func(j *demand.Job) {
				j.HeldByOwner = true
				j.Reservation = &demand.Reservation{UID: j.UID, Queue: "made-up", PodSets: []demand.ReservedPodSet{{
					Name: "main", Count: 1, Requests: j.PodSets[0].Requests, Flavors: map[string]string{"pods": "gpu"},
				}}}
			})
			w.pod("f", "n1", "forger", 1)
		}, []decide.QueueState{
			{
				Name: "research", InPolicy: true, Pending: 1, Admitted: 1, Rows: []quota.Row{row("research", "gpu", gpu, 4, 3)},
				Reasons: map[reason.Code]int64{reason.HeldByOwner: 1},
			},
		}},
		{"nor does a flavor without a name make a row", func(w *world) {
			w.pod("odd", "n1", "", 1, func(p *supply.Pod) { p.Queue, p.Flavors = "research", map[string]string{"cpu": "gpu"} })
		}, []decide.QueueState{
			{Name: "research", InPolicy: true, Admitted: 1, Rows: []quota.Row{row("research", "gpu", gpu, 4, 2)}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1", 8)
			w.carryOut(w.planOf(w.job("a", 2, 1)))
			c.then(w)
			if diff := cmp.Diff(c.want, w.plan().Queues); diff != "" {
				t.Errorf("queues (-want +got):\n%s", diff)
			}
		})
	}
}
