package decide_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// shared is two queues of one cohort, with 4 GPUs each on two nodes of 4.
func shared(t testing.TB, change ...func(*policies.Queue)) *world {
	w := newWorld(t)
	w.catalog.Queues = map[string]policies.Queue{}
	for _, name := range []string{"blue", "red"} {
		q := queue(4)
		q.Cohort = "all"
		q.Preemption = policies.Preemption{WithinQueue: policies.VictimsLowerPriority, ReclaimWithinCohort: policies.VictimsAny}
		for _, f := range change {
			f(&q)
		}
		w.catalog.Queues[name] = q
	}
	w.node("n1", 4)
	w.node("n2", 4)
	return w
}

func in(queue string) func(*demand.Job) {
	return func(j *demand.Job) { j.Queue = queue }
}

func (w *world) ranked(j *demand.Job, priority int64) *demand.Job {
	w.verdicts[j.UID] = decide.Outcome{Verdict: policies.Verdict{Queue: j.Queue, Priority: priority}}
	return j
}

// runs lets a Job go and binds its pods to a node.
func (w *world) runs(j *demand.Job, node string) {
	w.t.Helper()
	w.in.Now = start + w.arrived*second
	r := w.plan()
	at := slices.IndexFunc(r.Admit, func(a effect.Admit) bool { return a.Job.UID == j.UID })
	if at < 0 {
		w.t.Fatalf("%s does not start: %v", j.Name, said(r))
	}
	w.admitAs(j, r.Admit[at].Reservation)
	for i := range j.PodSets[0].Count {
		w.pod(fmt.Sprint(j.Name, i), node, j.Name, j.PodSets[0].Requests[gpu], tagged(j.Queue))
	}
}

// takeBack suspends who is to make room; the pods are still there.
func (w *world) takeBack(r decide.Result) []string {
	var names []string
	for _, s := range r.Suspend {
		names = append(names, s.Job.Name)
		stopped := *s.Job
		stopped.Suspended, stopped.Reservation, stopped.Preempted = true, nil, s.Preempted
		stopped.Started = false
		w.book.SetJob(&stopped)
	}
	return names
}

func (w *world) podsGo(name string, count int) {
	for i := range count {
		w.book.DeletePod(fmt.Sprint("pod-", name, i))
	}
}

func TestAQueueBorrowsWhatItsCohortLeaves(t *testing.T) {
	w := shared(t)
	w.job("big", 4, 2, in("red"))
	w.job("more", 1, 1, in("red"))
	r := w.plan()
	if diff := cmp.Diff([]string{"big"}, started(r)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{
		"more": "WaitingForQuota: red uses 8 of 4 nvidia.com/gpu on gpu; 1 asked, 0 left in cohort all, where nobody else borrows",
	}, said(r)); diff != "" {
		t.Error(diff)
	}
}

// The owner's Job evicts, waits until the last pod is gone, and nobody, not even
// the victim, gets there before it.
func TestAnOwnerTakesBackWhatItLent(t *testing.T) {
	w := shared(t)
	w.runs(w.job("first", 2, 2, in("red")), "n1")
	w.runs(w.job("lent", 2, 2, in("red")), "n2")
	w.job("owner", 2, 2, in("blue"))
	r := w.plan()
	if diff := cmp.Diff([]string{"lent"}, w.takeBack(r)); diff != "" {
		t.Fatalf("who makes room (-want +got):\n%s", diff)
	}
	if len(r.Admit) > 0 {
		t.Errorf("%v starts before the pods are gone", started(r))
	}
	w.job("sneaky", 1, 1, in("red"), func(j *demand.Job) { j.Arrival.Effective = 1 })
	r = w.plan()
	if len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("while the pods are going, %v starts and %v is taken back", started(r), r.Suspend)
	}
	if got, want := said(r)["owner"], "MakingRoom: 1 Job taken back for it, pods not gone yet"; got != want {
		t.Errorf("the owner is told %q, want %q", got, want)
	}
	if got, want := said(r)["lent"], "Preempted: 2 pods of its last run not gone yet"; got != want {
		t.Errorf("who makes room is told %q, want %q", got, want)
	}
	w.podsGo("lent", 2)
	r = w.plan()
	if diff := cmp.Diff([]string{"owner"}, started(r)); diff != "" {
		t.Errorf("who starts in the room (-want +got):\n%s", diff)
	}
	w.carryOut(r)
	if r = w.plan(); len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("afterwards %v starts and %v is taken back", started(r), r.Suspend)
	}
}

