package estimate_test

import (
	"fmt"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const (
	gpu    = "nvidia.com/gpu"
	second = int64(1e9)
	minute = 60 * second
	start  = 1_000_000 * second
)

// catalog of one flavor and these queues of so many GPUs.
func catalog(strategy policies.Strategy, gpus map[string]int64) *policies.Catalog {
	c := &policies.Catalog{Flavors: map[string]policies.Flavor{"gpu": {}}, Queues: map[string]policies.Queue{}}
	for name, n := range gpus {
		c.Queues[name] = policies.Queue{
			Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"gpu"}, Strategy: strategy,
			Quota: map[string]map[string]policies.Limit{"gpu": {gpu: {Nominal: n}}},
		}
	}
	return c
}

func node(name string, gpus int64) *supply.Node {
	return &supply.Node{Name: name, Ready: true, Allocatable: resource.List{"cpu": 1_000_000, "pods": 10_000, gpu: gpus}}
}

// asks is a workload of pods with GPUs each that may run for limit (0: no limit) and runs.
func asks(uid, queue string, pods, gpus, limit, runs int64) *sim.Workload {
	w := &sim.Workload{
		UID: uid, Namespace: "team", Name: uid, Runs: runs, Verdict: policies.Verdict{Queue: queue},
		PodSets: []demand.PodSet{{Name: "main", Count: pods, Requests: resource.List{"pods": 1, gpu: gpus}}},
		Policy:  &policies.Workload{UID: uid, Namespace: "team", Name: uid},
	}
	if limit > 0 {
		w.Policy.ActiveDeadlineSec = limit / second
	}
	return w
}

// seen is a moment of a run as the estimate gets to see it.
func seen(m *sim.Moment, history *estimate.History) estimate.Input {
	return estimate.Input{Plan: m.Input, Jobs: m.Jobs, Pods: m.Pods, Nodes: m.Nodes, History: history, Each: 1000}
}

// truth is when each Job started first.
func truth(log *sim.Log) map[string]int64 {
	first := map[string]int64{}
	for _, r := range log.Records {
		if _, again := first[r.UID]; !again && r.Kind == sim.Admitted {
			first[r.UID] = r.At
		}
	}
	return first
}

// at plays a world, and has the estimate made at a moment, after its last plan.
func at(t fataler, w sim.World, moment int64, history *estimate.History) (map[string]estimate.Start, *sim.Log) {
	t.Helper()
	return playAt(t, w, moment, func(m *sim.Moment) estimate.Input { return seen(m, history) })
}

// atMost is the same for the first of each queue, with so few played.
func atMost(t fataler, w sim.World, moment int64, most int) (map[string]estimate.Start, *sim.Log) {
	t.Helper()
	return playAt(t, w, moment, func(m *sim.Moment) estimate.Input {
		in := seen(m, nil)
		in.Each, in.Most = 1, most
		return in
	})
}

func playAt(t fataler, w sim.World, moment int64, in func(*sim.Moment) estimate.Input) (map[string]estimate.Start, *sim.Log) {
	t.Helper()
	var said map[string]estimate.Start
	w.Hints = true
	w.Observe = func(m sim.Moment) {
		if said == nil && m.Input.Now >= moment && len(m.Plan.Admit)+len(m.Plan.Suspend) == 0 {
			said = byUID(estimate.Work(in(&m)))
		}
	}
	log, err := sim.Run(w)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if said == nil {
		t.Fatalf("nothing was planned at %d", moment)
	}
	return said, log
}

func byUID(queues map[string][]estimate.Start) map[string]estimate.Start {
	all := map[string]estimate.Start{}
	for _, starts := range queues {
		for _, s := range starts {
			all[s.UID] = s
		}
	}
	return all
}

// fataler is what a test and a property have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// arrive is changes in which workloads arrive one after the other, a second apart.
func arrive(list ...*sim.Workload) []sim.Change {
	changes := []sim.Change{{At: start, Node: node("n1", 1000)}}
	for i, w := range list {
		changes = append(changes, sim.Change{At: start + int64(i)*second, Arrive: w})
	}
	return changes
}

// sooner and later print moments of the stories.
func clock(at int64) string {
	if at == 0 {
		return "?"
	}
	return fmt.Sprint((at-start)/second, "s")
}

func tell(s estimate.Start) string {
	text := clock(s.Earliest) + " to " + clock(s.Latest)
	if s.Limits {
		text += ", limits"
	}
	if s.Runs > 0 {
		text += fmt.Sprint(", ", s.Runs, " runs")
	}
	if s.Unknown != "" {
		text += ": " + s.Unknown
	}
	return text
}
