package book_test

import (
	"testing"
	"time"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// TestAPodThatNoSchedulerLooksAtKeepsNoRoomForGood: one of a scheduler that is
// not there, or that waits for something before it is looked at.
func TestAPodThatNoSchedulerLooksAtKeepsNoRoomForGood(t *testing.T) {
	const created = int64(1000 * time.Second)
	b := book.New()
	b.SetNode(&supply.Node{Name: "n", Ready: true, Allocatable: resource.List{gpu: 16, "pods": 110}})
	stranger := func(name string, change ...func(*supply.Pod)) {
		b.SetPod(pod(name, "", append(change, bare, orphan, func(p *supply.Pod) { p.Created += created })...))
	}
	said := func(p *supply.Pod) { p.UnschedulableSince = created + 1 }
	wantRivals := func(when string, now int64, want int64, wantNext int64) {
		t.Helper()
		if next := b.Tick(now); next != wantNext {
			t.Errorf("%s: the next that time changes is at %d, want %d", when, next, wantNext)
		}
		rivals := int64(0)
		for _, p := range b.Snapshot().Rivals() {
			rivals += p.Pods
		}
		if rivals != want {
			t.Errorf("%s: %d rivals, want %d", when, rivals, want)
		}
		if err := b.SelfCheck(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	till, second := created+int64(2*time.Minute), int64(time.Second)
	b.Tick(created)
	stranger("unheard")
	stranger("full", said)
	stranger("later", func(p *supply.Pod) { p.Created = second })
	wantRivals("at first all of them may be bound", created, 3, till)
	stranger("unheard", func(p *supply.Pod) { p.Ready = true })
	wantRivals("an update changes nothing in that", till-1, 3, till)
	wantRivals("then the one that nobody speaks of is no rival any more", till, 2, till+second)
	stranger("unheard")
	wantRivals("nor after an update", till, 2, till+second)
	wantRivals("the other is none when its time is over, too", till+second, 1, 0)
	stranger("unheard", said)
	wantRivals("until the scheduler says that it has no room for it", till+second, 2, 0)
	b.DeletePod("unheard")
	stranger("old")
	wantRivals("one that was old when it was first seen is none", till+second, 1, 0)
}
