package book_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

const gpu = "nvidia.com/gpu"

func job(change ...func(*demand.Job)) *demand.Job {
	j := &demand.Job{
		UID: "j", Namespace: "team", Name: "train", Suspended: true,
		PodSets: []demand.PodSet{{Name: "main", Count: 4, Requests: resource.List{gpu: 1, "pods": 1}}},
	}
	for _, f := range change {
		f(j)
	}
	return j
}

func reservation() *demand.Reservation {
	return &demand.Reservation{UID: "j", Queue: "research", Time: 1, PodSets: []demand.ReservedPodSet{{
		Name: "main", Count: 4, Requests: resource.List{gpu: 1, "pods": 1}, Flavors: map[string]string{gpu: "h100", "pods": "h100"},
		NodeSelector: map[string]string{"kind": "h100"},
	}}}
}

func admitted(j *demand.Job)  { j.Suspended, j.Reservation = false, reservation() }
func suspended(j *demand.Job) { j.Suspended = true }
func begun(j *demand.Job)     { j.Started = true }
func dropped(j *demand.Job)   { j.Reservation = nil }
func finished(j *demand.Job)  { j.Finished = true }
func leaving(j *demand.Job)   { j.Deleting = true }

func has(active, terminating int64) func(*demand.Job) {
	return func(j *demand.Job) { j.Active, j.Terminating = active, terminating }
}

// forged: somebody wrote another queue and flavor on the Job.
func forged(j *demand.Job) {
	j.Reservation.Queue = "others"
	j.Reservation.PodSets[0].Flavors = map[string]string{gpu: "a100", "pods": "a100"}
}

func wants(n int64) func(*demand.Job) {
	return func(j *demand.Job) { j.PodSets[0].Count = n }
}

