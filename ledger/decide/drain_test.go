package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// drained is that an operator wants the queue research empty.
func drained(w *world) {
	w.in.Held, w.in.Drained = map[string]bool{"research": true}, map[string]bool{"research": true}
}

func TestADrainedQueueGivesBackWhatRuns(t *testing.T) {
	const goes = "QueueHeld: queue research is held and drained by an operator (spec.hold of the Queue)"
	for _, c := range []struct {
		name  string
		given func(*world)
		want  map[string]string
	}{
		{"what runs is taken back at once", func(w *world) { running(w) }, map[string]string{"a": goes}},
		{"also if the policy protects it", func(w *world) {
			running(w)
			no := false
			w.verdicts["uid-a"] = decide.Outcome{Verdict: policies.Verdict{Queue: "research", Preemptible: &no}}
		}, map[string]string{"a": goes}},
		{"its owner's wish comes first", func(w *world) {
			running(w, func(j *demand.Job) { j.HeldByOwner = true })
		}, map[string]string{"a": "HeldByOwner: annotation holdshort.dev/hold is set. Try: remove it"}},
		{"what was lifted past the queue runs on", func(w *world) {
			running(w, func(j *demand.Job) { j.Bypass = true })
		}, map[string]string{}},
		{"so does what ran before", func(w *world) {
			unreserved()(w)
			w.pod("1", "n1", "a", 1)
		}, map[string]string{}},
		{"a Job with a write in flight is left alone until that has come", func(w *world) {
			running(w)
			w.in.Busy = map[string]bool{"uid-a": true}
		}, map[string]string{}},
		{"one that ends is not suspended", func(w *world) {
			running(w, func(j *demand.Job) { j.Finished = true })
		}, map[string]string{}},
		{"without a policy, too", func(w *world) {
			running(w)
			w.catalog = nil
		}, map[string]string{"a": goes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			drained(w)
			w.in.Now = start + 500*second // where a timeout would take it back, it is no failure either
			got := w.plan()
			if diff := cmp.Diff(c.want, taken(got)); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
			for _, s := range got.Suspend {
				if s.Backoff != nil {
					t.Errorf("it is held against %s: %+v", s.Job.Name, s.Backoff)
				}
			}
		})
	}
}

func TestWhatWasDrainedStartsAgainInItsPlace(t *testing.T) {
	w := newWorld(t)
	running(w)
	w.job("later", 4, 1)
	drained(w)
	if diff := cmp.Diff(map[string]string{
		"later": "QueueHeld: queue research is held and drained by an operator (spec.hold of the Queue)",
	}, said(w.plan())); diff != "" {
		t.Error(diff)
	}
	change(w, func(j *demand.Job) { j.Suspended, j.Reservation, j.Started = true, nil, false })
	w.in.Held, w.in.Drained = nil, nil
	if diff := cmp.Diff([]string{"a"}, started(w.plan())); diff != "" {
		t.Error(diff)
	}
}

// Who is taken back anyhow is nobody's victim in the same plan.
func TestWhoIsDrainedIsNotTakenBackTwice(t *testing.T) {
	w := newWorld(t)
	q := queue(2)
	q.Cohort, q.Preemption.ReclaimWithinCohort = "all", policies.VictimsAny
	w.catalog.Queues = map[string]policies.Queue{"research": q, "owner": q}
	running(w)
	change(w, func(j *demand.Job) { j.PodSets[0].Count = 2 })
	w.job("b", 2, 1)
	w.carryOut(w.plan()) // on what owner lends
	w.job("c", 2, 1, func(j *demand.Job) { j.Queue = "owner" })
	drained(w)
	got := w.plan()
	if diff := cmp.Diff(2, len(got.Suspend)); diff != "" {
		t.Errorf("%v: %s", taken(got), diff)
	}
}
