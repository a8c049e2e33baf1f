package sim_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// TestWhoIsLetGoToMachinesThatComeGetsThem: whatever gangs come, and wherever the
// scheduler puts their pods, an autoscaler that adds what pods lack has all of them come
// up, none is taken back, and all are over in the end. A planner that remembers
// decides like one that does not.
func TestWhoIsLetGoToMachinesThatComeGetsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, each := rapid.Int64Range(1, 4).Draw(t, "machines"), rapid.Int64Range(1, 8).Draw(t, "gpus of one")
		flavor := policies.Flavor{NodeLabels: map[string]string{"pool": "a"}, Elastic: policies.Elastic{
			Max: most, Node: policies.Amounts{"nvidia.com/gpu": each}, TimeoutSeconds: 1000,
		}}
		w := sim.World{
			Catalog: &policies.Catalog{Flavors: map[string]policies.Flavor{"a": flavor}, Queues: map[string]policies.Queue{"q": {
				Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"a"},
				Quota: map[string]map[string]policies.Limit{"a": {"nvidia.com/gpu": {Nominal: 1000}}},
			}}},
			Seed: rapid.Uint64().Draw(t, "seed"), Autoscaler: &sim.Autoscaler{After: rapid.Int64Range(0, 100).Draw(t, "after") * second},
			Delays: sim.Delays{React: second, Schedule: 2 * second, Ready: second, Grace: second},
		}
		jobs := rapid.IntRange(1, 8).Draw(t, "jobs")
		for i := range jobs {
			gpus := rapid.Int64Range(1, each).Draw(t, "gpus")
			pods := rapid.Int64Range(1, most*(each/gpus)).Draw(t, "pods")
			name := fmt.Sprint("j", i)
			w.Changes = append(w.Changes, sim.Change{At: start + rapid.Int64Range(0, 50).Draw(t, "at")*second, Arrive: &sim.Workload{
				UID: name, Namespace: "team", Name: name, Verdict: policies.Verdict{Queue: "q"}, Runs: rapid.Int64Range(1, 60).Draw(t, "runs") * second,
				PodSets: []demand.PodSet{{Name: "main", Count: pods, Requests: resource.List{"nvidia.com/gpu": gpus, "pods": 1}}},
			}})
		}
		planner := decide.NewPlanner()
		w.Observe = func(m sim.Moment) {
			if int64(len(m.Nodes)) > most {
				t.Fatalf("%d machines of %d", len(m.Nodes), most)
			}
			if len(m.Plan.Suspend) > 0 {
				t.Fatalf("%s is taken back: %s", m.Plan.Suspend[0].Job.Name, m.Plan.Suspend[0].Reason.Message)
			}
			again := planner.Plan(m.Input)
			if got, want := len(again.Admit), len(m.Plan.Admit); got != want {
				t.Fatalf("a planner that remembers lets %d go, and one that does not %d", got, want)
			}
			for i, a := range m.Plan.Admit {
				if b := again.Admit[i]; a.Job.UID != b.Job.UID || a.Reservation.Machines != b.Reservation.Machines {
					t.Fatalf("a planner that remembers lets %s go with %d machines, and one that does not %s with %d",
						b.Job.UID, b.Reservation.Machines, a.Job.UID, a.Reservation.Machines)
				}
			}
			if err := m.Book.SelfCheck(); err != nil {
				t.Fatal(err)
			}
		}
		log, err := sim.Run(w)
		if err != nil {
			t.Fatal(err)
		}
		over := map[string]bool{}
		for _, r := range log.Records {
			if r.Kind == sim.Ended {
				over[r.UID] = true
			}
		}
		if len(over) != jobs {
			t.Fatalf("%d of %d Jobs are over; the others wait: %v", len(over), jobs, log.Waiting)
		}
	})
}
