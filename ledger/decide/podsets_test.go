package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// One whose first pods wait for machines, and whose others never have any, never starts
// either, and is in nobody's way.
func TestAPodSetThatNeverHasMachinesIsToldBehindOneThatWaits(t *testing.T) {
	w := newWorld(t)
	q := queue(40)
	q.Strategy = policies.StrictFIFO
	w.catalog.Queues["research"] = q
	w.node("n1", 4)
	w.pod("notebook", "n1", "", 2)
	w.job("two-sets", 1, 3, func(j *demand.Job) {
		j.PodSets = append(j.PodSets, demand.PodSet{Name: "big", Count: 1, Requests: resource.List{"pods": 1, gpu: 5}})
	})
	w.job("behind", 1, 1)
	r := w.plan()
	if diff := cmp.Diff([]string{"behind"}, started(r)); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	want := map[string]string{"two-sets": "NeverFits: no node of gpu could ever hold a pod of it: 5 nvidia.com/gpu asked, 4 is the most that one has. " +
		"It starts by itself if more or bigger ones come. Try: ask for less per pod"}
	if diff := cmp.Diff(want, said(r)); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}
