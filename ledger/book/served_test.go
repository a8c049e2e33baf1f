package book_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
)

func TestRoomIsKeptForWhoseStartCouldNotBeWritten(t *testing.T) {
	by := &demand.Job{UID: "by", Suspended: true}
	r := demand.Reservation{UID: "by", Queue: "q", Time: 8, PodSets: []demand.ReservedPodSet{{Name: "main", Count: 1}}}
	for name, c := range map[string]struct {
		ends func(*book.Book)
		kept bool
	}{
		"it is being written":           {func(*book.Book) {}, false},
		"it was certainly not written":  {func(b *book.Book) { b.Forget("by") }, true},
		"the Job was changed meanwhile": {func(b *book.Book) { b.SetJob(&demand.Job{UID: "by", Suspended: true, Generation: 2}); b.Settle("by") }, true},
		"it was written":                {func(b *book.Book) { b.SetJob(&demand.Job{UID: "by", Reservation: &r}); b.Settle("by") }, false},
		"it was written, and the Job is taken back since": {func(b *book.Book) {
			b.SetJob(&demand.Job{UID: "by", Reservation: &r})
			b.Settle("by")
			b.SetJob(by)
			b.Assume(by, r)
			b.Forget("by")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := book.New()
			b.SetJob(by)
			b.SetJob(&demand.Job{UID: "gave", Suspended: true, Preempted: &demand.Preempted{UID: "gave", By: "by", Time: 7}})
			b.Assume(by, r)
			c.ends(b)
			if kept := len(b.Snapshot().Leaving()) > 0; kept != c.kept {
				t.Errorf("the room is kept: %v, want %v", kept, c.kept)
			}
			if err := b.SelfCheck(); err != nil {
				t.Error(err)
			}
		})
	}
}

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