// Pods of a victim that no scheduler has bound yet may be bound as long as they are
// there: they are going, too.
func TestRoomIsKeptWhilePodsGoThatWereNeverBound(t *testing.T) {
	w := shared(t)
	w.runs(w.job("first", 2, 2, in("red")), "n1")
	w.runs(w.job("lent", 2, 2, in("red")), "")
	w.job("owner", 2, 2, in("blue"))
	if diff := cmp.Diff([]string{"lent"}, w.takeBack(w.plan())); diff != "" {
		t.Fatalf("who makes room (-want +got):\n%s", diff)
	}
	w.job("sneaky", 1, 1, in("red"), func(j *demand.Job) { j.Arrival.Effective = 1 })
	r := w.plan()
	if len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("while the pods are going, %v starts and %v is taken back", started(r), r.Suspend)
	}
	if got, want := said(r)["owner"], "MakingRoom: 1 Job taken back for it, pods not gone yet"; got != want {
		t.Errorf("the owner is told %q, want %q", got, want)
	}
	w.podsGo("lent", 2)
	if diff := cmp.Diff([]string{"owner"}, started(w.plan())); diff != "" {
		t.Errorf("who starts in the room (-want +got):\n%s", diff)
	}
}

// Who waits for the last pods of one that made room goes on waiting for them when the
// one that it made room for starts before that.
func TestWhatIsLeftOfAVictimIsNotForgottenWhenItsPreemptorStarts(t *testing.T) {
	w := shared(t)
	w.runs(w.job("first", 2, 2, in("red")), "n1")
	w.runs(w.job("lent", 2, 2, in("red")), "n2")
	w.job("owner", 1, 1, in("blue"))
	w.takeBack(w.plan())
	w.job("next", 1, 3, in("blue"))
	w.job("late", 1, 1, in("red"))
	w.book.DeletePod("pod-lent0")
	r := w.plan()
	if diff := cmp.Diff([]string{"owner"}, started(r)); diff != "" {
		t.Fatalf("who starts in what is free by now (-want +got):\n%s", diff)
	}
	w.carryOut(r)
	if r = w.plan(); len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("nothing happened but that, and %v starts and %v is taken back", started(r), r.Suspend)
	}
	w.podsGo("lent", 2)
	if diff := cmp.Diff([]string{"next"}, started(w.plan())); diff != "" {
		t.Errorf("who starts in the rest (-want +got):\n%s", diff)
	}
}

func TestRoomIsKeptWhileASuspensionIsBeingWritten(t *testing.T) {
	w := shared(t)
	w.runs(w.job("first", 2, 2, in("red")), "n1")
	w.runs(w.job("lent", 2, 2, in("red")), "n2")
	w.job("owner", 2, 2, in("blue"))
	r := w.plan()
	w.book.Evict(*r.Suspend[0].Preempted)
	w.in.Busy = map[string]bool{r.Suspend[0].Job.UID: true}
	if r = w.plan(); len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("%v starts and %v is taken back", started(r), r.Suspend)
	}
	w.book.Settle("uid-lent") // the write failed: all as before
	w.in.Busy = nil
	if r = w.plan(); len(r.Suspend) != 1 || r.Suspend[0].Job.Name != "lent" {
		t.Errorf("taken back: %v", r.Suspend)
	}
}

func TestAMoreImportantJobTakesTheCheapestPlaceThatHasMachines(t *testing.T) {
	w := shared(t)
	w.catalog.Queues["blue"] = queue(8)
	blue := w.catalog.Queues["blue"]
	blue.Preemption.WithinQueue = policies.VictimsLowerPriority
	w.catalog.Queues["blue"] = blue
	// Two small ones on one node would be cheapest by priority, but only the whole
	// other node takes pods of four.
	w.runs(w.ranked(w.job("small-a", 1, 2, in("blue")), 1), "n1")
	w.runs(w.ranked(w.job("dear", 1, 2, in("blue")), 9), "n1")
	w.runs(w.ranked(w.job("whole", 1, 4, in("blue")), 2), "n2")
	w.ranked(w.job("urgent", 1, 4, in("blue")), 5)
	r := w.plan()
	if diff := cmp.Diff([]string{"whole"}, w.takeBack(r)); diff != "" {
		t.Errorf("who makes room (-want +got):\n%s\n%v", diff, said(r))
	}
}

