package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// TestWhoLostItsNodeIsLeftAloneAlsoAfterARestart: a Job that had all of its pods is not
// one that never got them, whoever looks at it; that they were lost, its status says.
func TestWhoLostItsNodeIsLeftAloneAlsoAfterARestart(t *testing.T) {
	w := sim.World{
		Catalog: &policies.Catalog{
			Flavors: map[string]policies.Flavor{"a": {}},
			Queues:  map[string]policies.Queue{"q": queueOf(4, "", policies.Preemption{})},
		},
		Until: start + 600*second,
		Changes: []sim.Change{
			{At: start, Node: node("a1", "a", 2)},
			{At: start, Node: node("a2", "a", 1)},
			{At: start, Arrive: runs("lost", 2, 1000)},
			{At: start + 20*second, NodeGone: "a1"},
		},
	}
	for at := start + 30*second; at < w.Until; at += 30 * second { // something to plan for
		w.Changes = append(w.Changes, sim.Change{At: at, Prioritize: &sim.Priority{UID: "lost", Priority: at / second % 7}})
	}
	looked := 0
	w.Observe = func(m sim.Moment) {
		looked++
		in := m.Input
		in.Snapshot = rebuilt(m, nil).Snapshot()
		if diff := cmp.Diff(effects(m.Plan), effects(decide.Plan(in))); diff != "" {
			t.Errorf("after %d s, running (-) and rebuilt (+) have other plans:\n%s", (in.Now-start)/second, diff)
		}
	}
	log, err := sim.Run(w)
	if err != nil {
		t.Fatal(err)
	}
	if looked < 10 {
		t.Fatalf("only %d plans", looked)
	}
	for _, r := range log.Records {
		if r.Kind == sim.Evicted {
			t.Errorf("it is taken back: %+v", r)
		}
	}
}

// queueOf is a queue with so many GPUs of flavor a.
func queueOf(gpus int64, cohort string, may policies.Preemption) policies.Queue {
	return policies.Queue{
		Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"a"}, Cohort: cohort, Preemption: may,
		Quota: map[string]map[string]policies.Limit{"a": {gpu: {Nominal: gpus}}},
	}
}

// runs is a Job of one pod.
func runs(name string, gpus, seconds int64) *sim.Workload {
	return &sim.Workload{
		UID: name, Namespace: "team", Name: name, Runs: seconds * second, Verdict: policies.Verdict{Queue: "q"},
		PodSets: []demand.PodSet{{Name: "main", Count: 1, Requests: resource.List{"pods": 1, gpu: gpus}}},
	}
}
