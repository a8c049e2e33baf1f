package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
)

func TestBackoffStartsAnewAfterAGoodRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		given   func(*world)
		backoff demand.Backoff
		want    *demand.Backoff
	}{
		{"a Job whose pods found no node again waits longer", func(w *world) {
			w.pod("1", "n1", "a", 1)
			w.pod("2", "", "a", 1, unbound(start))
		}, demand.Backoff{UID: "uid-a", Count: 3, Code: "placement timeout"},
			&demand.Backoff{UID: "uid-a", Count: 4, Until: start + (2000+480)*second, Code: "placement timeout"}},
		{"one whose pods all found a node this time starts anew", func(w *world) {
			w.pod("1", "n1", "a", 1)
			w.pod("2", "n1", "a", 1)
		}, demand.Backoff{UID: "uid-a", Count: 3, Code: "placement timeout"},
			&demand.Backoff{UID: "uid-a", Count: 1, Until: start + (2000+60)*second, Code: "readiness timeout"}},
		{"but not if it was not ready in time before either", func(w *world) {
			w.pod("1", "n1", "a", 1)
			w.pod("2", "n1", "a", 1)
		}, demand.Backoff{UID: "uid-a", Count: 1, Code: "readiness timeout"},
			&demand.Backoff{UID: "uid-a", Count: 2, Until: start + (2000+120)*second, Code: "readiness timeout"}},
		{"one that ran and lost a pod starts anew", lost,
			demand.Backoff{UID: "uid-a", Count: 3, Code: "readiness timeout"},
			&demand.Backoff{UID: "uid-a", Count: 1, Until: start + (2000+60)*second, Code: "recovery timeout"}},
		{"one that loses pods again and again waits longer", lost,
			demand.Backoff{UID: "uid-a", Count: 1, Code: "recovery timeout"},
			&demand.Backoff{UID: "uid-a", Count: 2, Until: start + (2000+120)*second, Code: "recovery timeout"}},
		{"but not if it ran for longer than the longest pause", func(w *world) {
			q := queue(4)
			q.Backoff.MaxSeconds = 2000
			w.catalog.Queues["research"] = q
			lost(w)
		}, demand.Backoff{UID: "uid-a", Count: 1, Code: "recovery timeout"},
			&demand.Backoff{UID: "uid-a", Count: 1, Until: start + (2000+60)*second, Code: "recovery timeout"}},
		{"one that its owner takes back starts anew, and need not wait", holdIt,
			demand.Backoff{UID: "uid-a", Count: 3, Until: start, Code: "placement timeout"}, &demand.Backoff{UID: "uid-a"}},
		{"of one that nothing happened to nothing is written", holdIt, demand.Backoff{}, nil},
		{"nor of what happened to another Job", holdIt, demand.Backoff{UID: "another", Count: 3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			running(w, func(j *demand.Job) { j.Backoff = c.backoff })
			c.given(w)
			w.in.Now = start + 2000*second
			got := w.plan().Suspend
			if len(got) != 1 {
				t.Fatalf("taken back: %v, want one", got)
			}
			if diff := cmp.Diff(c.want, got[0].Backoff); diff != "" {
				t.Errorf("backoff (-want +got):\n%s", diff)
			}
		})
	}
}

func lost(w *world) {
	q := w.catalog.Queues["research"]
	q.RecoveryTimeoutSeconds = 60
	w.catalog.Queues["research"] = q
	w.pod("1", "n1", "a", 1, ready)
	w.pod("2", "n1", "a", 1, ready)
	w.book.DeletePod("pod-2")
	w.book.Tick(start)
}

func holdIt(w *world) {
	j := *w.book.Job("uid-a")
	j.HeldByOwner = true
	w.book.SetJob(&j)
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	for count, pause := range map[int64]int64{0: 60, 1: 120, 2: 240, 5: 1920, 6: 3600, 1000: 3600} {
		w := newWorld(t)
		running(w, func(j *demand.Job) { j.Backoff = demand.Backoff{UID: "uid-a", Count: count} })
		w.in.Now = start + 200*second
		got := w.plan().Suspend[0].Backoff
		want := &demand.Backoff{UID: "uid-a", Count: count + 1, Until: start + (200+pause)*second, Code: "no pods made"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d times (-want +got):\n%s", count, diff)
		}
	}
}

func TestBackoffHoldsUntilItEnds(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.job("a", 1, 1, func(j *demand.Job) {
		j.Backoff = demand.Backoff{UID: "uid-a", Count: 2, Until: start + 5*second, Code: "placement timeout"}
	})
	w.job("copied", 1, 1, func(j *demand.Job) { j.Backoff = demand.Backoff{UID: "another", Until: start + 5*second} })
	got := w.plan()
	if diff := cmp.Diff(map[string]string{"a": "BackingOff: taken back 2 times, the last time because of placement timeout"}, said(got)); diff != "" {
		t.Error(diff)
	}
	if got.WakeAt != start+5*second {
		t.Errorf("wakes at %d", got.WakeAt)
	}
	w.in.Now = start + 5*second
	if diff := cmp.Diff([]string{"a", "copied"}, started(w.plan())); diff != "" {
		t.Error(diff)
	}
}
