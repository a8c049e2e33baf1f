package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/quota"
)

// Booked are four pods of 4 GPUs, and something has the first ask for 5: the three to
// come are charged that, and have room for it.
func TestPodsToComeAreCountedLikeAFirstThatAsksForMore(t *testing.T) {
	four := func(t *testing.T, quota int64, gpus ...int64) *world {
		w := newWorld(t)
		w.catalog.Queues["research"] = queue(quota)
		for i, n := range gpus {
			w.node([]string{"n1", "n2", "n3", "n4"}[i], n)
		}
		w.carryOut(w.planOf(w.job("a", 4, 4)))
		w.pod("1", "n1", "a", 5, tagged("research"))
		return w
	}
	charged := func(w *world) int64 {
		return w.book.Snapshot().Usage(quota.Key{Queue: "research", Flavor: "gpu", Resource: gpu})
	}
	for _, c := range []struct {
		name    string
		quota   int64
		gpus    []int64
		more    func(*world)
		charged int64
		asks    int64 // GPUs of the one who waits
		starts  []string
	}{
		{"the queue has no more than they will", 20, []int64{8, 8, 8, 8}, nil, 20, 1, []string{}},
		{"a queue that is over its quota takes nobody back", 16, []int64{8, 8, 8, 8}, nil, 20, 1, []string{}},
		{"a quota beyond that is free", 24, []int64{9, 9, 9, 9}, nil, 20, 4, []string{"b"}},
		{"room that they may need is not", 100, []int64{5, 5, 6, 6}, nil, 20, 1, []string{}},
		{"nor are machines that would do for as many as were booked", 100, []int64{9, 9, 9, 9}, nil, 20, 5, []string{}},
		{"room beside them is", 100, []int64{6, 6, 6, 6}, nil, 20, 1, []string{"b"}},
		{"they are counted as they are, once they are there", 100, []int64{8, 8, 8, 8}, func(w *world) {
			w.pod("2", "n2", "a", 4, tagged("research"))
			w.pod("3", "n3", "a", 4, tagged("research"))
			w.pod("4", "n4", "a", 4, tagged("research"))
		}, 17, 4, []string{"b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := four(t, c.quota, c.gpus...)
			if c.more != nil {
				c.more(w)
			}
			if got := charged(w); got != c.charged {
				t.Errorf("charged %d, want %d", got, c.charged)
			}
			w.job("b", 1, c.asks)
			r := w.plan()
			if diff := cmp.Diff(c.starts, started(r)); diff != "" {
				t.Errorf("starts (-want +got):\n%s", diff)
			}
			if len(r.Suspend) > 0 {
				t.Errorf("taken back: %v", taken(r))
			}
			if err := w.book.SelfCheck(); err != nil {
				t.Error(err)
			}
		})
	}
}
