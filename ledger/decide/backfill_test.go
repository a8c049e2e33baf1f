package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

func within(seconds int64) func(*demand.Job) {
	return func(j *demand.Job) { j.Policy = &policies.Workload{ActiveDeadlineSec: seconds} }
}

// backfilled has 4 GPUs on one node, half of them in use for 100 s.
func backfilled(t testing.TB) *world {
	w := newWorld(t)
	q := queue(4)
	q.Strategy = policies.Backfill
	w.catalog.Queues["research"] = q
	other := queue(4)
	w.catalog.Queues["other"] = other
	w.node("n1", 4)
	w.runs(w.job("runs", 2, 1, within(100)), "n1")
	w.in.Now = start + 10*second
	return w
}

// beside has 5 GPUs, two of them in use by another queue for 50 s, and quota for all
// of them, but for so many Jobs only.
func (w *world) beside(most int64) {
	q := w.catalog.Queues["research"]
	q.MaxWorkloads, q.Quota = &most, queue(8).Quota
	w.catalog.Queues["research"] = q
	w.node("n1", 5)
	w.runs(w.job("elsewhere", 2, 1, in("other"), within(50)), "n1")
}

func TestOnlyWhoIsNotInTheWayOvertakesTheHead(t *testing.T) {
	const at = " at the latest. Try: a shorter spec.activeDeadlineSeconds, if that is true of it"
	const never = " at the latest. Try: a spec.activeDeadlineSeconds that is over by then, if that is true of it"
	head := "WaitingForQuota: research uses 2 of 4 nvidia.com/gpu on gpu; 4 asked, 2 left"
	for _, c := range []struct {
		name   string
		given  func(*world)
		starts []string
		waits  map[string]string
	}{
		{"one that is over by then", func(w *world) {
			w.job("big", 4, 1)
			w.job("short", 1, 1, within(90))
		}, []string{"short"}, map[string]string{"big": head}},
		{"one that its user stops by then", func(w *world) {
			w.job("big", 4, 1)
			w.job("stopped", 1, 1, within(1000), atMost(90))
		}, []string{"stopped"}, map[string]string{"big": head}},
		{"one that has run before, and has no more left than that", func(w *world) {
			w.job("big", 4, 1)
			w.job("goes on", 1, 1, atMost(190), func(j *demand.Job) { j.Ran = 100 * second })
		}, []string{"goes on"}, map[string]string{"big": head}},
		{"not one that is not", func(w *world) {
			w.job("big", 4, 1)
			w.job("long", 1, 1, within(92))
		}, []string{}, map[string]string{"big": head, "long": "BehindOthers: it would be in the way of team/big, which starts at 1970-01-01T00:18:21Z" + at}},
		{"nor one of which nobody knows when it ends", func(w *world) {
			w.job("big", 4, 1)
			w.job("endless", 1, 1)
		}, []string{}, map[string]string{"big": head, "endless": "BehindOthers: it would be in the way of team/big, which starts at 1970-01-01T00:18:21Z" + never}},
		{"but one that the head leaves room for", func(w *world) {
			w.job("three", 3, 1)
			w.job("beside", 1, 1)
			w.job("too much", 1, 1)
		}, []string{"beside"}, map[string]string{
			"three":    "WaitingForQuota: research uses 3 of 4 nvidia.com/gpu on gpu; 3 asked, 1 left",
			"too much": "BehindOthers: it would be in the way of team/three, which starts at 1970-01-01T00:18:21Z" + never,
		}},
		{"nor one that takes the last place of the queue", func(w *world) {
			w.beside(2)
			w.job("two", 2, 1)
			w.job("endless", 1, 1)
		}, []string{}, map[string]string{
			"two":     "WaitingForMachines: 2 nvidia.com/gpu asked, 1 free on the machines of gpu",
			"endless": "BehindOthers: it would be in the way of team/two, which starts at 1970-01-01T00:17:32Z" + never,
		}},
		{"but one that gives it back by then", func(w *world) {
			w.beside(2)
			w.job("two", 2, 1)
			w.job("short", 1, 1, within(30))
		}, []string{"short"}, map[string]string{"two": "WaitingForQuota: research runs as many Jobs as it may at once (maxWorkloads: 2)"}},
		{"and one for whom there is a place, too", func(w *world) {
			w.beside(3)
			w.job("two", 2, 1)
			w.job("endless", 1, 1)
		}, []string{"endless"}, map[string]string{
			"two": "WaitingForMachines: 2 nvidia.com/gpu asked, 1 free on the machines of gpu, with 1 pod of others still to be placed there",
		}},
		{"in another queue, too", func(w *world) {
			w.job("big", 4, 1)
			w.job("stranger", 1, 1, in("other"))
		}, []string{}, map[string]string{"big": head, "stranger": "BehindOthers: it would be in the way of team/big, which starts at 1970-01-01T00:18:21Z" + never}},
		{"but not one that needs nothing but its queue's own, where the head has to borrow", func(w *world) {
			for _, name := range []string{"research", "other"} {
				q := w.catalog.Queues[name]
				q.Cohort, q.Quota = "all", map[string]map[string]policies.Limit{"gpu": {gpu: {Nominal: 2}}}
				w.catalog.Queues[name] = q
			}
			w.job("big", 3, 1)
			w.job("owner", 2, 1, in("other"))
		}, []string{"owner"}, map[string]string{
			"big": "WaitingForQuota: research uses 2 of 2 nvidia.com/gpu on gpu; 3 asked, 2 left in cohort all, where nobody else borrows",
		}},
		{"whoever ranks before it does as he likes", func(w *world) {
			w.job("big", 4, 1)
			w.ranked(w.job("important", 2, 1, in("other")), 1)
		}, []string{"important"}, map[string]string{
			"big": "WaitingForQuota: research uses 2 of 4 nvidia.com/gpu on gpu; 4 asked, 2 left",
		}},
		{"nobody, where it is not known when the head can start", func(w *world) {
			w.runs(w.job("endless", 1, 1), "n1")
			w.in.Now = start + 10*second
			w.job("big", 4, 1)
			w.job("short", 1, 1, within(1))
		}, []string{}, map[string]string{
			"big":   "WaitingForQuota: research uses 3 of 4 nvidia.com/gpu on gpu; 4 asked, 1 left",
			"short": "BehindOthers: research is strict about order, and team/big is before it and does not fit yet",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := backfilled(t)
			c.given(w)
			r := w.plan()
			if diff := cmp.Diff(c.starts, started(r)); diff != "" {
				t.Errorf("who starts (-want +got):\n%s", diff)
			}
			waits := said(r)
			if _, asked := c.waits["big"]; asked && len(r.Admit) > 0 {
				waits["big"] = c.waits["big"] // its numbers are those after the plan
			}
			if diff := cmp.Diff(c.waits, waits); diff != "" {
				t.Errorf("who waits and why (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNothingDelaysTheHead plays whole clusters in which every Job runs as long as
// it may: who was once told when it starts at the latest, starts by then.
func TestNothingDelaysTheHead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, 2)
		c.pods = nil // nobody comes who does not queue
		for _, j := range c.jobs {
			j.Policy = &policies.Workload{ActiveDeadlineSec: rapid.Int64Range(1, 9).Draw(t, "runs for")}
			if rapid.IntRange(0, 5).Draw(t, "says so") == 0 {
				j.Policy = nil
			}
			if rapid.IntRange(0, 3).Draw(t, "or else") == 0 {
				j.MaxRuntimeSec = rapid.Int64Range(3, 9).Draw(t, "in all")
				j.Ran = rapid.Int64Range(0, 2).Draw(t, "of which it had") * second
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.catalog.Queues)) {
			q := c.catalog.Queues[name]
			if q.Strategy = policies.Backfill; rapid.IntRange(0, 2).Draw(t, "has a cap") == 0 {
				most := rapid.Int64Range(1, 3).Draw(t, "most Jobs")
				q.MaxWorkloads = &most
			}
			c.catalog.Queues[name] = q
		}
		b := c.book(nil)
		promised, ends := map[string]int64{}, map[string]int64{}
		for now := start; now < start+1000*second; now += second {
			endJobs(b, c.jobs, ends, now)
			in := c.input(b)
			in.Now = now
			r := decide.Plan(in)
			for _, a := range r.Admit {
				if by := promised[a.Job.UID]; by > 0 && now > by {
					t.Fatalf("%s starts at %d, and was to start by %d", a.Job.Name, (now-start)/second, (by-start)/second)
				}
				running := *a.Job
				running.Suspended, running.Reservation = false, &a.Reservation
				b.SetJob(&running)
				if a.Job.Policy != nil {
					ends[a.Job.UID] = now + a.Job.Policy.ActiveDeadlineSec*second
				}
				if most := a.Job.MaxRuntimeSec; most > 0 {
					ends[a.Job.UID] = demand.Shorter(ends[a.Job.UID], now+most*second-a.Job.Ran)
				}
			}
			for _, w := range r.Waiting {
				if by := promised[w.UID]; by > 0 && now >= by {
					t.Fatalf("%s waits at %d, and was to start by %d: %s", w.Key, (now-start)/second, (by-start)/second, w.Reason.Message)
				}
				if w.StartBy > 0 && (promised[w.UID] == 0 || w.StartBy < promised[w.UID]) {
					promised[w.UID] = w.StartBy
				}
			}
			if len(ends) == 0 {
				return
			}
		}
		t.Fatal("it never ends: " + fmt.Sprint(ends))
	})
}

func endJobs(b *book.Book, jobs []*demand.Job, ends map[string]int64, now int64) {
	for uid, at := range ends {
		if at > now {
			continue
		}
		delete(ends, uid)
		i := slices.IndexFunc(jobs, func(j *demand.Job) bool { return j.UID == uid })
		over := *jobs[i]
		over.Finished, over.Suspended = true, false
		b.SetJob(&over)
	}
}
