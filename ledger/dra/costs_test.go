package dra

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	resourceapi "k8s.io/api/resource/v1"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/supply"
)

func TestWhatRowsCostEachOther(t *testing.T) {
	modelA := selecting(exactly("gpu", 1), `device.attributes["gpu.example.com"].model == "a"`)
	modelB := selecting(exactly("gpu", 1), `device.attributes["gpu.example.com"].model == "b"`)
	cards := func(s *State) {
		a, b := card("gpu-0", "gpu"), card("gpu-1", "gpu")
		a.Attributes["model"], b.Attributes["model"] = text("a"), text("b")
		s.SetSlice(sliceOf("cards", "node-1", "node-1", 1, 1, a, b))
	}
	cases := map[string]struct {
		objects func(*State)
		a, b    resourceapi.DeviceRequest
		want    int64
	}{
		"sets without a card in common cost each other nothing":       {cards, modelA, modelB, 0},
		"sets with a card in common cost each other one for one":      {cards, modelA, exactly("gpu", 1), 1},
		"a kit may cost a set all there is":                           {cards, modelA, all("gpu"), supply.All},
		"who looks after parts of a card may find too little of it":   {samples(1, 2), exactly("mig", 1), admin(exactly("gpu", 1)), supply.All},
		"who only looks after devices takes nothing from anybody":     {cards, modelA, admin(all("gpu")), 0},
		"a kit without a card in common costs nothing":                {cards, modelA, firstOf(sub("x", "mig", 1)), 0},
		"sets that consume the same counters may cost each other all": {samples(1, 2), exactly("gpu", 1), exactly("mig", 1), supply.All},
		"sets on nodes of their own cost each other nothing":          {samples(0), exactly("gpu", 1), exactly("mig", 1), 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := New()
			for _, class := range sampleClasses() {
				s.SetClass(class)
			}
			c.objects(s)
			for i := range 4 {
				s.SetNode(fmt.Sprintf("node-%d", i), nil)
			}
			a, _ := s.Want([]resourceapi.ResourceClaimSpec{claimOf(c.a)})
			b, _ := s.Want([]resourceapi.ResourceClaimSpec{claimOf(c.b)})
			s.Changed()
			var want []supply.Cost
			if c.want > 0 {
				want = []supply.Cost{{Of: min(a, b), From: max(a, b), Units: c.want}, {Of: max(a, b), From: min(a, b), Units: c.want}}
			}
			got, changed := s.Costs()
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || changed != (c.want > 0) {
				t.Fatalf("costs, changed: %v (-want +got):\n%s", changed, diff)
			}
			if _, again := s.Costs(); again {
				t.Fatal("changed again, though nothing happened")
			}
		})
	}
}

func samples(which ...int) func(*State) {
	return func(s *State) {
		for _, i := range which {
			s.SetSlice(sampleSlices()[i])
		}
	}
}

// What a claim takes from a row is no more than what its own row's costs say.
func TestCostsAreEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := start(t)
		heard := told{}
		heard.hear(s)
		list, _ := s.Costs()
		costs := map[[2]string]int64{}
		for _, c := range list {
			costs[[2]string{c.Of, c.From}] = c.Units
		}
		a := allocator{expressions: newExpressions(), classes: w.classes}
		for _, name := range slices.Sorted(maps.Keys(w.wants)) {
			node := drawName(t, "node", worldNodes)
			if heard[node][name].Free == 0 || w.doubtful() {
				continue
			}
			one := s.wants[name].claims
			results, err := a.allocate(w.site(node, true), one)
			if err != nil || results == nil {
				t.Fatalf("%d of %s are free on %s, and can't be allocated: %v, %v", heard[node][name].Free, name, node, results, err)
			}
			c := &resourceapi.ResourceClaim{}
			c.UID, c.Status.Allocation = "taken", &resourceapi.AllocationResult{}
			for _, result := range results {
				c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, result.Devices.Results...)
			}
			s.SetClaim(c)
			after := told{}
			for n, rows := range heard {
				after[n] = rows
			}
			after.hear(s)
			for other, was := range heard[node] {
				lost := was.Free - after[node][other].Free
				if cost, known := costs[[2]string{name, other}]; other != name && lost > 0 && (!known || lost > cost) {
					t.Fatalf("one unit of %s took %d of %s on %s, its cost is %d", name, lost, other, node, cost)
				}
			}
			s.DeleteClaim("taken")
			s.Changed()
		}
	})
}
