package book_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// TestPodsOfSeveralSetsAreChargedWhereTheirSetIs: of two sets on two flavors, each
// row has its own, with pods and without, and what is left when the Job has ended.
func TestPodsOfSeveralSetsAreChargedWhereTheirSetIs(t *testing.T) {
	set := func(name, flavor string, count int64) demand.ReservedPodSet {
		return demand.ReservedPodSet{
			Name: name, Count: count, Requests: resource.List{gpu: 1, "pods": 1}, Flavors: map[string]string{gpu: flavor, "pods": flavor},
		}
	}
	two := func(j *demand.Job) {
		j.PodSets = []demand.PodSet{
			{Name: "driver", Count: 1, Requests: resource.List{gpu: 1, "pods": 1}},
			{Name: "worker", Count: 3, Requests: resource.List{gpu: 1, "pods": 1}},
		}
		j.Suspended = false
		j.Reservation = &demand.Reservation{
			UID: "j", Queue: "research", Time: 1, PodSets: []demand.ReservedPodSet{set("driver", "a100", 1), set("worker", "h100", 3)},
		}
	}
	on := func(flavor string) func(*supply.Pod) {
		return func(p *supply.Pod) { p.Flavors = map[string]string{gpu: flavor, "pods": flavor} }
	}
	pods := func(b *book.Book) {
		b.SetPod(pod("driver", "n", on("a100")))
		for _, name := range []string{"w1", "w2", "w3"} {
			b.SetPod(pod(name, "n", on("h100")))
		}
	}
	for _, c := range []struct {
		name       string
		given      func(*book.Book)
		a100, h100 int64
	}{
		{"before any pod is there", func(b *book.Book) { b.SetJob(job(two)) }, 1, 3},
		{"when all are", func(b *book.Book) {
			b.SetJob(job(two))
			pods(b)
		}, 1, 3},
		{"when a worker is replaced by another before it is gone", func(b *book.Book) {
			b.SetJob(job(two))
			pods(b)
			b.SetPod(pod("w4", "n", on("h100")))
		}, 1, 4},
		{"when the Job has ended and its driver is gone", func(b *book.Book) {
			b.SetJob(job(two))
			pods(b)
			b.SetJob(job(two, finished))
			b.DeletePod("driver")
		}, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := book.New()
			b.SetNode(&supply.Node{Name: "n", Ready: true, Allocatable: resource.List{gpu: 16, "pods": 110}})
			c.given(b)
			at := func(flavor string) int64 {
				return b.Snapshot().Usage(quota.Key{Queue: "research", Flavor: flavor, Resource: gpu})
			}
			if diff := cmp.Diff([]int64{c.a100, c.h100}, []int64{at("a100"), at("h100")}); diff != "" {
				t.Errorf("charged on a100 and h100 (-want +got):\n%s", diff)
			}
		})
	}
}
