package book_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/supply"
)

func TestWhatIsGoing(t *testing.T) {
	pod := func(name, node string, since int64) *supply.Pod {
		return &supply.Pod{UID: name, Node: node, JobUID: "j", Started: node != "", Deleting: since > 0, DeletingSince: since}
	}
	queued := &demand.Job{UID: "j", Suspended: true}
	unseen := &demand.Job{UID: "j", Suspended: true, Started: true}
	for _, c := range []struct {
		name  string
		job   *demand.Job // nil: it is not known
		pods  []*supply.Pod
		goes  bool
		since int64
	}{
		{"nothing is left", queued, nil, false, 0},
		{"all pods were told to go, the first one at 3", queued, []*supply.Pod{pod("a", "n", 5), pod("b", "", 3)}, true, 3},
		{"one was not told", queued, []*supply.Pod{pod("a", "n", 5), pod("b", "n", 0)}, false, 0},
		{"the Job controller has yet to tell them", unseen, []*supply.Pod{pod("a", "n", 5), pod("b", "n", 0)}, true, 5},
		{"it has told none of them", unseen, []*supply.Pod{pod("a", "n", 0)}, true, 9},
		{"the Job is gone", nil, []*supply.Pod{pod("a", "n", 5)}, true, 5},
		{"the Job is over", &demand.Job{UID: "j", Finished: true}, []*supply.Pod{pod("a", "n", 5)}, true, 5},
		{"the Job runs without a reservation", &demand.Job{UID: "j"}, []*supply.Pod{pod("a", "n", 5)}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := book.New()
			if c.job != nil {
				b.SetJob(c.job)
			}
			for _, p := range c.pods {
				b.SetPod(p)
			}
			all := b.Snapshot().Leaving()
			if got := len(all) == 1; got != c.goes {
				t.Fatalf("it is among those that leave: %t, want %t", got, c.goes)
			}
			if !c.goes {
				return
			}
			if since, goes := all[0].GoingSince(9); !goes || since != c.since {
				t.Errorf("it goes (%t) since %d, want %d", goes, since, c.since)
			}
			for _, p := range c.pods {
				b.DeletePod(p.UID)
			}
			if left := b.Snapshot().Leaving(); len(left) > 0 {
				t.Errorf("without any pods, %s still leaves", left[0].UID())
			}
			if err := b.SelfCheck(); err != nil {
				t.Error(err)
			}
		})
	}
}
