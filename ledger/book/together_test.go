package book_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// together is an admitted Job of three pods that share a claim of two cards.
func together(j *demand.Job) {
	j.Suspended = false
	j.PodSets = []demand.PodSet{{
		Name: "main", Count: 1, Together: 3, Requests: resource.List{gpu: 2, "cpu": 1500, "pods": 3},
		Place: demand.Place{Claimed: resource.List{gpu: 2}, Devices: resource.List{resource.DeviceSet + "gpu.example.com/1": 2}},
	}}
	j.Reservation = &demand.Reservation{UID: "j", Queue: "research", Time: 1, PodSets: []demand.ReservedPodSet{{
		Name: "main", Count: 3, Requests: resource.List{"cpu": 500, "pods": 1}, Shared: resource.List{gpu: 2},
		Flavors: map[string]string{gpu: "h100", "cpu": "h100", "pods": "h100"},
	}}}
}

// allocated is the same since a pod of it has had its claim allocated.
func allocated(j *demand.Job) {
	together(j)
	j.PodSets = []demand.PodSet{{Name: "main", Count: 3, Requests: resource.List{"cpu": 500, "pods": 1}}}
}

// What pods share is charged once, whichever of them has it, and they are promised the
// room of all of them until they have it.
func TestWhatPodsShareIsChargedOnce(t *testing.T) {
	claimed := func(p *supply.Pod) { p.Requests = resource.List{gpu: 2, "cpu": 500, "pods": 1} }
	plain := func(p *supply.Pod) { p.Requests = resource.List{"cpu": 500, "pods": 1} }
	for _, c := range []struct {
		name  string
		job   func(*demand.Job)
		pods  []*supply.Pod
		owed  int64 // promises
		cores int64 // of each
	}{
		{"no pod is there", together, nil, 1, 1500},
		{"the first is on a node, and its claim not seen yet", together, []*supply.Pod{pod("1", "n", plain)}, 1, 1500},
		{"it is seen", allocated, []*supply.Pod{pod("1", "n", claimed)}, 2, 500},
		{"all are there", allocated, []*supply.Pod{pod("1", "n", claimed), pod("2", "n", plain), pod("3", "n", plain)}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := book.New()
			b.SetJob(job(c.job))
			for _, p := range c.pods {
				b.SetPod(p)
			}
			for name, want := range map[string]int64{gpu: 2, "cpu": 1500, "pods": 3} {
				if got := b.Usage()[quota.Key{Queue: "research", Flavor: "h100", Resource: name}]; got != want {
					t.Errorf("charged %d %s, want %d", got, name, want)
				}
			}
			owed, cores := int64(0), int64(0)
			for _, p := range b.Snapshot().Promises() {
				owed, cores = owed+p.Pods, b.Snapshot().Room().Request(p.Shape, "cpu")
			}
			if owed != c.owed || cores != c.cores {
				t.Errorf("promised %d × %d thousandths of a core, want %d × %d", owed, cores, c.owed, c.cores)
			}
			if told := differences(b); told != nil {
				t.Errorf("told that pods ask for more: %v", told)
			}
			if err := b.SelfCheck(); err != nil {
				t.Error(err)
			}
		})
	}
}
