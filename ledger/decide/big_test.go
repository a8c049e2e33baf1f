package decide_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// The size that decisions are measured at: 10,000 nodes with 8 GPUs each, all 80,000 held
// by the pods of 5,000 Jobs, 20,000 pods of nobody's beside them, and 10,000 Jobs that
// wait in 100 queues, of 40 shapes.
const (
	bigNodes   = 10_000
	bigRunning = 5_000
	bigGang    = 16
	bigOthers  = 20_000
	bigWaiting = 10_000
	bigQueues  = 100
)

// Bounds of the benchmarks, on one core of its own.
const (
	decisionP99 = 5 * time.Millisecond
	eventMost   = 20 * time.Microsecond
	sweepMost   = time.Millisecond
)

func bigNode(i int) string { return fmt.Sprintf("node-%05d", i%bigNodes) }

func bigWorld(tb testing.TB) *world {
	w := newWorld(tb)
	w.catalog.Queues = map[string]policies.Queue{}
	for q := range bigQueues {
		queue := queue(2 * bigRunning * bigGang / bigQueues) // quota is not what they wait for
		queue.Quota["gpu"]["cpu"], queue.Quota["gpu"]["memory"] = policies.Limit{Nominal: 1 << 50}, policies.Limit{Nominal: 1 << 60}
		w.catalog.Queues[queueName(q)] = queue
	}
	for i := range bigNodes {
		w.bigMachine(i, true)
	}
	for i := range bigRunning {
		w.bigRuns(i)
	}
	for i := range bigOthers {
		w.book.SetPod(&supply.Pod{
			UID: fmt.Sprint("other-", i), Namespace: "other", Name: fmt.Sprint("other-", i), Node: bigNode(i), Started: true, Ready: true,
			Requests: resource.List{"pods": 1, "cpu": 1000, "memory": 1 << 30},
		})
	}
	for i := range bigWaiting {
		w.bigJob(fmt.Sprint("waits-", i), i, int64(1+i%8), int64(1+i%5))
	}
	return w
}

func (w *world) bigMachine(i int, ready bool) {
	w.node(bigNode(i), 8, labels("zone", fmt.Sprint(i%4)), func(n *supply.Node) {
		n.Allocatable["cpu"], n.Allocatable["memory"], n.Ready = 128_000, 1<<40, ready
		n.Capacity = n.Allocatable
	})
}

func (w *world) bigJob(name string, i int, pods, gpus int64) *demand.Job {
	return w.job(name, pods, gpus, func(j *demand.Job) {
		j.Queue = queueName(i % bigQueues)
		j.PodSets[0].Requests = resource.List{"pods": 1, gpu: gpus, "cpu": 4000, "memory": 16 << 30}
	})
}

// bigRuns has a Job run, one pod on each of 16 nodes.
func (w *world) bigRuns(i int) {
	j := w.bigJob(fmt.Sprint("runs-", i), i, bigGang, 1)
	plan := map[string]int64{}
	for k := range bigGang {
		plan[bigNode(bigGang*i+k)] = 1
	}
	w.bigRun(j, demand.Reservation{UID: j.UID, Queue: j.Queue, Plan: plan, PodSets: []demand.ReservedPodSet{{
		Name: "main", Count: bigGang, Requests: j.PodSets[0].Requests, Flavors: map[string]string{gpu: "gpu", "cpu": "gpu", "memory": "gpu", "pods": "gpu"},
	}}})
}

// bigRun has a Job run, its pods where they are planned to be.
func (w *world) bigRun(j *demand.Job, r demand.Reservation) {
	w.admitAs(j, r)
	k := 0
	for _, node := range slices.Sorted(maps.Keys(r.Plan)) {
		for range r.Plan[node] {
			w.book.SetPod(w.bigPod(j.Name, k, node))
			k++
		}
	}
}

func (w *world) bigPod(job string, k int, node string) *supply.Pod {
	j := w.book.Job("uid-" + job)
	return &supply.Pod{
		UID: fmt.Sprint(job, "/", k), JobUID: j.UID, Queue: j.Queue, Flavors: j.Reservation.PodSets[0].Flavors,
		Namespace: "team", Name: fmt.Sprint(job, "-", k), Node: node, Requests: j.Reservation.PodSets[0].Requests, Ready: true, Started: true,
	}
}

// bigEnds has a Job and its pods be over.
func (w *world) bigEnds(job string) {
	over := *w.book.Job("uid-" + job)
	over.Finished = true
	w.book.SetJob(&over)
	for k := range over.PodSets[0].Count {
		w.book.DeletePod(fmt.Sprint(job, "/", k))
	}
	w.book.DeleteJob(over.UID)
}

// costs of single operations, in processor time of their own thread: on a busy machine
// the clock says nothing.
type costs []time.Duration

func (c *costs) of(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadCPU()
	f()
	*c = append(*c, threadCPU()-before)
}

