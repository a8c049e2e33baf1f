package resource_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/resource"
)

const (
	gpu   = "nvidia.com/gpu"
	third = "nvidia.com/mig-3g.40gb"
)

func sevenths() resource.Rates {
	return resource.NewRates(map[string]map[string]int64{gpu: {"slices": 7, "memory-gi": 80}, third: {"slices": 3}})
}

func TestRates(t *testing.T) {
	r := sevenths()
	list := resource.List{gpu: 2, third: 1, "cpu": 4000}
	if diff := cmp.Diff(resource.List{"slices": 17, "memory-gi": 160, "cpu": 4000}, r.Charged(list)); diff != "" {
		t.Errorf("charged (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(list, resource.NewRates(nil).Charged(list)); diff != "" {
		t.Errorf("without rates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]resource.Rate{{gpu, 7}, {third, 3}, {"slices", 1}}, r.Sources("slices")); diff != "" {
		t.Errorf("what slices are charged for (-want +got):\n%s", diff)
	}
	if got := r.Sources(gpu); len(got) > 0 {
		t.Errorf("%s is charged for %v, though it is charged as others itself", gpu, got)
	}
	if diff := cmp.Diff([]string{"memory-gi", "slices"}, r.Targets()); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	huge := r.Charged(resource.List{gpu: resource.Limit / 2, third: resource.Limit / 2})
	if huge["slices"] != resource.Limit {
		t.Errorf("%d slices, want what cannot be counted", huge["slices"])
	}
}

// TestChargesOfASumAreTheSumOfCharges: it makes no difference whether pods are
// charged one by one, or all that they hold together.
func TestChargesOfASumAreTheSumOfCharges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := resource.NewRates(drawTable(t))
		sum, charges := resource.List{}, resource.List{}
		for range rapid.IntRange(0, 8).Draw(t, "pods") {
			pod := resource.List{}
			for i := range rapid.IntRange(0, 4).Draw(t, "resources") {
				pod[fmt.Sprint("raw-", i)] = rapid.Int64Range(0, 1<<40).Draw(t, "amount")
			}
			count := rapid.Int64Range(0, 1000).Draw(t, "copies")
			sum.AddTo(pod, count)
			charges.AddTo(rates.Charged(pod), count)
		}
		if diff := cmp.Diff(charges, rates.Charged(sum)); diff != "" {
			t.Fatalf("of each (-) and of the sum (+):\n%s", diff)
		}
	})
}

func drawTable(t *rapid.T) map[string]map[string]int64 {
	table := map[string]map[string]int64{}
	for i := range rapid.IntRange(0, 4).Draw(t, "rates") {
		instead := map[string]int64{}
		for range rapid.IntRange(1, 3).Draw(t, "charged instead") {
			name := fmt.Sprint("unit-", rapid.IntRange(0, 2).Draw(t, "unit"))
			instead[name] = rapid.Int64Range(1, 1000).Draw(t, "each")
		}
		table[fmt.Sprint("raw-", i)] = instead
	}
	return table
}
