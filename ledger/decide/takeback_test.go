package decide_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// taken is why each suspended Job is taken back, by name.
func taken(r decide.Result) map[string]string {
	all := map[string]string{}
	for _, s := range r.Suspend {
		all[s.Job.Name] = string(s.Reason.Code) + ": " + s.Reason.Message
	}
	return all
}

// running queues a Job of two pods and lets it go at start.
func running(w *world, change ...func(*demand.Job)) {
	w.node("n1", 8)
	w.carryOut(w.planOf(w.job("a", 2, 1)))
	j := *w.book.Job("uid-a")
	for _, f := range change {
		f(&j)
	}
	w.book.SetJob(&j)
}

// ranBefore is a Job of two pods that was admitted when two had ended already, and then
// was seen for the first time, by another book.
func ranBefore(w *world) {
	w.node("n1", 8)
	w.carryOut(w.planOf(w.job("a", 2, 1, func(j *demand.Job) { j.Ended, j.Succeeded = 2, 1 })))
	j := w.book.Job("uid-a")
	w.book = book.New()
	w.node("n1", 8)
	w.book.SetJob(j)
}

func unreserved(change ...func(*demand.Job)) func(*world) {
	return func(w *world) {
		w.node("n1", 8)
		w.job("a", 2, 1, func(j *demand.Job) {
			j.Suspended = false
			for _, f := range change {
				f(j)
			}
		})
	}
}

func unbound(since int64) func(*supply.Pod) {
	return func(p *supply.Pod) { p.UnschedulableSince = since }
}

func ready(p *supply.Pod) { p.Ready = true }

// takeBackCase is who is taken back at some moment, and why.
type takeBackCase struct {
	name  string
	given func(*world)
	at    int64 // seconds after start
	want  map[string]string
	wake  int64 // seconds after start, 0: never
}

