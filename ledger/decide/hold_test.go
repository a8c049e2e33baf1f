package decide_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

func TestHoldIsAskedOnlyForWhatCouldStartAndKeepsItsRoom(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.node("down", 2, func(n *supply.Node) { n.Ready = false; n.Capacity = n.Allocatable })
	w.in.AskHold = true
	w.job("a", 2, 1)
	w.job("b", 2, 1)
	w.job("c", 1, 1)
	got := w.plan()
	if diff := cmp.Diff([]string{"uid-a", "uid-b"}, got.Asks); diff != "" {
		t.Errorf("asks (-want +got):\n%s", diff)
	}
	if len(got.Admit) != 0 {
		t.Errorf("started before the answer: %v", started(got))
	}
	want := policies.Usage{
		Queue:   policies.ResourceUsage{gpu: {"gpu": {Used: 2, Reserved: 2, Nominal: 4, Limit: 4}}},
		Cohort:  policies.ResourceUsage{},
		User:    policies.ResourceUsage{gpu: {"gpu": {Used: 2, Reserved: 2, Nominal: 4, Limit: 4}}},
		Running: 1, Waiting: 2,
	}
	if diff := cmp.Diff(want, got.AskUsage["uid-b"]); diff != "" {
		t.Errorf("usage at the second ask counts the first (-want +got):\n%s", diff)
	}
	capacity := policies.CapacityAmount{Allocatable: 8, Unhealthy: 2, Promised: 4, Free: 8, LargestSlot: 8}
	if diff := cmp.Diff(capacity, got.AskCapacity["gpu"][gpu]); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}

	freeze := &reason.Reason{Code: reason.HeldByPolicy, Message: "ops.example/Freeze: no", Until: start + 60*second}
	w.in.Holds = map[string]decide.HoldAnswer{"uid-a": {Reason: freeze}, "uid-b": {}}
	got = w.plan()
	if diff := cmp.Diff([]string{"b"}, started(got)); diff != "" {
		t.Errorf("who starts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"uid-c"}, got.Asks); diff != "" {
		t.Errorf("a held Job keeps no room, so the next is asked about (-want +got):\n%s", diff)
	}
	for _, waiting := range got.Waiting {
		if inLine := waiting.Rank > 0; inLine != (waiting.UID == "uid-c") {
			t.Errorf("%s has rank %d; a held Job has none", waiting.UID, waiting.Rank)
		}
	}
	if said(got)["a"] != "HeldByPolicy: ops.example/Freeze: no" || got.WakeAt != freeze.Until {
		t.Errorf("says %q, wakes at %d", said(got)["a"], got.WakeAt)
	}
}

func TestNobodyOvertakesAJobThatIsBeingWritten(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.job("a", 4, 1)
	w.job("b", 4, 1)
	w.in.Busy = map[string]bool{"uid-a": true}
	if got := w.plan(); len(got.Admit) != 0 {
		t.Errorf("overtaken by %v", started(got))
	}
}

func TestLimitStopsAPlanAndSaysThatThereIsMore(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.in.Limit = 2
	for i := range 3 {
		w.job(fmt.Sprint("j", i), 1, 1)
	}
	got := w.plan()
	if diff := cmp.Diff([]string{"j0", "j1"}, started(got)); diff != "" || !got.More {
		t.Errorf("more: %v\n%s", got.More, diff)
	}
	if said(got)["j2"] != "BehindOthers: others start first; it is looked at in a moment" {
		t.Error(said(got))
	}
	w.in.Limit = 3
	if got := w.plan(); got.More {
		t.Error("all were looked at, there is no more")
	}
}

func TestThePolicysOrderReplacesPriorityAndTime(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.catalog.Queues["other"] = queue(4)
	in := func(name, queue string, order ...policies.OrderKey) {
		w.verdicts["uid-"+name] = decide.Outcome{Verdict: policies.Verdict{Queue: queue, Order: order}}
		w.job(name, 1, 1, func(j *demand.Job) { j.Queue = queue })
	}
	in("text", "research", policies.OrderKey{Text: "a", IsText: true})
	in("nine", "research", policies.OrderKey{Number: 9})
	in("one", "other", policies.OrderKey{Number: 1})
	in("none", "other") // by default -priority, arrival: 0 comes before 1
	in("tie", "research", policies.OrderKey{Number: 9})
	// Heads go in the order of their rank, one of each queue in a round.
	if diff := cmp.Diff([]string{"none", "nine", "one", "tie", "text"}, started(w.plan())); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestQueuesOfAPlan(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.catalog.Queues["idle"] = queue(1)
	w.carryOut(w.planOf(w.job("old", 1, 1)))
	w.job("new", 2, 1)
	w.job("late", 2, 1)
	w.job("stray", 1, 1, func(j *demand.Job) { j.Suspended = false })
	w.pod("stray-1", "n1", "stray", 1)
	got := w.plan()
	r := queueOf(got, "research")
	if r.Pending != 1 || r.Admitted != 2 || !r.InPolicy {
		t.Errorf("research: %+v", r)
	}
	if len(r.Rows) != 1 || r.Rows[0].Usage != 4 || r.Rows[0].Nominal != 4 {
		t.Errorf("the stray Job is charged too: %+v", r.Rows)
	}
	if i := queueOf(got, "idle"); i.Pending != 0 || len(i.Rows) != 1 || i.Rows[0].Usage != 0 {
		t.Errorf("idle: %+v", i)
	}
	delete(w.catalog.Queues, "research")
	if r := queueOf(w.plan(), "research"); r.InPolicy || r.Admitted != 1 || len(r.Rows) == 0 {
		t.Errorf("a queue that left the policy stays while anything is charged to it: %+v", r)
	}
}

func TestWhoIsHeldHearsWhatElseIsInTheWayForGood(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.in.Held = map[string]bool{"research": true}
	w.job("denied", 1, 1)
	w.verdicts["uid-denied"] = decide.Outcome{
		Verdict: policies.Verdict{Queue: "research"},
		Reason:  &reason.Reason{Code: reason.DeniedByPolicy, Message: "no_team: say whose it is"},
	}
	w.job("later", 1, 1)
	held := "QueueHeld: queue research is held by an operator (spec.hold of the Queue)"
	want := map[string]string{"denied": held + "; besides, DeniedByPolicy: no_team: say whose it is", "later": held}
	if diff := cmp.Diff(want, said(w.plan())); diff != "" {
		t.Errorf("why they wait (-want +got):\n%s", diff)
	}
}
