package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// together is three pods of a core each that share two cards.
func together(j *demand.Job) {
	j.PodSets[0] = demand.PodSet{
		Name: "main", Count: 1, Together: 3, Requests: resource.List{"cpu": 3000, "pods": 3, gpu: 2},
		Place:    demand.Place{Claimed: resource.List{gpu: 2}, Devices: resource.List{cards: 2}},
		Topology: demand.Topology{Level: "kubernetes.io/hostname", Required: true},
	}
}

func (w *world) coresAndCards(name string, cores, free int64) {
	w.node(name, 0, labels("kubernetes.io/hostname", name), func(n *supply.Node) {
		n.Allocatable["cpu"] = cores
		n.Capacity = n.Allocatable
	})
	w.book.SetDevices(supply.Devices{Node: name, Rows: map[string]supply.Stock{cards: {Total: 2, Free: free}}})
}

// They go to one node that has room for all of them, with what they share once: they are
// held to it, are charged the cards once, and keep the room from the next like them.
func TestPodsThatShareDevicesGetOneNode(t *testing.T) {
	w := newWorld(t)
	w.coresAndCards("n1", 2000, 2)
	w.coresAndCards("n2", 7000, 2)
	w.coresAndCards("n3", 7000, 1)
	w.job("first", 1, 0, together)
	w.job("second", 1, 0, together)
	planner := decide.NewPlanner()
	r := planner.Plan(w.all())
	if diff := cmp.Diff([]string{"first"}, started(r)); diff != "" {
		t.Fatalf("who starts (-want +got):\n%s", diff)
	}
	want := demand.ReservedPodSet{
		Name: "main", Count: 3, Requests: resource.List{"cpu": 1000, "pods": 1}, Shared: resource.List{gpu: 2},
		Flavors:      map[string]string{gpu: "gpu", "pods": "gpu"},
		NodeSelector: map[string]string{"kubernetes.io/hostname": "n2"},
		Domains:      &demand.Domains{Level: "kubernetes.io/hostname", Names: []string{"n2"}, Required: true},
	}
	if diff := cmp.Diff(want, r.Admit[0].Reservation.PodSets[0]); diff != "" {
		t.Errorf("reserved (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"n2": 3}, r.Admit[0].Reservation.Plan); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.carryOut(r)
	r = planner.Plan(w.all())
	if got := started(r); len(got) > 0 {
		t.Errorf("%v started, too", got)
	}
	why, _ := planner.Why("uid-second")
	const says = "2 devices of class gpu.example.com asked, 5 free on the machines of gpu; waits until others are placed there (1 pod); " +
		"its 3 pods share a claim for devices and count as one, on one node"
	if diff := cmp.Diff(says, why.Reason.Message); diff != "" {
		t.Errorf("the second is told (-want +got):\n%s", diff)
	}
}
