package book

import (
	"time"

	"github.com/holdshort/holdshort/ledger/resource"
)

// cutStands is how long pods are expected of a Job that was let go and deleted before
// they were seen. The Job controller makes them by what it last knew of the Job.
const cutStands = int64(10 * time.Second)

// cut is that a Job was deleted before all of its pods were seen.
type cut struct {
	pods int64 // that will have been seen by then
	till int64
}

// cut has what an admitted Job was given kept a while for pods that may come though it
// is deleted: those that the Job controller says it has made, or, where it has not
// said yet that it began the Job, all.
func (b *Book) cut(e *Entry) {
	if !e.isAdmitted() && len(e.parted) == 0 || e.cut != (cut{}) {
		return
	}
	pods, j := e.Wanted(), e.observed
	if j != nil && (j.Started || j.Suspended && (j.Deleting || e.assumed == nil)) {
		pods = resource.Add(j.Active, j.Terminating)
	}
	if pods > e.seen {
		e.cut = cut{pods, resource.Add(b.now, cutStands)}
		b.cuts = append(b.cuts, e)
	}
}

// isCut: it is deleted, or about to be, and pods of it may still come.
func (e *Entry) isCut() bool {
	return e.cut.pods > e.seen && e.reservation() == nil && (e.observed == nil || e.observed.Deleting)
}

// endCuts expects nothing more of those who were deleted long ago. It returns when
// that is so of the next one, or 0.
func (b *Book) endCuts() int64 {
	for len(b.cuts) > 0 {
		e := b.cuts[0]
		if e.cut.till > b.now {
			return e.cut.till
		}
		b.cuts = b.cuts[1:]
		if e.cut != (cut{}) && b.entries[e.uid] == e {
			e.cut = cut{}
			b.reform(e)
			b.dropEmpty(e)
		}
	}
	b.cuts = nil
	return 0
}
