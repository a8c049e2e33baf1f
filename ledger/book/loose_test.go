package book_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
)

func TestLooseIsWhatOnlyThePolicyCanCharge(t *testing.T) {
	running := func(j *demand.Job) { j.Suspended = false }
	for _, c := range []struct {
		name  string
		given func(*book.Book)
		want  resource.List
	}{
		{"a Job that runs without a reservation, by what it may run", func(b *book.Book) { b.SetJob(job(running)) }, resource.List{gpu: 4, "pods": 4}},
		{"or by its pods, if they hold more", func(b *book.Book) {
			b.SetJob(job(running, wants(1)))
			b.SetPod(pod("1", "n", bare, asks(3)))
		}, resource.List{gpu: 3, "pods": 1}},
		{"but not by such as no kubelet has taken in: anybody can make them", func(b *book.Book) {
			b.SetJob(job(running, wants(1)))
			b.SetPod(pod("1", "", bare, asks(1000)))
			b.SetPod(pod("2", "nowhere", bare, asks(1000), refused))
		}, resource.List{gpu: 1, "pods": 1}},
		{"nor is one that does not run and has no others", func(b *book.Book) {
			b.SetJob(job(running, leaving))
			b.SetPod(pod("1", "", bare, asks(1000)))
		}, nil},
		{"one that was suspended, by the pods that are still there", func(b *book.Book) {
			b.SetJob(job())
			b.SetPod(pod("1", "n", bare))
		}, resource.List{gpu: 1, "pods": 1}},
		{"one that is over, by the pods that don't say whom to charge", func(b *book.Book) {
			b.SetJob(job(admitted, finished))
			b.SetPod(pod("1", "n", bare))
			b.SetPod(pod("2", "n"))
		}, resource.List{gpu: 1, "pods": 1}},
		{"one that is being deleted, by what is there and not by what it might run", func(b *book.Book) {
			b.SetJob(job(running, leaving))
			b.SetPod(pod("1", "n", bare))
		}, resource.List{gpu: 1, "pods": 1}},
		{"none if the pods say whom to charge", func(b *book.Book) {
			b.SetJob(job())
			b.SetPod(pod("1", "n"))
		}, nil},
		{"none if it was admitted", func(b *book.Book) { b.SetJob(job(admitted)) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := book.New()
			c.given(b)
			var got resource.List
			for _, l := range b.Snapshot().Loose() {
				got = l.Amount
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
