package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
	"github.com/holdshort/holdshort/test/usage"
)

// What the project expects of itself.
const (
	shareExpected  = 0.60 // of the baseline's Jobs per second, at least
	writesExpected = 3.0  // of ours per Job, at most
)

// result of one pass.
type result struct {
	jobs      int
	took      time.Duration
	median    time.Duration // submission to start
	p99       time.Duration
	writes    map[string]int // ours, by verb and resource
	cpu       time.Duration  // of the manager
	memoryMax int64          // bytes
}

func (p *pass) result(took time.Duration) result {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.waits)
	n := len(p.waits)
	return result{jobs: n, took: took, median: p.waits[n/2], p99: p.waits[n*99/100]}
}

func (r result) perSecond() float64 { return float64(r.jobs) / r.took.Seconds() }

func (r result) writesPerJob() float64 {
	total := 0
	for _, n := range r.writes {
		total += n
	}
	return float64(total) / float64(r.jobs)
}

// add completes a result with what the manager used and wrote since before.
func (r *result) add(env *stories.Env, before usage.Usage, written []history.Count) error {
	after, err := usage.Of(env.Manager.Pid())
	if err != nil {
		return err
	}
	now, err := ourWrites(env)
	if err != nil {
		return err
	}
	r.cpu, r.memoryMax = after.CPU-before.CPU, after.MemoryMax
	r.writes = map[string]int{}
	for _, count := range now {
		r.writes[count.Verb+" "+count.Resource] += count.N
	}
	for _, count := range written {
		r.writes[count.Verb+" "+count.Resource] -= count.N
	}
	return nil
}

// settle waits until events and statuses that trail behind are written.
func settle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
	}
}

type report struct {
	jobs           int
	baseline, ours []result
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "\n%-22s %10s %12s %12s %12s\n", "", "jobs/s", "start p50", "start p99", "our writes")
	for i := range r.ours {
		line(out, fmt.Sprintf("baseline, pass %d", i+1), r.baseline[i])
		line(out, fmt.Sprintf("holdshort, pass %d", i+1), r.ours[i])
	}
	best := slices.MaxFunc(r.ours, func(a, b result) int { return int(a.perSecond() - b.perSecond()) })
	share := medianShare(r)
	fmt.Fprintf(out, "\nholdshort starts %.0f %% of the baseline's Jobs per second (expected: at least %.0f %%) with %.2f writes of ours per Job (expected: at most %.1f)\n",
		100*share, 100*shareExpected, best.writesPerJob(), writesExpected)
	fmt.Fprintf(out, "the manager used %.2f s of cpu for %d Jobs and at most %d MiB of memory\n", best.cpu.Seconds(), best.jobs, best.memoryMax>>20)
	for _, name := range sortedKeys(best.writes) {
		if n := best.writes[name]; n > 0 {
			fmt.Fprintf(out, "  %6d  %s\n", n, name)
		}
	}
}

func line(out io.Writer, name string, r result) {
	fmt.Fprintf(out, "%-22s %10.1f %12s %12s %12.2f\n", name, r.perSecond(),
		r.median.Round(time.Millisecond), r.p99.Round(time.Millisecond), r.writesPerJob())
}

// medianShare compares pass by pass, since the machine's speed drifts.
func medianShare(r *report) float64 {
	var shares []float64
	for i := range r.ours {
		shares = append(shares, r.ours[i].perSecond()/r.baseline[i].perSecond())
	}
	slices.Sort(shares)
	return (shares[(len(shares)-1)/2] + shares[len(shares)/2]) / 2
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
