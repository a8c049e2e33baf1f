package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/sim"
)

// TestSafetyUnits: cards and parts of them that are charged as one never have more of a
// queue's quota together than there is, counted pod by pod.
func TestSafetyUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 3, jobs: 12, noCohort: true, bigMachines: true})
		inSlices(t, w.Catalog)
		for _, c := range w.Changes {
			if c.Arrive == nil {
				continue
			}
			if n := rapid.Int64Range(0, 3).Draw(t, "parts of a pod"); n > 0 {
				c.Arrive.PodSets[0].Requests[part] = n
			}
		}
		each := w.Catalog.Resources.Conversions[gpu]["slices"]
		watched(t, w, func(m sim.Moment) {
			used := map[[2]string]int64{}
			for _, p := range m.Pods {
				used[[2]string{p.Queue, p.Flavors["slices"]}] += p.Requests[gpu]*each + p.Requests[part]
			}
			for at, n := range used {
				if most := w.Catalog.Queues[at[0]].Quota[at[1]]["slices"].Nominal; n > most {
					t.Fatalf("queue %s has %d slices on %s, and may have %d\n%s", at[0], n, at[1], most, show(w))
				}
			}
		})
	})
}
