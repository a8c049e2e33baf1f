package dra

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fleet is ten thousand nodes of eight cards. With ids, no two cards are alike to an
// expression that reads them, as with most drivers.
func fleet(ids bool) []*resourceapi.ResourceSlice {
	const nodes = 10_000
	list := make([]*resourceapi.ResourceSlice, 0, nodes)
	for n := range nodes {
		name := fmt.Sprintf("node-%05d", n)
		l := sliceOf(name, name, name, 1, 1)
		for i := range 8 {
			d := card(fmt.Sprintf("gpu-%d", i), "gpu")
			d.Attributes["model"] = text([]string{"a", "b"}[n%2])
			if ids {
				d.Attributes["uuid"] = text(fmt.Sprintf("%s-%d", name, i))
			}
			l.Spec.Devices = append(l.Spec.Devices, d)
		}
		list = append(list, l)
	}
	return list
}

func fleetState(slices []*resourceapi.ResourceSlice) *State {
	s := New()
	for i, expression := range []string{`.type == "gpu"`, `.model == "a"`, `.model == "b"`} {
		s.SetClass(class(fmt.Sprint("class-", i), `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"]`+expression))
	}
	for _, l := range slices {
		s.SetNode(*l.Spec.NodeName, nil)
		s.SetSlice(l)
	}
	s.Changed()
	return s
}

func (s *State) wantAll() {
	for i := range 3 {
		s.Want([]resourceapi.ResourceClaimSpec{claimOf(exactly(fmt.Sprint("class-", i), 1))})
	}
}

// The first count of 80,000 devices for three classes.
func BenchmarkFirstCount(b *testing.B) {
	for name, ids := range map[string]bool{"alike": false, "each with an id": true} {
		b.Run(name, func(b *testing.B) {
			slices := fleet(ids)
			for b.Loop() {
				b.StopTimer()
				s := fleetState(slices)
				b.StartTimer()
				s.wantAll()
				if got := len(s.Changed()); got != len(slices) {
					b.Fatalf("%d nodes have rows, want %d", got, len(slices))
				}
			}
		})
	}
}

// A claim is allocated, and another one is gone, among 80,000 devices.
func BenchmarkClaim(b *testing.B) {
	s := fleetState(fleet(true))
	s.wantAll()
	s.Changed()
	for i := 0; b.Loop(); i++ {
		pool := fmt.Sprintf("node-%05d", i%10_000)
		uid := types.UID(fmt.Sprint(i))
		s.SetClaim(allocated(uid, pool, "gpu-3"))
		if len(s.Changed()) != 1 {
			b.Fatal("one node must change")
		}
		s.DeleteClaim(uid)
		s.Changed()
	}
}

// All slices, one by one: what a start costs before anything is counted.
func BenchmarkSlice(b *testing.B) {
	slices := fleet(true)
	for b.Loop() {
		s := New()
		for _, l := range slices {
			s.SetSlice(l)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(slices)), "ns/slice")
}

func allocated(uid types.UID, pool string, devices ...string) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for _, name := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Driver: driver, Pool: pool, Device: name})
	}
	return c
}