func pod(name, node string, change ...func(*supply.Pod)) *supply.Pod {
	p := &supply.Pod{
		UID: name, Node: node, JobUID: "j", Requests: resource.List{gpu: 1, "pods": 1},
		Queue: "research", Flavors: map[string]string{gpu: "h100", "pods": "h100"}, Started: node != "",
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func deleting(p *supply.Pod) { p.Deleting = true }
func orphan(p *supply.Pod)   { p.JobUID = "" }
func bare(p *supply.Pod)     { p.Queue, p.Flavors = "", nil }
func refused(p *supply.Pod)  { p.Started = false }
func asks(n int64) func(*supply.Pod) {
	return func(p *supply.Pod) { p.Requests = resource.List{gpu: n, "pods": 1} }
}

func TestCharges(t *testing.T) {
	for _, c := range []struct {
		name     string
		given    func(*book.Book)
		charged  int64 // GPUs of research on h100
		promised int64 // pods
		rivals   int64 // pods
	}{
		{"a Job that waits is charged nothing", func(b *book.Book) { b.SetJob(job()) }, 0, 0, 0},
		{"an admitted one is charged all that it may run, before any pod is there", func(b *book.Book) { b.SetJob(job(admitted)) }, 4, 4, 0},
		{"one that starts with fewer pods is charged those from the first moment", func(b *book.Book) {
			b.SetJob(job())
			fewer := *reservation()
			fewer.PodSets[0].Count = 3
			b.Assume(job(), fewer)
		}, 3, 3, 0},
		{"bound pods take up the promise, not the charge", func(b *book.Book) {
			b.SetJob(job(admitted))
			b.SetPod(pod("1", "n"))
			b.SetPod(pod("2", ""))
		}, 4, 3, 0},
		{"a terminating pod and the one that replaces it are both charged", func(b *book.Book) {
			b.SetJob(job(admitted, wants(1)))
			b.SetPod(pod("1", "n", deleting))
			b.SetPod(pod("2", ""))
		}, 2, 1, 0},
		{"a Job that wants fewer pods is charged fewer as they go", func(b *book.Book) {
			b.SetJob(job(admitted, wants(1)))
			b.SetPod(pod("1", "n"))
			b.SetPod(pod("2", "n"))
		}, 2, 0, 0},
		{"pods that ask for more than was predicted are charged as they are", func(b *book.Book) {
			b.SetJob(job(admitted, wants(1)))
			b.SetPod(pod("1", "n", asks(8)))
		}, 8, 0, 0},
		{"pods that only name the Job, and that no kubelet has taken in, are charged to nobody", func(b *book.Book) {
			b.SetJob(job(admitted, wants(1)))
			b.SetPod(pod("1", "n"))
			b.SetPod(pod("2", "", bare, asks(1000)))
			b.SetPod(pod("3", "nowhere", bare, asks(1000), refused))
		}, 1, 0, 0},
		{"but are if they really run", func(b *book.Book) {
			b.SetJob(job(admitted, wants(1)))
			b.SetPod(pod("1", "n"))
			b.SetPod(pod("2", "n", bare, asks(3)))
		}, 4, 0, 0},
		{"a finished Job is charged for pods that are not gone", func(b *book.Book) {
			b.SetJob(job(admitted, finished))
			b.SetPod(pod("1", "n", deleting))
		}, 1, 0, 0},
		{"a suspended one too, without its reservation", func(b *book.Book) {
			b.SetJob(job(admitted))
			b.SetPod(pod("1", "n"))
			b.SetJob(job(suspended, dropped))
			b.SetPod(pod("1", "n", deleting))
			b.SetPod(pod("2", ""))
		}, 2, 0, 1},
		{"one that will be over is charged for the pods that it says it has, before they are seen", func(b *book.Book) {
			b.SetJob(job(admitted, finished, has(2, 1)))
			b.SetPod(pod("1", "n"))
		}, 3, 0, 0},
		{"and for none any more once it says so", func(b *book.Book) {
			b.SetJob(job(admitted, finished, has(2, 1)))
			b.SetPod(pod("1", "n"))
			b.DeletePod("1")
			b.SetJob(job(admitted, finished))
		}, 0, 0, 0},
		{"so is one that is taken back, and its pods may land anywhere", func(b *book.Book) {
			b.SetJob(job(admitted, has(4, 0)))
			b.SetJob(job(has(4, 0)))
			b.SetPod(pod("1", "n"))
		}, 4, 3, 0},
		{"pods that were seen and are gone are not charged, whatever it still says", func(b *book.Book) {
			b.SetJob(job(admitted, has(4, 0)))
			for _, name := range []string{"1", "2", "3"} {
				b.SetPod(pod(name, "n"))
			}
			b.SetJob(job(has(4, 0)))
			b.DeletePod("1")
			b.DeletePod("2")
		}, 2, 1, 0},
		{"until it says that they are gone", func(b *book.Book) {
			b.SetJob(job(admitted, has(4, 0)))
			b.SetJob(job(has(4, 0)))
			b.SetPod(pod("1", "n"))
			b.SetJob(job(has(0, 1)))
		}, 1, 0, 0},
		{"or is admitted again", func(b *book.Book) {
			b.SetJob(job(admitted, has(4, 0)))
			b.SetJob(job(has(4, 0)))
			b.SetJob(job(admitted, wants(2)))
		}, 2, 2, 0},
		{"or was gone for a while", func(b *book.Book) {
			b.SetJob(job(admitted, has(4, 0)))
			b.SetJob(job(has(4, 0)))
			b.DeleteJob("j")
			b.Tick(later)
		}, 0, 0, 0},
		{"pods that don't say are charged to nobody for what is written on a finished Job", func(b *book.Book) {
			b.SetJob(job(admitted, finished))
			b.SetPod(pod("1", "n", bare))
		}, 0, 0, 0},
		{"a Job that is being deleted is charged for its pods and promised no others", func(b *book.Book) {
			b.SetJob(job(admitted, leaving))
			b.SetPod(pod("1", "n"))
			b.SetPod(pod("2", ""))
		}, 2, 0, 1},
		{"its pods say whom to charge, not what is written on it", func(b *book.Book) {
			b.SetJob(job(admitted, leaving, forged))
			b.SetPod(pod("1", "n"))
		}, 1, 0, 0},
		{"nor on one that is over", func(b *book.Book) {
			b.SetJob(job(admitted, finished, forged))
			b.SetPod(pod("1", "n"))
		}, 1, 0, 0},
		{"nor on a suspended one", func(b *book.Book) {
			b.SetJob(job(admitted, suspended, forged))
			b.SetPod(pod("1", "n"))
		}, 1, 0, 0},
		{"deleted while its admission is being written, it is promised nothing", func(b *book.Book) {
			b.SetJob(job())
			b.Assume(job(), *reservation())
			b.SetJob(job(leaving))
		}, 0, 0, 0},
		{"when the Job is gone its pods stay charged, those that no node has yet too", func(b *book.Book) {
			b.SetJob(job(admitted, begun))
			b.SetPod(pod("1", "n"))
			b.SetPod(pod("2", ""))
			b.DeleteJob("j")
		}, 2, 0, 1},
		{"deleted before the Job controller has begun it, it may still get all of them", func(b *book.Book) {
			b.SetJob(job(admitted))
			b.SetPod(pod("1", "n"))
			b.DeleteJob("j")
		}, 4, 3, 0},
		{"also while the object is there", func(b *book.Book) {
			b.SetJob(job(admitted))
			b.SetJob(job(admitted, leaving))
			b.SetPod(pod("1", "n"))
			b.DeleteJob("j")
		}, 4, 3, 0},
		{"once it has, as many as it says", func(b *book.Book) {
			b.SetJob(job(admitted, begun, has(3, 0)))
			b.SetPod(pod("1", "n"))
			b.DeleteJob("j")
		}, 3, 2, 0},
		{"those that were seen are not waited for again", func(b *book.Book) {
			b.SetJob(job(admitted))
			for _, name := range []string{"1", "2", "3", "4"} {
				b.DeleteJob("j")
				b.SetPod(pod(name, "n"))
			}
			b.DeletePod("1")
		}, 3, 0, 0},
		{"nor is anybody for long", func(b *book.Book) {
			b.Tick(later)
			b.SetJob(job(admitted))
			b.DeleteJob("j")
			b.Tick(b.Tick(later + 1))
		}, 0, 0, 0},
		{"so do pods that were orphaned", func(b *book.Book) {
			b.SetPod(pod("1", "n", orphan))
			b.SetPod(pod("2", "", orphan))
		}, 2, 0, 1},
		{"until they are gone", func(b *book.Book) {
			b.SetPod(pod("1", "n", orphan))
			b.DeletePod("1")
		}, 0, 0, 0},
		{"pods of nobody are charged to nobody", func(b *book.Book) { b.SetPod(pod("1", "n", orphan, bare)) }, 0, 0, 0},
		{"an admission counts before it is written", func(b *book.Book) {
			b.SetJob(job())
			b.Assume(job(), *reservation())
		}, 4, 4, 0},
		{"and while older objects arrive", func(b *book.Book) {
			b.Assume(job(), *reservation())
			b.SetJob(job())
			b.SetPod(pod("1", "n"))
		}, 4, 3, 0},
		{"until it is known that it was not written", func(b *book.Book) {
			b.SetJob(job())
			b.Assume(job(), *reservation())
			b.Forget("j")
		}, 0, 0, 0},
		{"or until it was observed, and then that counts", func(b *book.Book) {
			b.Assume(job(), *reservation())
			b.SetJob(job(admitted, wants(2)))
			b.Settle("j")
		}, 2, 2, 0},
		{"or until the Job is gone", func(b *book.Book) {
			b.SetJob(job())
			b.Assume(job(), *reservation())
			b.DeleteJob("j")
			b.Tick(later)
		}, 0, 0, 0},
		{"what one Job may run is held at what still adds up", func(b *book.Book) {
			r := reservation()
			r.PodSets[0].Requests[gpu], r.PodSets[0].Count = 1<<62, 1<<40
			b.Assume(job(wants(1<<40)), *r)
		}, 1 << 53, 1 << 40, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := book.New()
			b.SetNode(&supply.Node{Name: "n", Ready: true, Allocatable: resource.List{gpu: 16, "pods": 110}})
			c.given(b)
			s := b.Snapshot()
			if got := s.Usage(quota.Key{Queue: "research", Flavor: "h100", Resource: gpu}); got != c.charged {
				t.Errorf("charged %d, want %d", got, c.charged)
			}
			promised, rivals := int64(0), int64(0)
			for _, p := range s.Promises() {
				promised += p.Pods
				if p.Flavor != "h100" || p.Shape.Place().NodeSelector["kind"] != "h100" {
					t.Errorf("promised on %q at %v", p.Flavor, p.Shape.Place())
				}
			}
			for _, p := range s.Rivals() {
				rivals += p.Pods
			}
			if promised != c.promised || rivals != c.rivals {
				t.Errorf("promised %d, rivals %d; want %d and %d", promised, rivals, c.promised, c.rivals)
			}
			if err := b.SelfCheck(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnUpdateThatChangesNothingCostsNothing(t *testing.T) {
	b := book.New()
	b.SetJob(job(admitted))
	p := pod("1", "n")
	b.SetPod(p)
	again := *p
	if allocs := testing.AllocsPerRun(100, func() { b.SetPod(&again) }); allocs > 2 {
		t.Errorf("%v allocations", allocs)
	}
}
