package decide_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// wait is what a record says, with the bounds of its pause.
type wait struct {
	count      int64
	code       string
	from, upTo int64 // seconds after it was taken back
}

func (w wait) check(t *testing.T, at int64, got *demand.Backoff) {
	t.Helper()
	if got == nil {
		t.Fatalf("no record, want %+v", w)
	}
	if got.UID != "uid-a" || got.Count != w.count || got.Code != w.code {
		t.Errorf("the record is %+v, want %+v", *got, w)
	}
	if pause := got.Until - at; pause < w.from*second || pause > w.upTo*second {
		t.Errorf("it waits for %.3f s, want %d to %d", float64(pause)/1e9, w.from, w.upTo)
	}
}

func TestFailuresAreCountedUntilItRunsWell(t *testing.T) {
	nowhere := func(w *world) {
		w.pod("1", "n1", "a", 1)
		w.pod("2", "", "a", 1, unbound(start))
	}
	notReady := func(w *world) {
		w.pod("1", "n1", "a", 1)
		w.pod("2", "n1", "a", 1)
	}
	for _, c := range []struct {
		name    string
		given   func(*world)
		backoff demand.Backoff
		want    wait
	}{
		{"a Job whose pods found no node again waits longer", nowhere,
			demand.Backoff{UID: "uid-a", Count: 3, Code: "placement timeout"}, wait{4, "placement timeout", 360, 480}},
		{"so does one whose pods all found a node this time, and were not ready", notReady,
			demand.Backoff{UID: "uid-a", Count: 3, Code: "placement timeout"}, wait{4, "readiness timeout", 360, 480}},
		{"the other way round, too", nowhere,
			demand.Backoff{UID: "uid-a", Count: 1, Code: "readiness timeout"}, wait{2, "placement timeout", 90, 120}},
		{"and one that was up for a moment", lost,
			demand.Backoff{UID: "uid-a", Count: 1, Code: "recovery timeout"}, wait{2, "recovery timeout", 90, 120}},
		{"one that ran for longer than the longest pause starts anew", func(w *world) {
			q := queue(4)
			q.Backoff.MaxSeconds = 2000
			w.catalog.Queues["research"] = q
			lost(w)
		}, demand.Backoff{UID: "uid-a", Count: 3, Code: "recovery timeout"}, wait{1, "recovery timeout", 45, 60}},
		{"what happened to another Job does not count", nowhere,
			demand.Backoff{UID: "another", Count: 3, Code: "placement timeout"}, wait{1, "placement timeout", 45, 60}},
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
			c.want.check(t, w.in.Now, got[0].Backoff)
		})
	}
}

