package estimate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const cards = resource.DeviceSet + "gpu/1"

// Who waits for devices starts when those end who have them, be they asked for by claims
// or by a resource that the node gives out of its devices.
func TestDevicesAreFreeWhenTheirJobsEnd(t *testing.T) {
	byClaim := demand.Place{Devices: resource.List{cards: 2}, Claimed: resource.List{gpu: 2}}
	for name, c := range map[string]struct{ waits, runs demand.Place }{
		"by claims":                   {byClaim, byClaim},
		"by the resource":             {demand.Place{}, demand.Place{Devices: resource.List{gpu: 2}, Claimed: resource.List{gpu: 2}}},
		"by the resource after claim": {demand.Place{}, byClaim},
	} {
		t.Run(name, func(t *testing.T) {
			requests := resource.List{"pods": 1, gpu: 2}
			job := func(uid string, place demand.Place) *demand.Job {
				return &demand.Job{
					UID: uid, Namespace: "team", Name: uid, Queue: "q", Created: start - minute, Suspended: true,
					PodSets: []demand.PodSet{{Name: "main", Count: 1, Requests: requests, Place: place}},
					Arrival: demand.Arrival{Effective: start - minute},
					Policy:  &policies.Workload{UID: uid, Namespace: "team", Name: uid, ActiveDeadlineSec: 60},
				}
			}
			asked := c.runs
			if asked.Devices[gpu] > 0 {
				asked = demand.Place{} // what it has since it is bound
			}
			running := job("runs", asked)
			running.Suspended, running.Started, running.Active = false, true, 1
			running.Reservation = &demand.Reservation{UID: "runs", Queue: "q", Time: start, PodSets: []demand.ReservedPodSet{{
				Name: "main", Count: 1, Requests: requests, Claimed: asked.Claimed, Flavors: map[string]string{"pods": "gpu", gpu: "gpu"},
			}}}
			outcome := decide.Outcome{Verdict: policies.Verdict{Queue: "q"}}
			found := estimate.Work(estimate.Input{
				Plan: decide.Input{
					Catalog: catalog(policies.BestEffortFIFO, map[string]int64{"q": 8}), Now: start,
					Verdicts: map[string]decide.Outcome{"waits": outcome, "runs": outcome}, Namespaces: map[string]map[string]string{"team": {}},
				},
				Jobs: []*demand.Job{running, job("waits", c.waits)},
				Pods: []*supply.Pod{{
					UID: "p", Namespace: "team", Name: "p", Node: "n", Requests: requests, JobUID: "runs", Started: true, Ready: true, Place: c.runs,
				}},
				Nodes: []*supply.Node{node("n", 0)},
				Counted: supply.Counted{
					Devices:  []supply.Devices{{Node: "n", Rows: map[string]supply.Stock{cards: {Total: 2}}}},
					Extended: map[string]string{gpu: cards},
				},
				Each: 10,
			})
			starts := found["q"]
			if len(starts) != 1 {
				t.Fatalf("%d starts, want 1: %+v", len(starts), starts)
			}
			if s := starts[0]; s.Latest < start+minute || s.Latest > start+minute+10*second {
				t.Errorf("starts from %d to %d, want a minute from %d at the latest: %+v", s.Earliest, s.Latest, start, s)
			}
		})
	}
}

// Pods that share devices take their room once: who needs what is left beside them starts
// while they run.
func TestPodsThatShareDevicesComeTogether(t *testing.T) {
	job := func(uid string, lasts int64, set demand.PodSet) *demand.Job {
		return &demand.Job{
			UID: uid, Namespace: "team", Name: uid, Queue: "q", Created: start - minute, Suspended: true, PodSets: []demand.PodSet{set},
			Policy: &policies.Workload{UID: uid, Namespace: "team", Name: uid, ActiveDeadlineSec: lasts},
		}
	}
	of := func(cpu int64) demand.PodSet {
		return demand.PodSet{Name: "main", Count: 1, Requests: resource.List{"pods": 1, "cpu": cpu}}
	}
	var pods []*supply.Pod
	running := func(uid string, lasts int64, set demand.PodSet) *demand.Job {
		is := job(uid, lasts, set)
		is.Suspended, is.Started, is.Active = false, true, 1
		is.Reservation = &demand.Reservation{UID: uid, Queue: "q", Time: start, PodSets: []demand.ReservedPodSet{{
			Name: "main", Count: 1, Requests: set.Requests, Flavors: map[string]string{"pods": "gpu"},
		}}}
		pods = append(pods, &supply.Pod{
			UID: "pod-" + uid, Namespace: "team", Name: uid, Node: "n", Requests: set.Requests, JobUID: uid, Started: true, Ready: true,
		})
		return is
	}
	sharing := of(60)
	sharing.Together, sharing.Requests[gpu] = 3, 2
	sharing.Place = demand.Place{Devices: resource.List{cards: 2}, Claimed: resource.List{gpu: 2}}
	sharing.Topology = demand.Topology{Level: "kubernetes.io/hostname", Required: true}
	n := node("n", 0)
	n.Labels, n.Allocatable = map[string]string{"kubernetes.io/hostname": "n"}, resource.List{"pods": 110, "cpu": 100}
	in := estimate.Input{
		Plan: decide.Input{
			Catalog: catalog(policies.BestEffortFIFO, map[string]int64{"q": 8}), Now: start,
			Verdicts: map[string]decide.Outcome{}, Namespaces: map[string]map[string]string{"team": {}},
		},
		Jobs:    []*demand.Job{running("one", 60, of(70)), running("two", 90, of(30)), job("a-sharing", 600, sharing), job("beside", 60, of(30))},
		Pods:    pods,
		Nodes:   []*supply.Node{n},
		Counted: supply.Counted{Devices: []supply.Devices{{Node: "n", Rows: map[string]supply.Stock{cards: {Total: 2, Free: 2}}}}},
		Each:    10,
	}
	for _, j := range in.Jobs {
		in.Plan.Verdicts[j.UID] = decide.Outcome{Verdict: policies.Verdict{Queue: "q"}}
	}
	got := map[string]int64{}
	for _, s := range estimate.Work(in)["q"] {
		got[s.Name] = (s.Latest - start) / (10 * second)
	}
	if diff := cmp.Diff(map[string]int64{"a-sharing": 6, "beside": 9}, got); diff != "" {
		t.Errorf("starts at the latest, in tens of seconds (-want +got):\n%s", diff)
	}
}
