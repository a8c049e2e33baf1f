package estimate_test

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// TestMachinesThatMayBeAddedAreCountedOnce: two may be, and hold the first two Jobs; the
// third starts when one of those ends, and not on a third machine.
func TestMachinesThatMayBeAddedAreCountedOnce(t *testing.T) {
	c := catalog(policies.BestEffortFIFO, map[string]int64{"q": 100})
	c.Flavors["gpu"] = policies.Flavor{NodeLabels: map[string]string{"pool": "gpu"}, Elastic: policies.Elastic{Max: 2, Node: policies.Amounts{gpu: 2}}}
	for _, comes := range []int64{0, 1000 * second} { // they are there, or on their way
		w := sim.World{
			Catalog: c, Until: start + 2000*second, Hints: true, Autoscaler: &sim.Autoscaler{After: comes},
			Changes: arrive(asks("a", "q", 1, 2, minute, minute), asks("b", "q", 1, 2, minute, minute), asks("c", "q", 1, 2, minute, minute)),
		}
		got := ""
		w.Observe = func(m sim.Moment) {
			if got == "" && len(m.Plan.Admit) == 0 && len(m.Plan.Waiting) == 1 {
				got = tell(byUID(estimate.Work(seen(&m, nil)))["c"])
			}
		}
		if _, err := sim.Run(w); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got, "2s to 60s") {
			t.Errorf("machines that take %d s: c starts from %s", comes/second, got)
		}
	}
}