// threadCPU is the processor time of this thread. What getrusage tells has the grain of
// the scheduler's tick, which is coarser than what is measured here.
func threadCPU() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) != nil {
		return time.Duration(cpu())
	}
	return time.Duration(now.Nano())
}

// report the mean and the 99th percentile.
func (c costs) report(b *testing.B) (mean, p99 time.Duration) {
	for _, one := range c {
		mean += one
	}
	slices.Sort(c)
	mean, p99 = mean/time.Duration(len(c)), c[len(c)*99/100]
	b.ReportMetric(float64(mean.Nanoseconds())/1000, "cpu-µs")
	b.ReportMetric(float64(p99.Nanoseconds())/1000, "p99-cpu-µs")
	return mean, p99
}

// bounded says PASS or MISS, and how much of what is the most was taken, if there were
// enough to tell.
func bounded(b *testing.B, what string, took, most time.Duration) {
	if b.N < 100 {
		return
	}
	said := "PASS"
	if took > most {
		said = "MISS"
	}
	b.ReportMetric(float64(took)/float64(most), "of-bound")
	b.Logf("%s: %s took %s, and %s is the most", said, what, took, most)
}

// BenchmarkBigDecision is one plan of a planner after something has happened: the Job
// that has run longest has ended, and what it had goes to those who wait. Those run then,
// and as many come.
func BenchmarkBigDecision(b *testing.B) {
	w := bigWorld(b)
	planner := decide.NewPlanner()
	var line []string
	for i := range bigRunning {
		line = append(line, fmt.Sprint("runs-", i))
	}
	var took costs
	started, told := 0, 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.bigEnds(line[i])
		for settled := false; !settled; {
			var r decide.Result
			in := w.all()
			took.of(func() { r = planner.Plan(in) })
			for _, a := range r.Admit {
				line = append(line, a.Job.Name)
				w.bigRun(a.Job, a.Reservation)
				w.bigJob(fmt.Sprint("comes-", started), started, int64(1+started%8), int64(1+started%5))
				started++
			}
			told += len(r.Changed)
			settled = len(r.Admit) == 0
		}
		if i == 0 {
			took = nil // the first plan of all
		}
	}
	b.ReportMetric(float64(started)/float64(b.N), "starts/op")
	b.ReportMetric(float64(told)/float64(b.N), "told/op")
	if len(took) > 0 {
		_, p99 := took.report(b)
		bounded(b, "1 of 100 decisions", p99, decisionP99)
	}
}

// BenchmarkBigPodEvent is what the book does for one event of a pod.
func BenchmarkBigPodEvent(b *testing.B) {
	w := bigWorld(b)
	events := map[string]func(i int){
		"ready": func(i int) {
			p := w.bigPod(fmt.Sprint("runs-", i%bigRunning), 0, bigNode(bigGang*(i%bigRunning)))
			p.Ready = i/bigRunning%2 == 1
			w.book.SetPod(p)
		},
		"gone and back": func(i int) {
			p := w.bigPod(fmt.Sprint("runs-", i/2%bigRunning), 0, bigNode(bigGang*(i/2%bigRunning)))
			if i%2 == 0 {
				w.book.DeletePod(p.UID)
			} else {
				w.book.SetPod(p)
			}
		},
	}
	for _, name := range []string{"ready", "gone and back"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var took costs
			for i := 0; b.Loop(); i++ {
				took.of(func() { events[name](i) })
			}
			mean, _ := took.report(b)
			bounded(b, "an event", mean, eventMost)
		})
	}
}

// BenchmarkBigNodeEvent is what the book does for one event of a node.
func BenchmarkBigNodeEvent(b *testing.B) {
	w := bigWorld(b)
	b.ReportAllocs()
	var took costs
	for i := 0; b.Loop(); i++ {
		took.of(func() { w.bigMachine(i%bigNodes, i/bigNodes%2 == 1) })
	}
	mean, _ := took.report(b)
	bounded(b, "an event", mean, eventMost)
}

// BenchmarkBigInfeasible is a plan for a Job of a shape that nobody has asked for before,
// and that has room nowhere: all 10,000 nodes are looked at for it.
func BenchmarkBigInfeasible(b *testing.B) {
	w := bigWorld(b)
	planner := decide.NewPlanner()
	w.settleAll(planner)
	b.ReportAllocs()
	var took costs
	for i := 0; b.Loop(); i++ {
		w.bigJob(fmt.Sprint("new-", i), i, 1, 8+int64(i)) // 8: free nowhere; more: no node has so many
		in := w.all()
		took.of(func() { planner.Plan(in) })
	}
	mean, _ := took.report(b)
	bounded(b, "a sweep", mean, sweepMost)
}

// BenchmarkBigAudit is what the loop does for an audit: the copy that is added up beside it.
func BenchmarkBigAudit(b *testing.B) {
	w := bigWorld(b)
	var took costs
	b.ReportAllocs()
	for b.Loop() {
		took.of(func() { w.book.Audit() })
	}
	took.report(b)
}