// Of two resources, one is to be had by borrowing, the other by displacing. A queue that
// would rather displace takes borrowing for the worse of the two, and displaces all the
// same.
func TestAJobThatBorrowsOneResourceDisplacesForTheOther(t *testing.T) {
	w := shared(t, func(q *policies.Queue) {
		q.Quota["gpu"]["cpu"] = policies.Limit{Nominal: 4000}
		q.Fungibility.Preference = policies.PreemptionOverBorrowing
	})
	for _, name := range []string{"n1", "n2"} {
		w.node(name, 4, func(n *supply.Node) { n.Allocatable["cpu"] = 16_000 })
	}
	cores := func(n int64) func(*demand.Job) {
		return func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = n }
	}
	w.runs(w.ranked(w.job("low", 1, 0, in("blue"), cores(8000)), 1), "n1")
	w.ranked(w.job("high", 2, 3, in("blue"), cores(500)), 2)
	r := w.plan()
	if diff := cmp.Diff([]string{"low"}, w.takeBack(r)); diff != "" {
		t.Errorf("who makes room (-want +got):\n%s\n%v", diff, said(r))
	}
}

func TestNobodyIsTakenBackForAJobThatIsHeld(t *testing.T) {
	w := shared(t)
	w.runs(w.job("first", 2, 2, in("red")), "n1")
	w.runs(w.job("lent", 2, 2, in("red")), "n2")
	w.job("owner", 2, 2, in("blue"))
	w.in.AskHold = true
	r := w.plan()
	if len(r.Suspend) > 0 || !slices.Equal(r.Asks, []string{"uid-owner"}) {
		t.Errorf("asks %v, takes back %v", r.Asks, r.Suspend)
	}
	w.in.Holds = map[string]decide.HoldAnswer{"uid-owner": {}}
	if r = w.plan(); len(r.Suspend) != 1 {
		t.Errorf("once it may start, taken back: %v", r.Suspend)
	}
}

func TestWhoMayNotBeTakenBack(t *testing.T) {
	no := false
	for _, c := range []struct {
		name    string
		verdict policies.Verdict
		at      int64
		goes    bool
	}{
		{"anybody by default", policies.Verdict{Queue: "red"}, 0, true},
		{"not one that the policy does not let go", policies.Verdict{Queue: "red", Preemptible: &no}, 0, false},
		{"not one that has not run for so long yet", policies.Verdict{Queue: "red", MinRuntimeSeconds: 60}, start + 60*second, false},
		{"but one that has", policies.Verdict{Queue: "red", MinRuntimeSeconds: 60}, start + 62*second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := shared(t)
			w.runs(w.job("a", 2, 2, in("red")), "n1")
			w.runs(w.job("b", 2, 2, in("red")), "n2")
			for _, name := range []string{"uid-a", "uid-b"} {
				w.verdicts[name] = decide.Outcome{Verdict: c.verdict}
			}
			w.job("owner", 2, 2, in("blue"))
			w.in.Now = c.at
			r := w.plan()
			if goes := len(r.Suspend) == 1; goes != c.goes {
				t.Errorf("taken back: %v", r.Suspend)
			}
			if wakes := r.WakeAt == start+61*second; c.verdict.MinRuntimeSeconds > 0 && !c.goes && !wakes {
				t.Errorf("the plan wakes at %d", r.WakeAt)
			}
		})
	}
}

// tagged is a pod that says whom to charge, as an admission writes it.
func tagged(queue string) func(*supply.Pod) {
	return func(p *supply.Pod) { p.Queue, p.Flavors = queue, map[string]string{"pods": "gpu", gpu: "gpu"} }
}

