package dra

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/supply"
)

// sample is the state of the sample objects with two rows: single cards, and halves.
type sample struct {
	*State

	gpu, mig string
}

func newSample() *sample {
	s := &sample{State: New()}
	for _, c := range sampleClasses() {
		s.SetClass(c)
	}
	for _, l := range sampleSlices() {
		s.SetSlice(l)
		s.SetNode(*l.Spec.NodeName, nil)
	}
	s.gpu, _ = s.Want([]resourceapi.ResourceClaimSpec{claimOf(exactly("gpu", 1))})
	s.mig, _ = s.Want([]resourceapi.ResourceClaimSpec{claimOf(exactly("mig", 1))})
	return s
}

func stock(total, free int64) supply.Stock { return supply.Stock{Total: total, Free: free} }

func TestWhatAnEventDoesToTheRows(t *testing.T) {
	otherNode := "node-3"
	cases := map[string]struct {
		event func(*sample)
		want  func(*sample) []supply.Devices
	}{
		"at first everything is counted": {
			event: func(*sample) {},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{
					{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 4)}},
					{Node: "node-3", Rows: map[string]supply.Stock{s.gpu: stock(1, 1), s.mig: stock(2, 2)}},
				}
			},
		},
		"a claim takes one of four cards, on its node alone": {
			event: func(s *sample) { s.Changed(); s.SetClaim(allocated("c", "node-2", "gpu-1")) },
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 3)}}}
			},
		},
		"of a card that was for several once a claim still has a part": {
			event: func(s *sample) {
				s.Changed()
				once := card("gpu-0", "gpu")
				once.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("4")}}
				s.SetSlice(sliceOf("node-2-gpus", "node-2", "node-2", 1, 1, once, card("gpu-1", "gpu")))
				c, id := allocated("c", "node-2", "gpu-0"), types.UID("share")
				c.Status.Allocation.Devices.Results[0].ShareID = &id
				c.Status.Allocation.Devices.Results[0].ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("1")}
				s.SetClaim(c)
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(2, 1)}}}
			},
		},
		"half a card in use leaves the other half, and no whole card": {
			event: func(s *sample) { s.Changed(); s.SetClaim(allocated("c", "node-3", "half-1")) },
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-3", Rows: map[string]supply.Stock{s.gpu: stock(1, 0), s.mig: stock(2, 1)}}}
			},
		},
		"a claim that came and went in between is not told of": {
			event: func(s *sample) {
				s.Changed()
				s.SetClaim(allocated("c", "node-2", "gpu-1"))
				s.DeleteClaim("c")
			},
			want: func(*sample) []supply.Devices { return nil },
		},
		"a claim that loses its allocation gives back what it had": {
			event: func(s *sample) {
				s.SetClaim(allocated("c", "node-2", "gpu-1"))
				s.Changed()
				s.SetClaim(&resourceapi.ResourceClaim{ObjectMeta: allocated("c", "").ObjectMeta})
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 4)}}}
			},
		},
		"a device that vanishes under a claim is in use again when it comes back": {
			event: func(s *sample) {
				s.SetClaim(allocated("c", "node-2", "gpu-1"))
				s.DeleteSlice("node-2-gpus")
				s.Changed()
				s.SetSlice(sampleSlices()[0])
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 3)}}}
			},
		},
		"the first of two slices of a new generation makes the pool incomplete": {
			event: func(s *sample) {
				s.Changed()
				s.SetSlice(sliceOf("new", "node-2", "node-2", 2, 2, card("gpu-0", "gpu")))
			},
			want: func(*sample) []supply.Devices { return []supply.Devices{{Node: "node-2"}} },
		},
		"a generation that is set back counts again": {
			event: func(s *sample) {
				s.SetSlice(sliceOf("new", "node-2", "node-2", 9, 2, card("gpu-0", "gpu")))
				s.Changed()
				s.DeleteSlice("new")
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 4)}}}
			},
		},
		"cards of a generation that a slice of another node has left behind are gone": {
			event: func(s *sample) {
				s.SetSlice(sliceOf("near", "node-2", "span", 1, 2, card("a", "gpu")))
				s.SetSlice(sliceOf("far", "node-3", "span", 1, 2, card("b", "gpu")))
				s.Changed()
				s.SetSlice(sliceOf("new", "node-9", "span", 2, 1, card("c", "gpu")))
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{
					{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 4)}},
					{Node: "node-3", Rows: map[string]supply.Stock{s.gpu: stock(1, 1), s.mig: stock(2, 2)}},
				}
			},
		},
		"other devices under the same generation are counted anew": {
			event: func(s *sample) {
				s.Changed()
				s.SetSlice(sliceOf("node-2-gpus", "node-2", "node-2", 1, 1, card("gpu-7", "mig")))
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.mig: stock(1, 1)}}}
			},
		},
		"a device whose name is there twice makes the pool invalid": {
			event: func(s *sample) {
				s.Changed()
				s.SetSlice(sliceOf("node-2-gpus", "node-2", "node-2", 1, 1, card("a", "gpu"), card("a", "gpu")))
			},
			want: func(*sample) []supply.Devices { return []supply.Devices{{Node: "node-2"}} },
		},
		"cards of a pool that every node reaches count nowhere": {
			event: func(s *sample) {
				s.Changed()
				yes, l := true, sliceOf("fabric", "", "fabric", 1, 1, card("x", "gpu"))
				l.Spec.AllNodes = &yes
				s.SetSlice(l)
				s.SetNode("node-9", nil)
			},
			// On node-3 the allocator would have to be asked, and would count it there.
			want: func(*sample) []supply.Devices { return []supply.Devices{{Node: "node-3"}} },
		},
		"two nodes that take from the same counters have none of them": {
			event: func(s *sample) { s.Changed(); s.SetSlice(sliceOf("far", "node-2", "node-3", 1, 3)) },
			want:  func(*sample) []supply.Devices { return []supply.Devices{{Node: "node-3"}} },
		},
		"a rule taints one card": {
			event: func(s *sample) { s.Changed(); s.SetTaintRule(sick("node-2", "gpu-3", "NoSchedule")) },
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(3, 3)}}}
			},
		},
		"a rule without an effect taints nothing": {
			event: func(s *sample) { s.Changed(); s.SetTaintRule(sick("node-2", "gpu-3", "None")) },
			want:  func(*sample) []supply.Devices { return nil },
		},
		"a rule that is gone gives the card back": {
			event: func(s *sample) {
				s.SetTaintRule(sick("node-2", "gpu-3", "NoExecute"))
				s.Changed()
				s.DeleteTaintRule("sick")
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 4)}}}
			},
		},
		"a node that is gone has no rows": {
			event: func(s *sample) { s.Changed(); s.DeleteNode("node-3") },
			want:  func(*sample) []supply.Devices { return []supply.Devices{{Node: "node-3"}} },
		},
		"what nobody wants any more is not counted": {
			event: func(s *sample) { s.Changed(); s.Drop(s.gpu) },
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2"}, {Node: "node-3", Rows: map[string]supply.Stock{s.mig: stock(2, 2)}}}
			},
		},
		"what two want is counted until both don't": {
			event: func(s *sample) {
				s.Want([]resourceapi.ResourceClaimSpec{claimOf(exactly("gpu", 3))})
				s.Changed()
				s.Drop(s.gpu)
			},
			want: func(*sample) []supply.Devices { return nil },
		},
		"a bound pod takes what its claim will have, until that is seen": {
			event: func(s *sample) { s.Changed(); s.SetPod(podOn("node-2", exactly("gpu", 3))) },
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 1)}}}
			},
		},
		"a claim that is seen is not taken twice": {
			event: func(s *sample) {
				s.SetPod(podOn("node-2", exactly("gpu", 3)))
				s.Changed()
				s.SetClaim(reserved(allocated("c", "node-2", "gpu-0", "gpu-1"), "pod"))
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 2)}}}
			},
		},
		"a claim of another pod does not stand for it": {
			event: func(s *sample) {
				s.SetPod(podOn("node-2", exactly("gpu", 1)))
				s.Changed()
				s.SetClaim(reserved(allocated("c", "node-2", "gpu-0"), "other"))
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 2)}}}
			},
		},
		"a pod that was given more than looks free may have all of it": {
			event: func(s *sample) { s.Changed(); s.SetPod(podOn("node-2", exactly("gpu", 5))) },
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 0)}}}
			},
		},
		"a ghost may have any, be its own claim seen or not": {
			event: func(s *sample) {
				ghost := podOn("node-2", exactly("gpu", 1))
				ghost.Ghost = true
				s.SetClaim(reserved(allocated("c", "node-2", "gpu-0"), "pod"))
				s.SetPod(ghost)
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{
					{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 0)}},
					{Node: "node-3", Rows: map[string]supply.Stock{s.gpu: stock(1, 1), s.mig: stock(2, 2)}},
				}
			},
		},
		"halves of a card are taken by who stands in, too": {
			event: func(s *sample) { s.Changed(); s.SetPod(podOn(otherNode, exactly("mig", 1))) },
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-3", Rows: map[string]supply.Stock{s.gpu: stock(1, 0), s.mig: stock(2, 1)}}}
			},
		},
		"a pod that is gone takes nothing": {
			event: func(s *sample) {
				s.SetPod(podOn("node-2", exactly("gpu", 1)))
				s.Changed()
				s.DeletePod("pod")
			},
			want: func(s *sample) []supply.Devices {
				return []supply.Devices{{Node: "node-2", Rows: map[string]supply.Stock{s.gpu: stock(4, 4)}}}
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSample()
			c.event(s)
			if diff := cmp.Diff(c.want(s), s.Changed(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("rows (-want +got):\n%s", diff)
			}
			if again := s.Changed(); len(again) > 0 {
				t.Fatalf("told twice: %v", again)
			}
		})
	}
}

func sick(pool, name string, effect resourceapi.DeviceTaintEffect) *resourceapi.DeviceTaintRule {
	r := &resourceapi.DeviceTaintRule{}
	r.Name = "sick"
	r.Spec.DeviceSelector = &resourceapi.DeviceTaintSelector{Pool: &pool, Device: &name}
	r.Spec.Taint = resourceapi.DeviceTaint{Key: "sick", Effect: effect}
	return r
}

func podOn(node string, requests ...resourceapi.DeviceRequest) Pod {
	return Pod{UID: "pod", Node: node, Claims: []resourceapi.ResourceClaimSpec{claimOf(requests...)}}
}

func reserved(c *resourceapi.ResourceClaim, pod types.UID) *resourceapi.ResourceClaim {
	c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "any", UID: pod}}
	return c
}
