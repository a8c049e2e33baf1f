package decide_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// scale is 1,000 queues in 10 cohorts with 20 pairs of flavor and resource, 5,000
// Jobs that run and use all quotas up, and so many that wait, of 8 shapes in every
// queue.
func scale(tb testing.TB, waiting int, preemption policies.Preemption) *world {
	const queues, cohorts, flavors, running = 1000, 10, 10, 5000
	w := newWorld(tb)
	w.catalog.Flavors, w.catalog.Queues = map[string]policies.Flavor{}, map[string]policies.Queue{}
	quotas := map[string]map[string]policies.Limit{}
	var names []string
	for f := range flavors {
		name := fmt.Sprint("flavor-", f)
		names = append(names, name)
		w.catalog.Flavors[name] = policies.Flavor{NodeLabels: map[string]string{"flavor": name}}
		quotas[name] = map[string]policies.Limit{gpu: {Nominal: 1}, "cpu": {Nominal: 1 << 40}}
	}
	for q := range queues {
		w.catalog.Queues[queueName(q)] = policies.Queue{
			Namespaces: policies.NamespaceRule{All: true}, Flavors: names, Quota: quotas,
			Cohort: fmt.Sprint("cohort-", q%cohorts), Preemption: preemption,
		}
	}
	for n := range queues * flavors / 8 {
		w.node(fmt.Sprint("node-", n), 8, func(n *supply.Node) {
			n.Allocatable["cpu"], n.Allocatable["memory"] = 128_000, 1<<40
			n.Capacity = n.Allocatable
		}, labels("flavor", names[n%flavors]))
	}
	for i := range running { // two cards each
		w.scaleJob(fmt.Sprint("runs-", i), queueName(i%queues), 2)
	}
	w.running = w.settleAll(decide.NewPlanner())
	for i := range waiting {
		w.scaleJob(fmt.Sprint("waits-", i), queueName(i%queues), int64(1+i/queues%8))
	}
	return w
}

func queueName(i int) string { return fmt.Sprintf("queue-%04d", i) }

func (w *world) scaleJob(name, queue string, gpus int64) *demand.Job {
	return w.job(name, 1, gpus, func(j *demand.Job) {
		j.Queue = queue
		j.PodSets[0].Requests = resource.List{"pods": 1, gpu: gpus, "cpu": 4000, "memory": 16 << 30}
	})
}

// settle plans once, and has everybody run who may; it returns their names.
func (w *world) settle(planner *decide.Planner) []string {
	var names []string
	r := planner.Plan(w.all())
	w.carryOut(r)
	for _, a := range r.Admit {
		names = append(names, a.Job.Name)
		set := a.Reservation.PodSets[0]
		w.book.SetPod(&supply.Pod{
			UID: "pod-" + a.Job.Name, JobUID: a.Job.UID, Queue: a.Reservation.Queue, Flavors: set.Flavors,
			Node: a.PreferNodes[0], Requests: set.Requests, Ready: true, Started: true,
		})
	}
	return names
}

// settleAll plans until nobody starts any more, and returns who did.
func (w *world) settleAll(planner *decide.Planner) []string {
	var all []string
	for {
		names := w.settle(planner)
		if len(names) == 0 {
			return all
		}
		all = append(all, names...)
	}
}

// end has a Job and its pod be over.
func (w *world) end(name string) {
	over := *w.book.Job("uid-" + name)
	over.Finished = true
	w.book.SetJob(&over)
	w.book.DeletePod("pod-" + name)
	w.book.DeleteJob(over.UID)
}

// BenchmarkRelease is a plan after one Job has ended, with those who start booked.
func BenchmarkRelease(b *testing.B) {
	for _, waiting := range []int{1_000, 10_000, 50_000, 100_000} {
		b.Run(fmt.Sprint(waiting, " wait"), func(b *testing.B) { benchRelease(b, scale(b, waiting, policies.Preemption{})) })
	}
}

// BenchmarkReleaseAmongVictims is the same where everybody may displace others: every
// queue asks then whom its Jobs could.
func BenchmarkReleaseAmongVictims(b *testing.B) {
	benchRelease(b, scale(b, 10_000, policies.Preemption{
		WithinQueue: policies.VictimsLowerPriority, ReclaimWithinCohort: policies.VictimsLowerPriority,
	}))
}

func benchRelease(b *testing.B, w *world) {
	planner := decide.NewPlanner()
	runs := slices.Concat(w.running, w.settleAll(planner))
	b.ReportAllocs()
	started, before := 0, cpu()
	for i := 0; b.Loop(); i++ {
		w.end(runs[i])
		for _, name := range w.settle(planner) {
			started++
			runs = append(runs, name)
			j := w.book.Job("uid-" + name) // another like it comes, so that as many wait as before
			w.scaleJob(fmt.Sprint("comes-", started), j.Queue, j.PodSets[0].Requests[gpu])
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(started)/float64(b.N), "starts/op")
	b.ReportMetric(heapMiB(), "heap-MiB") // the book's and the planner's
	runtime.KeepAlive(planner)
}

// heapMiB is what is in use of the heap.
func heapMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkFirstPlan is the first plan after a restart.
func BenchmarkFirstPlan(b *testing.B) {
	w := scale(b, 50_000, policies.Preemption{})
	b.ReportAllocs()
	before := cpu()
	for b.Loop() {
		decide.NewPlanner().Plan(w.all())
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}
