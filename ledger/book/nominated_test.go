package book_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// The scheduler keeps the room of the node that it made some on for a pod, which is not
// bound yet: more than is free there, since those that are to go are still going. Whoever
// is let go beside would not be bound.
func TestRoomOfANominatedPodIsNotFree(t *testing.T) {
	b := book.New()
	b.SetNode(&supply.Node{Name: "n1", Ready: true, Allocatable: resource.List{gpu: 8, "pods": 10}})
	shape := func() int64 {
		s := b.Snapshot()
		return s.Room().Slots(s.Shape(demand.Place{}, resource.List{gpu: 2, "pods": 1}))
	}
	pod := func(uid, node, nominated string, gpus int64) {
		b.SetPod(&supply.Pod{UID: uid, Namespace: "a", Name: uid, Node: node, Nominated: nominated, Requests: resource.List{gpu: gpus, "pods": 1}})
	}
	want := func(when string, slots int64) {
		t.Helper()
		if got := shape(); got != slots {
			t.Errorf("%s: room for %d, want %d", when, got, slots)
		}
		if err := b.SelfCheck(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	pod("victim", "n1", "", 6)
	want("at first", 1)
	pod("first", "", "n1", 8)
	want("while it waits for room that is made", 0)
	b.Rebuild()
	want("counted again", 0)
	b.DeletePod("victim")
	want("while it is not bound", 0)
	pod("first", "", "", 2)
	want("when it is no more", 4) // a rival is no room that is taken
	pod("first", "", "n1", 2)
	want("nominated once more", 3)
	pod("first", "n1", "n1", 2)
	want("bound", 3)
	b.DeletePod("first")
	want("gone", 4)
}
