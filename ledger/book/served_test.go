package book_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
)

// A Job makes room for the same other one twice within one moment of the clock.
func TestRoomIsKeptAgainForWhoHadItAtTheSameMoment(t *testing.T) {
	b := book.New()
	runs := func(uid string) *demand.Job {
		sets := []demand.ReservedPodSet{{Name: "main", Count: 1}}
		return &demand.Job{UID: uid, Reservation: &demand.Reservation{UID: uid, Queue: "q", Time: 7, PodSets: sets}}
	}
	gave := &demand.Job{UID: "gave", Suspended: true, Preempted: &demand.Preempted{UID: "gave", By: "by", Time: 7}}
	queued := &demand.Job{UID: "by", Suspended: true}
	for _, j := range []*demand.Job{queued, gave, runs("by"), queued, runs("gave"), gave} {
		b.SetJob(j)
	}
	leaving := b.Snapshot().Leaving()
	if len(leaving) != 1 || leaving[0].MakesRoomFor() == nil {
		t.Errorf("%d Jobs leave, want the one that made room again", len(leaving))
	}
}
