package decide_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// late has red use all that there is, one of its Jobs for longer than it may, and
// blue want back what is its own.
func late(t testing.TB) (w *world, fails *demand.Job) {
	w = shared(t)
	w.runs(w.job("fails", 4, 1, in("red"), func(j *demand.Job) { j.MaxRuntimeSec = 60 }), "n1")
	w.runs(w.job("other", 4, 1, in("red")), "n2")
	w.job("owner", 4, 1, in("blue"))
	w.in.Now = start + 61*second
	return w, w.book.Job("uid-fails")
}

// stopped is a Job that was suspended, as the API server has it.
func stopped(j *demand.Job, seen bool) *demand.Job {
	next := *j
	next.Suspended, next.Reservation, next.Started = true, nil, !seen
	return &next
}

// podsTold has the pods of a Job told to go.
func (w *world) podsTold(name string, count int, since int64) {
	for i := range count {
		w.pod(fmt.Sprint(name, i), "n1", name, 1, tagged("red"), func(p *supply.Pod) { p.Deleting, p.DeletingSince = true, since })
	}
}

func TestNobodyIsDisplacedForWhatComesFreeAnyway(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(*world, *demand.Job)
		goes  []string // for the owner
	}{
		{"a Job is taken back by the same plan", func(*world, *demand.Job) {}, nil},
		{"its suspension is being written", func(w *world, j *demand.Job) {
			w.in.Busy = map[string]bool{j.UID: true}
			w.book.Stop(j.UID)
		}, nil},
		{"its suspension could not be written, and it may go on", func(w *world, j *demand.Job) {
			w.book.Stop(j.UID)
			w.book.Settle(j.UID)
			w.in.Now = start + 10*second
		}, []string{"other"}},
		{"the Job controller has not seen that it is suspended", func(w *world, j *demand.Job) {
			w.book.SetJob(stopped(j, false))
		}, nil},
		{"its pods are ending", func(w *world, j *demand.Job) {
			w.book.SetJob(stopped(j, true))
			w.podsTold("fails", 4, start+61*second)
		}, nil},
		{"one of its pods was not told to go", func(w *world, j *demand.Job) {
			w.book.SetJob(stopped(j, true))
			w.podsTold("fails", 3, start+61*second)
		}, []string{"other"}},
		{"its pods have been ending for ten minutes", func(w *world, j *demand.Job) {
			w.book.SetJob(stopped(j, true))
			w.podsTold("fails", 4, start+61*second-600*second)
		}, []string{"other"}},
		{"nobody knows how long its pods have been ending", func(w *world, j *demand.Job) {
			w.book.SetJob(stopped(j, true))
			w.podsTold("fails", 4, 0)
		}, []string{"other"}},
		{"it was deleted, and its pods are ending", func(w *world, j *demand.Job) {
			w.podsTold("fails", 4, start+61*second)
			w.book.DeleteJob(j.UID)
		}, nil},
		{"it is over, and its pods are ending", func(w *world, j *demand.Job) {
			over := *j
			over.Finished, over.Terminating = true, 4
			w.book.SetJob(&over)
			w.podsTold("fails", 4, start+61*second)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, j := late(t)
			c.given(w, j)
			r := w.plan()
			var goes []string
			for _, s := range r.Suspend {
				if s.Preempted != nil {
					goes = append(goes, s.Job.Name)
				}
			}
			if diff := cmp.Diff(c.goes, goes); diff != "" {
				t.Errorf("who makes room for the owner (-want +got):\n%s", diff)
			}
			if len(r.Admit) > 0 {
				t.Errorf("%v starts on GPUs that are in use", started(r))
			}
			want := "MakingRoom: there is room for it once pods of others are gone that are ending"
			if got := said(r)["owner"]; len(c.goes) == 0 && got != want {
				t.Errorf("the owner is told %q, want %q", got, want)
			}
		})
	}
}

// What comes free is the first one's in line, who starts when it is free.
func TestRoomThatComesFreeIsKeptForWhoIsFirst(t *testing.T) {
	w, j := late(t)
	w.book.SetJob(stopped(j, true))
	w.podsTold("fails", 4, w.in.Now)
	w.podsGo("fails", 1)
	w.job("sneaky", 1, 1, in("blue"))
	if r := w.plan(); len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("while pods end, %v starts and %v is taken back", started(r), r.Suspend)
	}
	w.podsGo("fails", 4)
	if diff := cmp.Diff([]string{"owner"}, started(w.plan())); diff != "" {
		t.Errorf("who starts (-want +got):\n%s", diff)
	}
}

// A Job that goes anyway ends once: what it holds is not counted as free for a second
// time when its deadline comes.
func TestWhatComesFreeIsNotBookedTwice(t *testing.T) {
	w := newWorld(t)
	q := w.catalog.Queues["research"]
	q.Strategy = policies.Backfill
	w.catalog.Queues["research"] = q
	w.node("n1", 4)
	ends := func(seconds int64) func(*demand.Job) {
		return func(j *demand.Job) { j.Policy = &policies.Workload{ActiveDeadlineSec: seconds} }
	}
	w.runs(w.job("fails", 2, 1, ends(100), func(j *demand.Job) { j.MaxRuntimeSec = 60 }), "n1")
	w.runs(w.job("goes on", 2, 1, ends(1000)), "n1")
	w.job("head", 4, 1)
	w.in.Now = start + 61*second
	head := w.plan().Waiting[0]
	if got, want := head.StartBy, start+1002*second; head.UID != "uid-head" || got != want {
		t.Errorf("%s starts by %d, want the head by %d", head.UID, (got-start)/second, (want-start)/second)
	}
}

// Where the big one is to go there is one GPU free already, and one elsewhere. A gang
// of two small pods fits there now, and both could land where the big one is to go.
func TestWhatFitsNowDoesNotTakeTheRoomThatOthersGetLater(t *testing.T) {
	w := newWorld(t)
	q := queue(8)
	q.Preemption.WithinQueue = policies.VictimsLowerPriority
	w.catalog.Queues["research"] = q
	w.node("n1", 4)
	w.node("n2", 1)
	w.runs(w.job("goes", 1, 3), "n1")
	w.ranked(w.job("big", 1, 3), 1)
	if diff := cmp.Diff([]string{"goes"}, w.takeBack(w.plan())); diff != "" {
		t.Fatalf("who makes room (-want +got):\n%s", diff)
	}
	w.job("small", 2, 1)
	if r := w.plan(); len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("while room is being made, %v starts and %v is taken back", started(r), r.Suspend)
	}
	w.podsGo("goes", 1)
	if diff := cmp.Diff([]string{"big"}, started(w.plan())); diff != "" {
		t.Errorf("who starts in the room (-want +got):\n%s", diff)
	}
}
