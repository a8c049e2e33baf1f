package sim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// flipping is a queue that has much of one flavor, or little of another.
func flipping(flavor string, gpus int64) *policies.Catalog {
	return &policies.Catalog{
		Flavors: map[string]policies.Flavor{flavor: {}},
		Queues: map[string]policies.Queue{"q": {
			Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{flavor}, Strategy: policies.BestEffortFIFO,
			Quota:      map[string]map[string]policies.Limit{flavor: {gpu: {Nominal: gpus}}},
			Preemption: policies.Preemption{WithinQueue: policies.VictimsLowerPriority},
		}},
	}
}

// TestAPolicyThatFlipsEveryMinuteEndsNothing: what starts under one of the two runs
// on under the other, which has neither its flavor nor as much quota; nobody starts
// beyond what is in force then; and all that is submitted is done in the end, once.
func TestAPolicyThatFlipsEveryMinuteEndsNothing(t *testing.T) {
	much, little := flipping("much", 8), flipping("little", 2)
	w := sim.World{
		Catalog: much, Seed: 1,
		Delays:  sim.Delays{Write: second, React: second / 2, Schedule: second, Ready: 2 * second, Grace: 5 * second},
		Changes: []sim.Change{{At: start, Node: node("n", "a", 16)}},
	}
	const jobs, minutes = 60, 120
	for i := range jobs {
		name := fmt.Sprint("j", i)
		w.Changes = append(w.Changes, sim.Change{At: start + int64(i)*20*second, Arrive: &sim.Workload{
			UID: name, Namespace: "team", Name: name, Runs: int64(50+i) * second, Verdict: policies.Verdict{Queue: "q"},
			PodSets: []demand.PodSet{{Name: "main", Count: int64(1 + i%2), Requests: resource.List{gpu: 1, "pods": 1}}},
		}})
	}
	for i := range minutes {
		w.Changes = append(w.Changes, sim.Change{At: start + int64(i+1)*60*second, Catalog: []*policies.Catalog{little, much}[i%2]})
	}
	w.Observe = func(m sim.Moment) {
		for flavor, nominal := range map[string]int64{"much": 8, "little": 2} {
			key := quota.Key{Queue: "q", Flavor: flavor, Resource: gpu}
			asked := int64(0)
			for _, a := range m.Plan.Admit {
				asked += charges(&a.Reservation, nil)[key]
			}
			if _, inForce := m.Input.Catalog.Flavors[flavor]; asked > 0 && (!inForce || m.Book.Usage()[key]+asked > nominal) {
				t.Errorf("at %d s %d GPUs of %s start beside %d, of %d", (m.Input.Now-start)/second, asked, flavor, m.Book.Usage()[key], nominal)
			}
		}
	}
	log, err := sim.Run(w)
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(log))
	}
	count := map[sim.Kind]int{}
	for _, r := range log.Records {
		if r.Kind != sim.Waits {
			count[r.Kind]++
		}
	}
	if diff := cmp.Diff(map[sim.Kind]int{sim.Arrived: jobs, sim.Admitted: jobs, sim.Ended: jobs}, count); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
}
