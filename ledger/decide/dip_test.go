package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

func down(n *supply.Node) { n.Ready = false }

func cordoned(n *supply.Node) {
	n.Taints = append(n.Taints, policies.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
}

// built has so many GPUs built in, whatever can be given out now.
func built(gpus int64) func(*supply.Node) {
	return func(n *supply.Node) {
		n.Capacity = resource.List{"cpu": 8000, "memory": 64 << 30, "pods": 110, gpu: gpus}
	}
}

// TestMachinesThatMayComeBack: what is away for a moment makes a Job wait; it is
// told never only if the machines could not do with all of them in order.
func TestMachinesThatMayComeBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(*world)
		waits map[string]string
	}{
		{"devices that are not allocatable for a moment are waited for", func(w *world) {
			w.node("n1", 0, built(8))
			w.job("train", 4, 1)
		}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 0 free on the machines of gpu; 8 more are not allocatable now",
		}},
		{"so is a single one", func(w *world) {
			w.node("n1", 3, built(4))
			w.job("train", 4, 1)
		}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 3 free on the machines of gpu; 1 more is not allocatable now",
		}},
		{"a node that has fewer built in than are asked for never fits", func(w *world) {
			w.node("n1", 0, built(3))
			w.job("train", 4, 1)
		}, map[string]string{
			"train": "NeverFits: 4 pods of 1 nvidia.com/gpu each asked; the machines of gpu (1 node, with 3 each at most) would have room for 3 if nothing ran. " +
				"It starts by itself if more or bigger ones come. Try: ask for less per pod, or fewer pods",
		}},
		{"what a node keeps of its cpu for itself never comes free", func(w *world) {
			w.node("n1", 8, built(8), func(n *supply.Node) { n.Allocatable["cpu"] = 7500 })
			w.job("train", 1, 1, asksCPU(8000))
		}, map[string]string{
			"train": "NeverFits: no node of gpu could ever hold a pod of it: 8 cpu asked, 7500m is the most that one has. " +
				"It starts by itself if more or bigger ones come. Try: ask for less per pod",
		}},
		{"but a node that has none to give for a moment is waited for", func(w *world) {
			w.node("n1", 8, built(8), func(n *supply.Node) { n.Allocatable["cpu"] = 0 })
			w.job("train", 1, 1, asksCPU(8000))
		}, map[string]string{
			"train": "WaitingForMachines: 8 cpu asked, 0 free on the machines of gpu; 8 more are not allocatable now",
		}},
		{"one of three nodes is cordoned", func(w *world) {
			w.node("n1", 1)
			w.node("n2", 1)
			w.node("n3", 2, cordoned)
			w.job("train", 4, 1)
		}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 2 free on the machines of gpu; 1 of 3 matching nodes is cordoned or not ready",
		}},
		{"two of three are out, one of them twice over", func(w *world) {
			w.node("n1", 1)
			w.node("n2", 1, down, cordoned)
			w.node("n3", 2, down)
			w.job("train", 4, 1)
		}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 1 free on the machines of gpu; 2 of 3 matching nodes are cordoned or not ready",
		}},
		{"the only one is down", func(w *world) {
			w.node("n1", 4, down)
			w.job("train", 4, 1)
		}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 0 free on the machines of gpu; the only matching node is cordoned or not ready",
		}},
		{"nodes that could not run it anyway are not spoken of", func(w *world) {
			w.node("n1", 4, labels("zone", "a"))
			w.node("n2", 4, labels("zone", "b"), down)
			w.pod("stranger", "n1", "", 1)
			w.job("train", 4, 1, selects("zone", "a"))
		}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 3 free on the machines of gpu",
		}},
		{"a node whose cards are being divided anew is given nothing new, and its cause told", func(w *world) {
			w.node("n1", 1)
			w.node("n2", 4, func(n *supply.Node) { n.Closed = "its cards are being divided anew" })
			w.job("train", 4, 1)
		}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 1 free on the machines of gpu; " +
				"1 of 2 matching nodes is cordoned, not ready or closed; one of them: its cards are being divided anew",
		}},
		{"devices that can't be counted never do, and why is told", func(w *world) {
			w.node("n1", 0, func(n *supply.Node) { n.Unsure = "HAMi shares its devices" })
			w.job("train", 1, 1)
		}, map[string]string{
			"train": "NeverFits: no node of gpu could ever hold a pod of it: 1 nvidia.com/gpu asked, 0 is the most that one has; one of them: HAMi shares its devices. " +
				"It starts by itself if more or bigger ones come. Try: ask for less per pod",
		}},
		{"gaps that are too small are told with the node that is out", func(w *world) {
			w.node("n1", 1)
			w.node("n2", 1)
			w.node("n3", 2, down)
			w.job("train", 1, 2)
		}, map[string]string{
			"train": "Fragmented: 1 pod of 2 nvidia.com/gpu each asked; on the machines of gpu 2 free on 2 nodes, at most 1 on one" +
				"; 1 of 3 matching nodes is cordoned or not ready",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			if diff := cmp.Diff(c.waits, said(w.plan())); diff != "" {
				t.Errorf("who waits and why (-want +got):\n%s", diff)
			}
		})
	}
}

func asksCPU(milli int64) func(*demand.Job) {
	return func(j *demand.Job) {
		j.PodSets[0].Requests["cpu"] = milli
	}
}

// TestStrictLineIsNotOvertakenInADip follows a strict queue through a moment in
// which its head could not run anywhere.
func TestStrictLineIsNotOvertakenInADip(t *testing.T) {
	w := newWorld(t)
	q := queue(8)
	q.Strategy = policies.StrictFIFO
	w.catalog.Queues["research"] = q
	w.node("n1", 8, built(8))
	w.node("n2", 1)
	w.pod("stranger", "n1", "", 1)
	w.job("big", 8, 1)
	w.job("small", 1, 1)
	w.pod("other", "n2", "", 1)
	behind := "BehindOthers: research is strict about order, and team/big is before it and does not fit yet"
	for _, step := range []struct {
		name string
		do   func()
		want map[string]string
	}{
		{"its head waits for one device", func() {}, map[string]string{
			"big": "WaitingForMachines: 8 nvidia.com/gpu asked, 7 free on the machines of gpu", "small": behind,
		}},
		{"the device plugin restarts, and another node has room", func() {
			w.node("n1", 0, built(8))
			w.book.DeletePod("pod-other")
		}, map[string]string{
			"big": "WaitingForMachines: 8 nvidia.com/gpu asked, 1 free on the machines of gpu; 8 more are not allocatable now", "small": behind,
		}},
		{"the node is down as well", func() { w.node("n1", 0, built(8), down) }, map[string]string{
			"big": "WaitingForMachines: 8 nvidia.com/gpu asked, 1 free on the machines of gpu; 1 of 2 matching nodes is cordoned or not ready", "small": behind,
		}},
		{"all is back", func() {
			w.node("n1", 8, built(8))
			w.book.DeletePod("pod-stranger")
		}, map[string]string{"small": "WaitingForQuota: research uses 8 of 8 nvidia.com/gpu on gpu; 1 asked, 0 left"}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, said(w.plan())); diff != "" {
			t.Errorf("%s: who waits and why (-want +got):\n%s", step.name, diff)
		}
	}
}
