package book_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// booked4 is an admitted Job of four pods that were booked with 4 GPUs and a core each.
func booked4(j *demand.Job) {
	admitted(j)
	each := resource.List{gpu: 4, "cpu": 1000, "memory": 8 << 30, "pods": 1}
	j.PodSets[0].Requests, j.Reservation.PodSets[0].Requests = each, each
}

// asking is a pod of it that asks for so much of these instead.
func asking(of resource.List) func(*supply.Pod) {
	return func(p *supply.Pod) {
		p.Requests = resource.List{gpu: 4, "cpu": 1000, "memory": 8 << 30, "pods": 1}
		for name, n := range of {
			p.Requests[name] = n
		}
	}
}

func differences(b *book.Book) (all []book.Difference) {
	for d, there := b.NextDifference(); there; d, there = b.NextDifference() {
		all = append(all, d)
	}
	return all
}

func differ(name string, n, booked int64) []book.Difference {
	return []book.Difference{{UID: "j", Time: 1, Pod: resource.List{name: n}, Booked: resource.List{name: booked}}}
}

func TestPodsThatAskForMoreCountForThoseToCome(t *testing.T) {
	five, three := asking(resource.List{gpu: 5}), asking(resource.List{gpu: 3})
	same := asking(nil)
	for _, c := range []struct {
		name        string
		pods        []*supply.Pod
		gpus, cores int64    // charged
		promised    [2]int64 // pods, and GPUs of one
		told        []book.Difference
	}{
		{"as booked, while there is no pod", nil, 16, 4000, [2]int64{4, 4}, nil},
		{"or one that asks for that", []*supply.Pod{pod("1", "n", same)}, 16, 4000, [2]int64{3, 4}, nil},
		{"one asks for more", []*supply.Pod{pod("1", "n", five)}, 20, 4000, [2]int64{3, 5}, differ(gpu, 5, 4)},
		{"before it is on a node, too", []*supply.Pod{pod("1", "", five)}, 20, 4000, [2]int64{4, 5}, differ(gpu, 5, 4)},
		{"those that there are count as they are", []*supply.Pod{pod("1", "n", five), pod("2", "n", same)}, 19, 4000, [2]int64{2, 5}, differ(gpu, 5, 4)},
		{"all are there", []*supply.Pod{pod("1", "n", five), pod("2", "n", same), pod("3", "n", same), pod("4", "n", same)},
			17, 4000, [2]int64{0, 0}, differ(gpu, 5, 4)},
		{"less gives nothing back", []*supply.Pod{pod("1", "n", three)}, 16, 4000, [2]int64{3, 4}, nil},
		{"resource by resource", []*supply.Pod{pod("1", "n", asking(resource.List{gpu: 3, "cpu": 1500}))}, 16, 6000, [2]int64{3, 4}, differ("cpu", 1500, 1000)},
		{"the largest of several", []*supply.Pod{pod("1", "n", asking(resource.List{gpu: 6})), pod("2", "n", five)}, 23, 4000, [2]int64{2, 6}, differ(gpu, 6, 4)},
		{"an amount that was only rounded", []*supply.Pod{pod("1", "n", asking(resource.List{"cpu": 1001, "memory": 8<<30 + 4096}))}, 16, 4000, [2]int64{3, 4}, nil},
		{"one that was told to go may be of before", []*supply.Pod{pod("1", "n", five, deleting)}, 16, 4000, [2]int64{4, 4}, nil},
		{"one that no admission made", []*supply.Pod{pod("1", "n", five, bare)}, 16, 4000, [2]int64{3, 4}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			running, restarted := book.New(), book.New()
			running.SetJob(job(booked4))
			for _, p := range c.pods {
				running.SetPod(p)
				restarted.SetPod(p)
			}
			restarted.SetJob(job(booked4))
			healed := book.New()
			healed.SetJob(job(booked4))
			for _, p := range c.pods {
				healed.SetPod(p)
			}
			healed.Rebuild()
			for name, b := range map[string]*book.Book{"running": running, "restarted": restarted, "healed": healed} {
				of := func(name string) int64 {
					return b.Usage()[quota.Key{Queue: "research", Flavor: "h100", Resource: name}]
				}
				if of(gpu) != c.gpus || of("cpu") != c.cores {
					t.Errorf("%s: charged %d GPUs and %d thousandths of a core, want %d and %d", name, of(gpu), of("cpu"), c.gpus, c.cores)
				}
				promised := [2]int64{}
				for _, p := range b.Snapshot().Promises() {
					promised[0] += p.Pods
					promised[1] = b.Snapshot().Room().Request(p.Shape, gpu)
				}
				if promised != c.promised {
					t.Errorf("%s: promised pods and GPUs of one: %v, want %v", name, promised, c.promised)
				}
				if diff := cmp.Diff(c.told, differences(b)); diff != "" {
					t.Errorf("%s: told (-want +got):\n%s", name, diff)
				}
				if again := differences(b); again != nil {
					t.Errorf("%s: told again: %v", name, again)
				}
				if err := b.SelfCheck(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if diffs := running.Diff(restarted); len(diffs) > 0 {
				t.Errorf("running and restarted differ: %v", diffs)
			}
		})
	}
}

func TestADifferenceLastsAsLongAsThePodsThatShowIt(t *testing.T) {
	b := book.New()
	charged := func(want int64) {
		t.Helper()
		if got := b.Usage()[quota.Key{Queue: "research", Flavor: "h100", Resource: gpu}]; got != want {
			t.Errorf("charged %d, want %d", got, want)
		}
		if err := b.SelfCheck(); err != nil {
			t.Error(err)
		}
	}
	b.SetJob(job(booked4))
	b.SetPod(pod("1", "n", asking(resource.List{gpu: 5})))
	charged(20)
	b.DeletePod("1")
	charged(16)
	if told := differences(b); told != nil {
		t.Errorf("told of a pod that is gone: %v", told)
	}
	b.SetPod(pod("2", "n", asking(resource.List{gpu: 6})))
	charged(24)
	if diff := cmp.Diff(differ(gpu, 6, 4), differences(b)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	b.SetPod(pod("3", "n", asking(resource.List{gpu: 7})))
	charged(27)
	if told := differences(b); told != nil {
		t.Errorf("told twice of one admission: %v", told)
	}
	b.SetJob(job(booked4, func(j *demand.Job) { j.Reservation.Time = 2 }))
	if told := differences(b); len(told) != 1 || told[0].Time != 2 {
		t.Errorf("told of the next admission: %v", told)
	}
	b.SetJob(job(suspended, dropped))
	b.DeletePod("2")
	b.DeletePod("3")
	charged(0)
}

// TestDevicesOfClaimsAreNotComparedWithPods: no pod's requests have them, and what else
// stands for them is asked for by the claims.
func TestDevicesOfClaimsAreNotComparedWithPods(t *testing.T) {
	b := book.New()
	b.SetJob(job(booked4, func(j *demand.Job) { j.Reservation.PodSets[0].Claimed = resource.List{gpu: 4} }))
	b.SetPod(pod("1", "n", asking(resource.List{gpu: 5})))
	if told := differences(b); told != nil {
		t.Errorf("told: %v", told)
	}
}

// TestAResourceQuotaKeepsWhatPodsToComeWillAsk: as many as were not made yet take of it
// what the first one turned out to.
func TestAResourceQuotaKeepsWhatPodsToComeWillAsk(t *testing.T) {
	b := book.New()
	b.SetNamespaceQuota(&nsquota.Quota{Namespace: "team", Name: "gpus", Rows: []nsquota.Row{{
		Name: "requests." + gpu, Of: nsquota.Requests, Resource: gpu, Hard: 100,
	}}})
	b.SetJob(job(booked4))
	used := func(want int64) {
		t.Helper()
		if got := b.Snapshot().NamespaceQuotas("team")[0].Used[0]; got != want {
			t.Errorf("%d used, want %d", got, want)
		}
	}
	used(16)
	b.SetPod(pod("1", "n", asking(resource.List{gpu: 5}), func(p *supply.Pod) { p.Namespace = "team" }))
	used(20)
}

// A policy that begins to count memory for each device, or ends it, has pods read anew:
// nobody changed them, so nobody is told of a difference.
func TestACountForEachDeviceIsNoDifference(t *testing.T) {
	const memory = "nvidia.com/gpumem"
	b := book.New()
	b.SetJob(job(booked4, func(j *demand.Job) {
		j.PodSets[0].Requests[memory], j.Reservation.PodSets[0].Requests[memory] = 1024, 1024
	}))
	b.SetPod(pod("1", "n", asking(resource.List{memory: 1024})))
	each := &policies.Catalog{Resources: policies.ResourceRules{PerDevice: map[string]string{memory: gpu}}}
	for _, step := range []struct {
		catalog *policies.Catalog
		reads   int64
	}{{each, 4096}, {&policies.Catalog{}, 4096}, {&policies.Catalog{}, 1024}} {
		b.Follow(step.catalog)
		b.SetPod(pod("1", "n", asking(resource.List{memory: step.reads})))
		if told := differences(b); told != nil {
			t.Errorf("told of %v", told)
		}
		if err := b.SelfCheck(); err != nil {
			t.Error(err)
		}
	}
}
