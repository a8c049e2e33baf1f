package decide_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// bigCluster has 1,000 nodes with 8 GPUs each, 10,000 bound pods of 500 running
// Jobs (20 each), 20 of which have a pod that is still to be bound, and 1,000
// Jobs of 40 shapes waiting in 10 queues. With room, the nodes have 4 more GPUs
// and the queues more quota, so that some can start.
func bigCluster(tb testing.TB, room bool) (*world, []*supply.Pod) {
	w := newWorld(tb)
	quota, gpus := int64(1000), int64(10)
	if room {
		quota, gpus = 1050, 16
	}
	for i := range 10 {
		q := queue(quota)
		q.Quota["gpu"]["memory"] = policies.Limit{Nominal: 1 << 50}
		w.catalog.Queues[fmt.Sprint("q", i)] = q
	}
	for i := range 1000 {
		w.node(fmt.Sprintf("node-%04d", i), gpus, labels("zone", fmt.Sprint(i%4)), func(n *supply.Node) {
			n.Allocatable["cpu"], n.Allocatable["memory"] = 128_000, 1<<40
			n.Capacity = n.Allocatable
		})
	}
	var pods []*supply.Pod
	for j := range 500 {
		job := w.benchJob(j, 20, 1, fmt.Sprint("q", j%10))
		admitted := decide.Plan(w.inputOf(job)).Admit
		if len(admitted) != 1 {
			tb.Fatalf("running Job %d was not admitted: %v", j, said(decide.Plan(w.inputOf(job))))
		}
		w.carryOut(decide.Result{Admit: admitted})
		for k := range 20 {
			p := &supply.Pod{
				UID: fmt.Sprint("p", j, "-", k), JobUID: job.UID, Queue: fmt.Sprint("q", j%10), Flavors: map[string]string{"pods": "gpu"},
				Node: fmt.Sprintf("node-%04d", (20*j+k)%1000), Requests: job.PodSets[0].Requests, Ready: true,
			}
			if k == 0 && j < 20 {
				p.Node, p.Ready = "", false
			}
			w.book.SetPod(p)
			pods = append(pods, p)
		}
	}
	for i := range 1000 {
		w.benchJob(1000+i, int64(1+i%8), int64(1+i%5), fmt.Sprint("q", i%10))
	}
	return w, pods
}

func (w *world) benchJob(i int, pods, gpus int64, queue string) *demand.Job {
	j := w.job(fmt.Sprint("job-", i), pods, gpus, func(j *demand.Job) {
		j.Queue = queue
		j.PodSets[0].Requests = resource.List{"pods": 1, gpu: gpus, "cpu": 4000, "memory": 16 << 30}
	})
	w.verdicts[j.UID] = decide.Outcome{Verdict: policies.Verdict{Queue: queue, Priority: int64(i % 3)}}
	return j
}

// inputOf plans one Job only.
func (w *world) inputOf(j *demand.Job) decide.Input {
	in := w.input()
	in.Verdicts = map[string]decide.Outcome{j.UID: w.verdicts[j.UID]}
	return in
}

func (w *world) input() decide.Input {
	return decide.Input{
		Snapshot: w.book.Snapshot(), Catalog: w.catalog, Verdicts: w.verdicts, Revision: "r1", Now: start,
	}
}

func BenchmarkPlan(b *testing.B) {
	for name, room := range map[string]bool{"nobody can start": false, "some start": true} {
		b.Run(name, func(b *testing.B) {
			w, pods := bigCluster(b, room)
			r := decide.Plan(w.input())
			b.Logf("%d start, %d wait", len(r.Admit), len(r.Waiting))
			b.ReportAllocs()
			before := cpu()
			defer func() { b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op") }()
			for i := 0; b.Loop(); i++ {
				// Between two plans one pod has come or gone.
				p := *pods[len(pods)-1-i%1000]
				if i%2 == 0 {
					w.book.DeletePod(p.UID)
				}
				w.book.SetPod(&p)
				decide.Plan(w.input())
			}
		})
	}
}

// cpu is the processor time used so far: on a busy machine it says more than
// the clock does.
func cpu() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func BenchmarkPodUpdate(b *testing.B) {
	w, pods := bigCluster(b, false)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := *pods[i%len(pods)]
		p.Ready = i%2 == 0
		w.book.SetPod(&p)
	}
}

func BenchmarkBookFromNothing(b *testing.B) {
	_, pods := bigCluster(b, false)
	b.ReportAllocs()
	for b.Loop() {
		again := book.New()
		for _, p := range pods {
			again.SetPod(p)
		}
	}
}
