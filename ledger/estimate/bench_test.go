package estimate_test

import (
	"fmt"
	"testing"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// backlog is so many Jobs that wait in 100 queues, of ten shapes, for machines that
// 2,000 others use, of which one ends every second.
func backlog(waiting int) estimate.Input {
	const queues, running = 100, 2000
	gpus := map[string]int64{}
	for i := range queues {
		gpus[fmt.Sprintf("q%02d", i)] = 20
	}
	in := estimate.Input{Each: 20, Lag: 30 * second, Plan: decide.Input{
		Catalog: catalog(policies.BestEffortFIFO, gpus), Verdicts: map[string]decide.Outcome{}, Now: start,
	}}
	for i := range 250 {
		in.Nodes = append(in.Nodes, node(fmt.Sprintf("n%03d", i), 8))
	}
	for i := range running + waiting {
		uid, queue := fmt.Sprintf("j%06d", i), fmt.Sprintf("q%02d", i%queues)
		pods := int64(1)
		if i >= running {
			pods += int64(i/queues) % 10
		}
		j := &demand.Job{
			UID: uid, Namespace: "team", Name: uid, Queue: queue, Suspended: i >= running,
			Arrival: demand.Arrival{Effective: start - 1_000_000*second/2 + int64(i), Stamp: int64(i)},
			PodSets: []demand.PodSet{{Name: "main", Count: pods, Requests: resource.List{"pods": 1, gpu: 1}}},
			Policy:  &policies.Workload{ActiveDeadlineSec: int64(running + i)},
		}
		if i < running {
			j.Started = true
			j.Reservation = &demand.Reservation{UID: uid, Queue: queue, Time: start - second, PodSets: []demand.ReservedPodSet{{
				Name: "main", Count: 1, Requests: resource.List{"pods": 1, gpu: 1}, Flavors: map[string]string{"pods": "gpu", gpu: "gpu"},
			}}}
			in.Pods = append(in.Pods, &supply.Pod{
				UID: uid + "-0", JobUID: uid, Node: fmt.Sprintf("n%03d", i/8), Requests: resource.List{"pods": 1, gpu: 1}, Started: true, Ready: true,
			})
		}
		in.Jobs = append(in.Jobs, j)
		in.Plan.Verdicts[uid] = decide.Outcome{Verdict: policies.Verdict{Queue: queue}}
	}
	return in
}

// BenchmarkWork shows what an estimate costs, for so many waiting: beyond those that
// are looked at, to sort them.
func BenchmarkWork(b *testing.B) {
	for _, waiting := range []int{1000, 2000, 10_000, 50_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			in := backlog(waiting)
			b.ReportAllocs()
			for b.Loop() {
				if got := len(estimate.Work(in)); got != 100 {
					b.Fatalf("answers of %d queues", got)
				}
			}
		})
	}
}