func TestARuleKeepsAJobFromMakingRoom(t *testing.T) {
	w := shared(t)
	w.runs(w.job("dear", 2, 2, in("red")), "n1")
	w.runs(w.job("cheap", 2, 2, in("red")), "n2")
	w.job("owner", 2, 2, in("blue"))
	w.in.AskProtect, w.in.Now = true, start+60*second
	r := w.plan()
	want := []decide.ProtectAsk{{
		Displacement: decide.Displacement{Victim: "uid-cheap", By: "uid-owner"}, Admitted: start + 2*second,
		Flavors: []string{"gpu"}, Borrowing: true,
	}}
	if diff := cmp.Diff(want, r.AskProtect); diff != "" || len(r.Suspend) > 0 {
		t.Fatalf("takes back %v before it has asked; asks (-want +got):\n%s", r.Suspend, diff)
	}
	kept := &reason.Reason{Code: reason.HeldByPolicy, Message: "not now", Until: start + 90*second}
	w.in.Protects = map[decide.Displacement]decide.ProtectAnswer{want[0].Displacement: {Reason: kept}}
	r = w.plan()
	if len(r.AskProtect) != 1 || r.AskProtect[0].Victim != "uid-dear" || r.WakeAt != kept.Until {
		t.Errorf("then it asks about %v and wakes at %d", r.AskProtect, r.WakeAt)
	}
	w.in.Protects[decide.Displacement{Victim: "uid-dear", By: "uid-owner"}] = decide.ProtectAnswer{}
	r = w.plan()
	if len(r.AskProtect) > 0 || len(r.Suspend) != 1 || r.Suspend[0].Job.Name != "dear" {
		t.Errorf("asks %v, takes back %v", r.AskProtect, r.Suspend)
	}
	w.in.Protects[decide.Displacement{Victim: "uid-dear", By: "uid-owner"}] = decide.ProtectAnswer{Reason: kept}
	if r = w.plan(); len(r.Suspend)+len(r.AskProtect)+len(r.Admit) > 0 {
		t.Errorf("with all of them kept it asks %v, takes back %v", r.AskProtect, r.Suspend)
	}
}

func TestAQueueHasNoMoreJobsThanItMay(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4)
	most, q := int64(2), queue(4)
	q.MaxWorkloads = &most
	w.catalog.Queues["research"] = q
	w.runs(w.job("first", 1, 1), "n1")
	w.job("second", 1, 1)
	w.job("third", 1, 1)
	r := w.plan()
	if diff := cmp.Diff([]string{"second"}, started(r)); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"third": "WaitingForQuota: research runs as many Jobs as it may at once (maxWorkloads: 2)"}
	if diff := cmp.Diff(want, said(r)); diff != "" {
		t.Error(diff)
	}
}

// TestACountOfJobsGivesNoRightToDisplace: who has all rights waits until one of them
// ends, though quota and machines are full, too.
func TestACountOfJobsGivesNoRightToDisplace(t *testing.T) {
	for name, gpus := range map[string]int64{"with room for it": 8, "with no room for it": 4} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1", gpus)
			most, q := int64(2), queue(gpus)
			q.MaxWorkloads = &most
			q.Preemption.WithinQueue = policies.VictimsLowerPriority
			w.catalog.Queues["research"] = q
			w.runs(w.job("first", 2, 1), "n1")
			w.runs(w.job("second", 2, 1), "n1")
			w.job("urgent", 2, 1)
			w.priority("urgent", 9)
			r := w.plan()
			if len(r.Admit)+len(r.Suspend) > 0 {
				t.Errorf("%v starts, and %v is taken back", started(r), w.takeBack(r))
			}
			want := map[string]string{"urgent": "WaitingForQuota: research runs as many Jobs as it may at once (maxWorkloads: 2)"}
			if diff := cmp.Diff(want, said(r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAVictimWhosePodsNeverGoIsNoRoomForAnybody(t *testing.T) {
	w := shared(t)
	w.runs(w.job("other", 4, 1, in("red")), "n1")
	w.runs(w.job("stuck", 4, 1, in("red")), "n2")
	w.job("owner", 4, 1, in("blue"))
	if diff := cmp.Diff([]string{"stuck"}, w.takeBack(w.plan())); diff != "" {
		t.Fatalf("who makes room (-want +got):\n%s", diff)
	}
	w.job("behind", 1, 1, in("blue"))
	w.in.Now += 9 * 60 * second
	if r := w.plan(); len(r.Admit)+len(r.Suspend) > 0 {
		t.Errorf("while the pods go, %v starts and %v is taken back", started(r), w.takeBack(r))
	}
	w.in.Now += 60 * second
	r := w.plan()
	if len(r.Admit) > 0 {
		t.Errorf("%v starts on GPUs that are in use", started(r))
	}
	// Its pods count as if they stayed, and its queue still has more than its own.
	if diff := cmp.Diff([]string{"other"}, w.takeBack(r)); diff != "" {
		t.Fatalf("who makes room instead (-want +got):\n%s", diff)
	}
	w.podsGo("other", 4)
	if diff := cmp.Diff([]string{"owner"}, started(w.plan())); diff != "" {
		t.Errorf("who starts when those pods are gone (-want +got):\n%s", diff)
	}
}
