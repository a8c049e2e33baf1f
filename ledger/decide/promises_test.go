package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// TestPromises: pods that were let go and are not bound may land anywhere, and
// nobody may be let go who would then be in the way, or find the way blocked.
func TestPromises(t *testing.T) {
	many := func(w *world) { w.catalog.Queues["research"] = queue(100) }
	for _, c := range []struct {
		name   string
		given  func(*world)
		starts []string
		waits  map[string]string
	}{
		{"pods of the same shape are interchangeable", func(w *world) {
			many(w)
			w.node("n1", 8)
			w.job("a", 4, 1)
			w.job("b", 4, 1)
		}, []string{"a", "b"}, map[string]string{}},
		{"a small pod that may land anywhere could split the last big gap", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.node("n2", 4)
			w.job("small", 1, 1)
			w.job("big", 2, 4)
		}, []string{"small"}, map[string]string{
			"big": "WaitingForMachines: 8 nvidia.com/gpu asked, 8 free on the machines of gpu; waits until others are placed there (1 pod)",
		}},
		{"once the small one is bound, it is known what is left", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.node("n2", 5)
			w.carryOut(w.planOf(w.job("small", 1, 1)))
			w.pod("s", "n2", "small", 1)
			w.job("big", 2, 4)
		}, []string{"big"}, map[string]string{}},
		{"a big gap that was promised is not split by a small pod", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.node("n2", 4)
			w.carryOut(w.planOf(w.job("big", 2, 4)))
			w.job("small", 1, 1)
		}, []string{}, map[string]string{
			"small": "WaitingForMachines: 1 nvidia.com/gpu asked, 8 free on the machines of gpu; waits until others are placed there (2 pods)",
		}},
		{"pods that can't meet don't mind each other", func(w *world) {
			many(w)
			w.node("n1", 4, labels("zone", "a"))
			w.node("n2", 4, labels("zone", "b"))
			w.job("small", 1, 1, selects("zone", "a"))
			w.job("big", 1, 4, selects("zone", "b"))
		}, []string{"small", "big"}, map[string]string{}},
		{"a pending pod of nobody counts if it has room", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.pod("stranger", "", "", 1)
			w.job("big", 1, 4)
		}, []string{}, map[string]string{
			"big": "WaitingForMachines: 4 nvidia.com/gpu asked, 4 free on the machines of gpu; waits until others are placed there (1 pod)",
		}},
		{"a pending pod that has no room, is gated or is deleted does not", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.pod("huge", "", "", 9)
			w.pod("gated", "", "", 1, func(p *supply.Pod) { p.Gated = true })
			w.pod("going", "", "", 1, func(p *supply.Pod) { p.Deleting = true })
			w.pod("stuck", "", "", 1, func(p *supply.Pod) {
				p.UnschedulableSince = 1
				p.Place.Unverified = []string{"unbound volume"}
			})
			w.job("big", 1, 4)
		}, []string{"big"}, map[string]string{}},
		{"cpu that every node has plenty of is in nobody's way", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.pod("stranger", "", "", 0, func(p *supply.Pod) { p.Requests["cpu"] = 100 })
			w.job("big", 1, 4, func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = 1000 })
		}, []string{"big"}, map[string]string{}},
		{"a promise that was broken holds up nothing that does not touch it", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.carryOut(w.planOf(w.job("big", 1, 4, func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = 1000 })))
			w.pod("stranger", "n1", "", 1)
			w.job("small", 1, 0, func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = 1000 })
		}, []string{"small"}, map[string]string{}},
		{"pod sets of one workload start together or not at all", func(w *world) {
			many(w)
			w.node("n1", 6)
			two := func(gpus int64) func(*demand.Job) {
				return func(j *demand.Job) {
					j.PodSets = append(j.PodSets, demand.PodSet{
						Name: "workers", Count: 2, Requests: resource.List{"pods": 1, gpu: gpus},
					})
				}
			}
			w.job("fits", 1, 1, two(1))
			w.job("half", 1, 1, two(2))
		}, []string{"fits"}, map[string]string{
			"half": "WaitingForMachines: 4 nvidia.com/gpu asked, 6 free on the machines of gpu; waits until others are placed there (3 pods)",
		}},
		{"one pod for each node stays one when it is promised", func(w *world) {
			many(w)
			w.node("n1", 4)
			w.node("n2", 4)
			alone := func(j *demand.Job) {
				j.PodSets[0].Place.Once = resource.List{resource.Port("TCP", "80"): resource.Whole}
			}
			w.job("a", 2, 1, alone)
			w.job("b", 1, 1, alone)
		}, []string{"a"}, map[string]string{
			"b": "WaitingForMachines: 1 host port 80/TCP asked, 2 free on the machines of gpu; waits until others are placed there (2 pods)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			got := w.plan()
			if diff := cmp.Diff(c.starts, started(got)); diff != "" {
				t.Errorf("who starts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.waits, said(got)); diff != "" {
				t.Errorf("who waits and why (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPromiseEndsWithThePodsBeingBoundAndComesBackWithThemGone(t *testing.T) {
	w := newWorld(t)
	w.catalog.Queues["research"] = queue(100)
	w.node("n1", 4)
	w.carryOut(w.planOf(w.job("a", 4, 1)))
	for _, name := range []string{"1", "2", "3", "4"} {
		w.pod(name, "n1", "a", 1)
	}
	if got := w.book.Snapshot().Promises(); len(got) != 0 {
		t.Fatalf("all pods are bound, still promised: %v", got)
	}
	w.book.DeletePod("pod-1") // it ended, and the Job wants another
	w.job("b", 1, 1)
	if got := w.plan(); len(got.Admit) != 0 {
		t.Fatalf("took the room of a pod that comes again: %v", started(got))
	}
}

func TestRoomOfAFlavorWithoutVerificationIsNotPromised(t *testing.T) {
	w := newWorld(t)
	w.catalog.Flavors["gpu"] = policies.Flavor{Verify: policies.VerifyNone}
	w.catalog.Queues["research"] = queue(100)
	w.job("a", 90, 1)
	w.job("b", 10, 1)
	if diff := cmp.Diff([]string{"a", "b"}, started(w.plan())); diff != "" {
		t.Error(diff)
	}
}
