package decide_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// gangOf lets a Job of two pods of 4 GPUs each go, planned for the only node there is
// by then: one pod is bound there, the other one finds no place.
func gangOf(w *world) {
	w.catalog.Queues["research"] = queue(8)
	w.node("n1", 8)
	w.carryOut(w.planOf(w.job("a", 2, 4)))
	w.pod("1", "n1", "a", 4)
	w.pod("2", "", "a", 4, unbound(start+10*second))
}

// cameAt is a pod of another namespace that came to its node so many seconds after start.
func cameAt(seconds int64) func(*supply.Pod) {
	return func(p *supply.Pod) {
		p.Namespace, p.BoundSince = "ops", start+seconds*second
	}
}

const noNode = "BackingOff: 1 pod found no node within 120 s"

func TestWhoTookTheRoomOfAGangIsNamed(t *testing.T) {
	for _, c := range []takeBackCase{
		{"a pod that nobody queued, and what it holds of what was asked for", func(w *world) {
			gangOf(w)
			w.pod("hog", "n1", "", 3, cameAt(5), func(p *supply.Pod) { p.Requests["cpu"] = 500 })
		}, 130, map[string]string{"a": noNode + "; its room was taken by pods that nobody queued: ops/hog (3 nvidia.com/gpu on n1)"}, 0},
		{"in the very second of the admission, too", func(w *world) {
			gangOf(w)
			w.pod("hog", "n1", "", 1, cameAt(0))
		}, 130, map[string]string{"a": noNode + "; its room was taken by pods that nobody queued: ops/hog (1 nvidia.com/gpu on n1)"}, 0},
		{"not one that was there before", func(w *world) {
			gangOf(w)
			w.pod("old", "n1", "", 1, cameAt(-1))
		}, 130, map[string]string{"a": noNode}, 0},
		{"not one without which there would be no more room", func(w *world) {
			gangOf(w)
			w.pod("small", "n1", "", 0, cameAt(5))
			w.node("n2", 8, func(n *supply.Node) { n.Ready = false })
			w.pod("elsewhere", "n2", "", 4, cameAt(5))
			w.pod("hog", "n1", "", 4, cameAt(3))
		}, 130, map[string]string{"a": noNode + "; its room was taken by pods that nobody queued: ops/hog (4 nvidia.com/gpu on n1)"}, 0},
		{"nobody, while there is room: the scheduler has other grounds", func(w *world) {
			gangOf(w)
			w.pod("hog", "n1", "", 4, cameAt(5))
			w.node("n2", 8)
		}, 130, map[string]string{"a": noNode}, 0},
		{"not a pod of a Job in a queue", func(w *world) {
			gangOf(w)
			w.job("b", 1, 4, func(j *demand.Job) { j.Suspended = false })
			w.pod("b", "n1", "b", 4, cameAt(5))
		}, 130, map[string]string{"a": noNode}, 0},
		{"of two of whom one is enough, the last to come", func(w *world) {
			gangOf(w)
			w.node("n1", 10)
			w.pod("late", "n1", "", 2, cameAt(8))
			w.pod("early", "n1", "", 2, cameAt(5))
		}, 130, map[string]string{"a": noNode + "; its room was taken by pods that nobody queued: ops/late (2 nvidia.com/gpu on n1)"}, 0},
		{"first of all those who came to where it was planned to go", func(w *world) {
			gangOf(w)
			w.node("n2", 4)
			w.pod("planned", "n1", "", 4, cameAt(5))
			w.pod("later", "n2", "", 4, cameAt(8))
		}, 130, map[string]string{"a": noNode + "; its room was taken by pods that nobody queued: ops/planned (4 nvidia.com/gpu on n1)"}, 0},
		{"at most three by name", func(w *world) {
			gangOf(w)
			for i := range 4 {
				w.pod(fmt.Sprintf("hog-%d", i), "n1", "", 1, cameAt(5))
			}
		}, 130, map[string]string{"a": noNode + "; its room was taken by pods that nobody queued: ops/hog-3 (1 nvidia.com/gpu on n1), " +
			"ops/hog-2 (1 nvidia.com/gpu on n1), ops/hog-1 (1 nvidia.com/gpu on n1) and 1 other"}, 0},
		{"who took devices by a claim", func(w *world) {
			w.catalog.Queues["research"] = queue(8)
			w.node("n1", 0)
			w.devices("n1", 8, 8, 8)
			w.carryOut(w.planOf(w.job("a", 2, 0, asksDevices(cards, 4))))
			took := func(p *supply.Pod) { p.Place.Devices = resource.List{cards: 4} }
			w.pod("1", "n1", "a", 0, took)
			w.pod("2", "", "a", 0, unbound(start+10*second), took)
			w.pod("hog", "n1", "", 0, cameAt(5), took)
			w.devices("n1", 8, 0, 0)
		}, 130, map[string]string{"a": noNode + "; its room was taken by pods that nobody queued: ops/hog (4 devices of class gpu.example.com on n1)"}, 0},
		{"who took the place of a pod that was lost", func(w *world) {
			w.catalog.Queues["research"] = func() policies.Queue { q := queue(8); q.RecoveryTimeoutSeconds = 60; return q }()
			w.node("n1", 8)
			w.carryOut(w.planOf(w.job("a", 2, 4)))
			w.pod("1", "n1", "a", 4, ready)
			w.pod("2", "n1", "a", 4, ready)
			w.book.DeletePod("pod-2")
			w.book.Tick(start + 100*second)
			w.pod("3", "", "a", 4, unbound(start+101*second))
			w.pod("hog", "n1", "", 4, cameAt(100))
		}, 160, map[string]string{"a": "BackingOff: only 1 of 2 pods ready, and not all of them again within 60 s; " +
			"its room was taken by pods that nobody queued: ops/hog (4 nvidia.com/gpu on n1)"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r, _ := c.plan(t)
			if diff := cmp.Diff(c.want, taken(r)); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
		})
	}
}