func TestAnOwnersHoldForgives(t *testing.T) {
	for _, c := range []struct {
		name    string
		backoff demand.Backoff
		want    *demand.Backoff
	}{
		{"one that its owner takes back starts anew, and need not wait",
			demand.Backoff{UID: "uid-a", Count: 3, Until: start, Code: "placement timeout"}, &demand.Backoff{UID: "uid-a"}},
		{"of one that nothing happened to nothing is written", demand.Backoff{}, nil},
		{"nor of what happened to another Job", demand.Backoff{UID: "another", Count: 3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			running(w, func(j *demand.Job) { j.Backoff, j.HeldByOwner = c.backoff, true })
			if diff := cmp.Diff(c.want, w.plan().Suspend[0].Backoff); diff != "" {
				t.Errorf("backoff (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoMakesRoomAfterAGoodRunIsForgiven(t *testing.T) {
	for name, c := range map[string]struct {
		ran  int64 // seconds
		want *demand.Backoff
	}{
		"it ran well":            {3600, &demand.Backoff{UID: "uid-a"}},
		"it had only just begun": {3599, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			q := queue(2)
			q.Preemption.WithinQueue = policies.VictimsLowerPriority
			w.catalog.Queues["research"] = q
			running(w, func(j *demand.Job) { j.Backoff = demand.Backoff{UID: "uid-a", Count: 3, Code: "placement timeout"} })
			w.pod("1", "n1", "a", 1, ready)
			w.pod("2", "n1", "a", 1, ready)
			w.priority("urgent", 10)
			w.job("urgent", 2, 1)
			w.in.Now = start + c.ran*second
			got := w.plan().Suspend
			if len(got) != 1 || got[0].Preempted == nil {
				t.Fatalf("taken back: %v, want one for another", got)
			}
			if diff := cmp.Diff(c.want, got[0].Backoff); diff != "" {
				t.Errorf("backoff (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAfterSoManyFailuresItIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit int64
		count int64 // failures before
		taken string
		then  string // what it is told once it waits
	}{
		{"the last attempt but one", 3, 2, "BackingOff: no pod of it could be made within 120 s. " +
			"Try: kubectl describe job (a ResourceQuota or an invalid template)",
			"BackingOff: taken back 3 times, the last time because of no pods made"},
		{"the last attempt", 3, 3, "GaveUp: no pod of it could be made within 120 s; taken back 4 times, the last time because of no pods made, " +
			"and not tried again (limitCount of the queue's backoff). " +
			"Try: change the Job, or set the annotation holdshort.dev/hold and remove it once the Job says HeldByOwner",
			"GaveUp: taken back 4 times, the last time because of no pods made, and not tried again (limitCount of the queue's backoff). " +
				"Try: change the Job, or set the annotation holdshort.dev/hold and remove it once the Job says HeldByOwner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			q := queue(4)
			q.Backoff.LimitCount = &c.limit
			w.catalog.Queues["research"] = q
			running(w, func(j *demand.Job) { j.Backoff = demand.Backoff{UID: "uid-a", Count: c.count} })
			w.in.Now = start + 200*second
			got := w.plan()
			if diff := cmp.Diff(map[string]string{"a": c.taken}, taken(got)); diff != "" {
				t.Fatal(diff)
			}
			change(w, func(j *demand.Job) {
				j.Suspended, j.Reservation, j.Started, j.Backoff = true, nil, false, *got.Suspend[0].Backoff
			})
			if diff := cmp.Diff(map[string]string{"a": c.then}, said(w.plan())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhoWasGivenUpIsInNobodysWay(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	q, limit := queue(4), int64(0)
	q.Backoff.LimitCount, q.Strategy = &limit, policies.StrictFIFO
	w.catalog.Queues["research"] = q
	w.job("a", 4, 1, func(j *demand.Job) { j.Backoff = demand.Backoff{UID: "uid-a", Count: 1, Code: "placement timeout"} })
	w.job("b", 4, 1)
	got := w.plan()
	if diff := cmp.Diff([]string{"b"}, started(got)); diff != "" || got.WakeAt != 0 {
		t.Errorf("wakes at %d; started (-want +got):\n%s", got.WakeAt, diff)
	}
	limit = 1 // who has the limit raised lets it try again
	w.book.DeleteJob("uid-b")
	if diff := cmp.Diff([]string{"a"}, started(w.plan())); diff != "" {
		t.Error(diff)
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

func TestBackoffDoublesUpToItsLimitAndVaries(t *testing.T) {
	for count, pause := range map[int64]int64{0: 60, 1: 120, 2: 240, 5: 1920, 6: 3600, 1000: 3600} {
		w := newWorld(t)
		running(w, func(j *demand.Job) { j.Backoff = demand.Backoff{UID: "uid-a", Count: count} })
		w.in.Now = start + 200*second
		wait{count + 1, "no pods made", pause * 3 / 4, pause}.check(t, w.in.Now, w.plan().Suspend[0].Backoff)
	}
}

// Jobs that were taken back together do not come back together, and the same plan
// says the same each time.
func TestPausesOfManyAreSpread(t *testing.T) {
	until := func() map[int64]int {
		w := newWorld(t)
		w.catalog.Queues["research"] = queue(100)
		w.node("n1", 100)
		for i := range 100 {
			w.carryOut(w.planOf(w.job(fmt.Sprint("j", i), 1, 1)))
		}
		w.in.Now = start + 200*second
		quarters := map[int64]int{}
		for _, s := range w.plan().Suspend {
			pause := s.Backoff.Until - w.in.Now
			quarters[(pause-45*second)*4/(15*second+1)]++
		}
		return quarters
	}
	first := until()
	if diff := cmp.Diff(first, until()); diff != "" {
		t.Errorf("the same input has another plan:\n%s", diff)
	}
	for quarter := range int64(4) {
		if n := first[quarter]; n < 10 || n > 40 {
			t.Errorf("%d of 100 pauses are in quarter %d of what there may be: %v", n, quarter, first)
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