// plan checks who is taken back, and returns when the plan changes by itself.
func (c takeBackCase) plan(t *testing.T) (w *world, r decide.Result, wake int64) {
	t.Helper()
	w = newWorld(t)
	c.given(w)
	w.in.Now = start + c.at*second
	r = w.plan()
	if diff := cmp.Diff(c.want, taken(r)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	if r.WakeAt > 0 {
		wake = (r.WakeAt - start) / second
	}
	return w, r, wake
}

func TestTakeBack(t *testing.T) {
	for _, c := range []takeBackCase{
		{"a gang whose pods found no node in time is taken back", func(w *world) {
			running(w)
			w.pod("1", "n1", "a", 1)
			w.pod("2", "", "a", 1, unbound(start+10*second))
		}, 130, map[string]string{"a": "BackingOff: 1 pod found no node within 120 s"}, 1800},
		{"before that it is left alone, and looked at again when it is time", func(w *world) {
			running(w)
			w.pod("1", "n1", "a", 1)
			w.pod("2", "", "a", 1, unbound(start+10*second))
		}, 129, map[string]string{}, 130},
		{"the queue may have more patience", func(w *world) {
			q := queue(4)
			q.PlacementTimeoutSeconds = 500
			w.catalog.Queues["research"] = q
			running(w)
			w.pod("1", "", "a", 1, unbound(start))
		}, 130, map[string]string{}, 500},
		{"once all pods were bound a lost one is no reason", func(w *world) {
			running(w)
			w.pod("1", "n1", "a", 1)
			w.pod("2", "n1", "a", 1)
			w.book.DeletePod("pod-2")
			w.pod("3", "", "a", 1, unbound(start))
		}, 1000, map[string]string{}, 1800},
		{"a Job of which no pod could be made is taken back", func(w *world) { running(w) },
			120, map[string]string{"a": "BackingOff: no pod of it could be made within 120 s. " +
				"Try: kubectl describe job (a ResourceQuota or an invalid template)"}, 1800},
		{"a Job whose only pods ended is not one that makes none", func(w *world) {
			running(w)
			w.pod("1", "n1", "a", 1)
			w.book.DeletePod("pod-1")
		}, 300, map[string]string{}, 1800},
		{"pods that are not ready in time take the gang back", func(w *world) {
			running(w)
			w.pod("1", "n1", "a", 1, ready)
			w.pod("2", "n1", "a", 1)
		}, 1800, map[string]string{"a": "BackingOff: only 1 of 2 pods ready within 1800 s"}, 0},
		{"pods that were ready once may be anything later", func(w *world) {
			running(w)
			w.pod("1", "n1", "a", 1, ready)
			w.pod("2", "n1", "a", 1, ready)
			w.pod("2", "n1", "a", 1)
		}, 5000, map[string]string{}, 0},
		{"quick pods that were never ready together count as ready when they ended", func(w *world) {
			running(w)
			w.pod("1", "n1", "a", 1, ready)
			w.book.DeletePod("pod-1")
			w.pod("2", "n1", "a", 1, ready)
		}, 5000, map[string]string{}, 0},
		{"of a Job that was made smaller only what it wants now has to be ready", func(w *world) {
			running(w, func(j *demand.Job) {
				j.PodSets = []demand.PodSet{{Name: "main", Count: 1, Requests: j.PodSets[0].Requests}}
			})
			w.pod("1", "n1", "a", 1, ready)
		}, 5000, map[string]string{}, 0},
		{"after a restart the clocks start again", func(w *world) {
			running(w)
			w.pod("1", "", "a", 1, unbound(start))
			w.in.Since = start + 100*second
		}, 150, map[string]string{}, 220},
		{"pods that ended before it was admitted say nothing of those that come now", func(w *world) {
			ranBefore(w)
			w.pod("1", "n1", "a", 1)
			w.pod("2", "", "a", 1, unbound(start))
		}, 120, map[string]string{"a": "BackingOff: 1 pod found no node within 120 s"}, 0},
		{"nor that any were made", ranBefore, 120,
			map[string]string{"a": "BackingOff: no pod of it could be made within 120 s. Try: kubectl describe job (a ResourceQuota or an invalid template)"}, 0},
		{"a hold by the owner takes a running Job back", func(w *world) {
			running(w, func(j *demand.Job) { j.HeldByOwner = true })
		}, 1, map[string]string{"a": "HeldByOwner: annotation holdshort.dev/hold is set. Try: remove it"}, 0},
		{"a Job that somebody may lift past the queue is never taken back", func(w *world) {
			running(w, func(j *demand.Job) { j.Bypass, j.HeldByOwner = true, true })
		}, 9999, map[string]string{}, 0},
		{"a Job with a write in flight is left alone", func(w *world) {
			running(w, func(j *demand.Job) { j.HeldByOwner = true })
			w.in.Busy = map[string]bool{"uid-a": true}
		}, 1, map[string]string{}, 0},
		{"a Job that ran before is charged and left alone", func(w *world) {
			unreserved()(w)
			w.pod("1", "n1", "a", 1)
		}, 9999, map[string]string{}, 0},
		{"without a pod it is suspended at once", unreserved(), 0,
			map[string]string{"a": "BehindOthers: it ran without having been admitted; it waits in queue research like any other"}, 0},
		{"but not if it had pods that ended", unreserved(func(j *demand.Job) { j.Ended = 1 }), 0, map[string]string{}, 0},
		{"nor if it is being deleted", unreserved(func(j *demand.Job) { j.Deleting = true }), 0, map[string]string{}, 0},
		{"the policy may want it suspended, pods or not", func(w *world) {
			w.catalog.Unreserved = policies.UnreservedSuspend
			unreserved()(w)
			w.pod("1", "n1", "a", 1)
		}, 0, map[string]string{"a": "BehindOthers: it ran without having been admitted; it waits in queue research like any other"}, 0},
		{"without a policy nobody knows, so nothing is touched", func(w *world) {
			unreserved()(w)
			w.catalog = nil
		}, 0, map[string]string{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, wake := c.plan(t); len(c.want) == 0 && wake != c.wake {
				t.Errorf("wakes after %d s, want %d", wake, c.wake)
			}
		})
	}
}

// recovering lets a Job of two pods get ready, and one pod go ten seconds later.
func recovering(w *world, seconds int64, change ...func(*demand.Job)) {
	q := queue(4)
	q.RecoveryTimeoutSeconds = seconds
	w.catalog.Queues["research"] = q
	running(w, change...)
	w.pod("1", "n1", "a", 1, ready)
	w.pod("2", "n1", "a", 1, ready)
	w.book.Tick(start)
	w.book.DeletePod("pod-2")
	w.book.Tick(start + 10*second)
}

func TestTakeBackWhatDoesNotRecover(t *testing.T) {
	for _, c := range []takeBackCase{
		{"a gang that lost a pod is taken back", func(w *world) { recovering(w, 60) }, 70,
			map[string]string{"a": "BackingOff: only 1 of 2 pods ready, and not all of them again within 60 s"}, 0},
		{"not before it is time", func(w *world) { recovering(w, 60) }, 69, map[string]string{}, 70},
		{"nor where the queue does not say so", func(w *world) { recovering(w, 0) }, 100_000, map[string]string{}, 0},
		{"a pod that is ready again ends it", func(w *world) {
			recovering(w, 60)
			w.pod("3", "n1", "a", 1, ready)
		}, 100, map[string]string{}, 0},
		{"and the next loss has a time of its own", func(w *world) {
			recovering(w, 60)
			w.pod("3", "n1", "a", 1, ready)
			w.book.DeletePod("pod-1")
			w.book.Tick(start + 50*second)
		}, 100, map[string]string{}, 110},
		{"a loss that the book has not been told the time of is one of now", func(w *world) {
			recovering(w, 60)
			w.pod("3", "n1", "a", 1, ready)
			w.book.DeletePod("pod-1")
		}, 100, map[string]string{}, 160},
		{"a pod that is there and not ready is as good as lost", func(w *world) {
			recovering(w, 60)
			w.pod("3", "n1", "a", 1)
		}, 70, map[string]string{"a": "BackingOff: only 1 of 2 pods ready, and not all of them again within 60 s"}, 0},
		{"a pod that ended well is no loss", func(w *world) {
			recovering(w, 60)
			change(w, func(j *demand.Job) { j.Succeeded, j.Ended, j.PodSets[0].Count = 1, 1, 1 })
		}, 100, map[string]string{}, 0},
		{"of a Job that runs in waves those that ended well count as there", func(w *world) {
			recovering(w, 60)
			change(w, func(j *demand.Job) { j.Succeeded, j.Ended = 1, 1 })
			w.pod("3", "n1", "a", 1)
		}, 100, map[string]string{}, 0},
		{"those that ended well before it was admitted do not", func(w *world) {
			recovering(w, 60, func(j *demand.Job) {
				r := *j.Reservation
				r.Succeeded, r.Ended = 3, 3
				j.Reservation, j.Succeeded, j.Ended = &r, 3, 3
			})
		}, 70, map[string]string{"a": "BackingOff: only 1 of 2 pods ready, and not all of them again within 60 s"}, 0},
		{"while others end well it is given more time", func(w *world) {
			recovering(w, 60)
			w.book.DeletePod("pod-1")
			change(w, func(j *demand.Job) { j.Succeeded, j.Ended, j.PodSets[0].Count = 1, 1, 1 })
			w.book.Tick(start + 50*second)
		}, 100, map[string]string{}, 110},
		{"after a restart the clock starts again", func(w *world) {
			recovering(w, 60)
			w.in.Since = start + 50*second
		}, 100, map[string]string{}, 110},
		{"a Job that was lifted past the queue is left alone", func(w *world) {
			recovering(w, 60, func(j *demand.Job) { j.Bypass = true })
		}, 100, map[string]string{}, 0},
		{"a Job that is over is not looked at", func(w *world) {
			recovering(w, 60)
			change(w, func(j *demand.Job) { j.Finished = true })
		}, 100, map[string]string{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, wake := c.plan(t); len(c.want) == 0 && wake != c.wake {
				t.Errorf("wakes after %d s, want %d", wake, c.wake)
			}
		})
	}
}

// change brings in another version of the Job a.
func change(w *world, f func(*demand.Job)) {
	j := *w.book.Job("uid-a")
	j.PodSets = slices.Clone(j.PodSets)
	f(&j)
	w.book.SetJob(&j)
}
