package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

func atMost(seconds int64) func(*demand.Job) {
	return func(j *demand.Job) { j.MaxRuntimeSec = seconds }
}

// lets has the policy let a Job run for so long in all.
func lets(w *world, name string, seconds int64) {
	w.verdicts["uid-"+name] = decide.Outcome{Verdict: policies.Verdict{Queue: "research", MaxRuntimeSeconds: seconds}}
}

// runsFor starts a Job with all of its pods at start.
func runsFor(w *world, j *demand.Job) {
	w.node("n1", 8)
	w.carryOut(w.planOf(j))
	w.pod("1", "n1", j.Name, 1, ready)
}

func TestWhoHasRunForAsLongAsItMayIsTakenBackForGood(t *testing.T) {
	const own = "OutOfTime: it has run for 1m40s in all, and its annotation holdshort.dev/max-runtime-seconds lets it run for 1m40s. " +
		"Try: raise that, or delete the Job"
	const policys = "OutOfTime: it has run for 1m40s in all, and the policy lets it run for 1m40s (classify.maxRuntimeSeconds). " +
		"Try: delete the Job, and make smaller ones of it"
	const raised = "OutOfTime: it has run for 1m40s in all, and when it started it might run for 1m40s; what it was given since counts when it starts again"
	ranBefore := func(j *demand.Job) { j.Ran = 60 * second }
	for _, c := range []takeBackCase{
		{"when its own time is up", func(w *world) { runsFor(w, w.job("a", 1, 1, atMost(100))) }, 100, map[string]string{"a": own}, 0},
		{"not before, and looked at again when it is", func(w *world) { runsFor(w, w.job("a", 1, 1, atMost(100))) }, 99, map[string]string{}, 100},
		{"when the policy's time is up", func(w *world) {
			j := w.job("a", 1, 1)
			lets(w, "a", 100)
			runsFor(w, j)
		}, 100, map[string]string{"a": policys}, 0},
		{"of both the shorter counts: its own", func(w *world) {
			j := w.job("a", 1, 1, atMost(100))
			lets(w, "a", 200)
			runsFor(w, j)
		}, 100, map[string]string{"a": own}, 0},
		{"or the policy's", func(w *world) {
			j := w.job("a", 1, 1, atMost(200))
			lets(w, "a", 100)
			runsFor(w, j)
		}, 100, map[string]string{"a": policys}, 0},
		{"earlier runs count", func(w *world) { runsFor(w, w.job("a", 1, 1, atMost(100), ranBefore)) }, 40, map[string]string{"a": own}, 0},
		{"and leave the rest", func(w *world) { runsFor(w, w.job("a", 1, 1, atMost(100), ranBefore)) }, 39, map[string]string{}, 40},
		{"less time counts at once", func(w *world) {
			runsFor(w, w.job("a", 1, 1))
			change(w, atMost(100))
		}, 100, map[string]string{"a": own}, 0},
		{"more time counts from the next start", func(w *world) {
			runsFor(w, w.job("a", 1, 1, atMost(100)))
			change(w, atMost(1000))
		}, 100, map[string]string{"a": raised}, 0},
		{"no other policy stops what runs", func(w *world) {
			runsFor(w, w.job("a", 1, 1))
			lets(w, "a", 10)
		}, 100, map[string]string{}, 0},
		{"nor lets it run on", func(w *world) {
			j := w.job("a", 1, 1)
			lets(w, "a", 100)
			runsFor(w, j)
			lets(w, "a", 0)
		}, 100, map[string]string{"a": raised}, 0},
		{"nor none at all", func(w *world) {
			runsFor(w, w.job("a", 1, 1, atMost(100)))
			w.catalog = nil
		}, 100, map[string]string{"a": own}, 0},
		{"who was let past the queue goes on", func(w *world) {
			runsFor(w, w.job("a", 1, 1, atMost(100)))
			change(w, func(j *demand.Job) { j.Bypass = true })
		}, 100, map[string]string{}, 0},
		{"who ran before the queue was there goes on", func(w *world) {
			w.node("n1", 8)
			w.job("a", 1, 1, atMost(100), func(j *demand.Job) { j.Suspended, j.Active = false, 1 })
		}, 100, map[string]string{}, 0},
		{"its owner's own wish goes before", func(w *world) {
			runsFor(w, w.job("a", 1, 1, atMost(100)))
			change(w, func(j *demand.Job) { j.HeldByOwner = true })
		}, 100, map[string]string{"a": "HeldByOwner: annotation holdshort.dev/hold is set. Try: remove it"}, 0},
		{"once, also if its pods were never ready", func(w *world) {
			w.node("n1", 8)
			w.carryOut(w.planOf(w.job("a", 1, 1, atMost(100))))
		}, 5000, map[string]string{"a": "OutOfTime: it has run for 1h23m20s in all, and its annotation holdshort.dev/max-runtime-seconds " +
			"lets it run for 1m40s. Try: raise that, or delete the Job"}, 0},
		{"a clock that was put back stops nobody", func(w *world) { runsFor(w, w.job("a", 1, 1, atMost(100))) }, -1000, map[string]string{}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, r, wake := c.plan(t)
			if wake != c.wake {
				t.Errorf("wakes %d s after the start, want %d", wake, c.wake)
			}
			for _, s := range r.Suspend {
				if ran := w.in.Now - start + w.book.Job(s.Job.UID).Ran; s.Ran != ran {
					t.Errorf("%s ran for %d, want %d", s.Job.Name, s.Ran, ran)
				}
			}
		})
	}
}

func TestWhoHasNoTimeLeftDoesNotStart(t *testing.T) {
	ran := func(seconds int64) func(*demand.Job) {
		return func(j *demand.Job) { j.Ran = seconds * second }
	}
	w := newWorld(t)
	w.node("n1", 8)
	w.job("over", 1, 1, atMost(100), ran(100))
	w.job("over by policy", 1, 1, atMost(100), ran(50))
	lets(w, "over by policy", 50)
	w.job("has a second", 1, 1, atMost(100), ran(99))
	w.job("unlimited", 1, 1, ran(1000000))
	r := w.plan()
	if diff := cmp.Diff([]string{"has a second", "unlimited"}, started(r)); diff != "" {
		t.Errorf("who starts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"over": "OutOfTime: it has run for 1m40s in all, and its annotation holdshort.dev/max-runtime-seconds lets it run for 1m40s. " +
			"Try: raise that, or delete the Job",
		"over by policy": "OutOfTime: it has run for 50s in all, and the policy lets it run for 50s (classify.maxRuntimeSeconds). " +
			"Try: delete the Job, and make smaller ones of it",
	}, said(r)); diff != "" {
		t.Errorf("who waits and why (-want +got):\n%s", diff)
	}
	limits := map[string]int64{}
	for _, a := range r.Admit {
		limits[a.Job.Name] = a.Reservation.MaxRuntimeSec
	}
	if diff := cmp.Diff(map[string]int64{"has a second": 100, "unlimited": 0}, limits); diff != "" {
		t.Errorf("what is written on them (-want +got):\n%s", diff)
	}
}
