package book_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
)

// TestTheBookKnowsWhoseTimeIsUp lets Jobs come, change and go as they like, and
// looks whether those whose time is up are found, and the next one's moment.
func TestTheBookKnowsWhoseTimeIsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, ends := book.New(), map[string]int64{}
		for now := range int64(30) {
			uid := fmt.Sprint("u", rapid.IntRange(0, 4).Draw(t, "job"))
			j := &demand.Job{UID: uid, PodSets: []demand.PodSet{{Name: "main", Count: 1}}, MaxRuntimeSec: rapid.Int64Range(0, 3).Draw(t, "own")}
			delete(ends, uid)
			switch rapid.IntRange(0, 3).Draw(t, "it") {
			case 0:
				b.DeleteJob(uid)
			case 1:
				j.Suspended = true
				b.SetJob(j)
			default:
				since, most := rapid.Int64Range(1, 20).Draw(t, "since"), rapid.Int64Range(0, 3).Draw(t, "policy's")
				j.Ran = rapid.Int64Range(0, 2).Draw(t, "ran") * second
				j.Reservation = &demand.Reservation{
					UID: uid, Queue: "q", Time: since, MaxRuntimeSec: most,
					PodSets: []demand.ReservedPodSet{{Name: "main", Count: 1, Flavors: map[string]string{"pods": "f"}}},
				}
				if limit := demand.Shorter(most, j.MaxRuntimeSec); limit > 0 {
					ends[uid] = since + max(0, limit*second-j.Ran)
				}
				b.SetJob(j)
			}
			at := now * second / 4
			want, next := []string{}, int64(0)
			for i := range 5 {
				switch end, there := ends[fmt.Sprint("u", i)]; {
				case there && end <= at:
					want = append(want, fmt.Sprint("u", i))
				case there && (next == 0 || end < next):
					next = end
				}
			}
			up, gotNext := b.Snapshot().TimeUp(at)
			got := []string{}
			for _, e := range up {
				got = append(got, e.UID())
			}
			if diff := cmp.Diff(want, got); diff != "" || next != gotNext {
				t.Fatalf("at %d the next is at %d, want %d; up (-want +got):\n%s", at, gotNext, next, diff)
			}
		}
	})
}

const second = int64(1e9)
