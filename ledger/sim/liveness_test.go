package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/sim"
)

// TestLivenessAllStart is I12: where nothing changes from outside and nobody runs for
// ever, all those start who could if they were alone, and the run ends.
func TestLivenessAllStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12})
		log := watched(t, w, func(sim.Moment) {})
		if len(log.Running) > 0 {
			t.Fatalf("still running at the end: %v\n%s", log.Running, tail(log))
		}
		for _, c := range w.Changes {
			if c.Arrive == nil {
				continue
			}
			if why, waits := log.Waiting[c.Arrive.UID]; waits && alone(w, c.Arrive) {
				t.Fatalf("%s never starts, though it could alone: %s\n%s", c.Arrive.UID, why.Message, tail(log))
			}
		}
	})
}

// alone tells whether a workload could start if there were no other.
func alone(w sim.World, job *sim.Workload) bool {
	b := book.New()
	for _, c := range w.Changes {
		if c.Node != nil {
			b.SetNode(c.Node)
		}
	}
	b.SetJob(&demand.Job{UID: job.UID, Namespace: job.Namespace, Name: job.Name, Suspended: true, PodSets: job.PodSets})
	r := decide.Plan(decide.Input{
		Snapshot: b.Snapshot(), Catalog: w.Catalog, Verdicts: map[string]decide.Outcome{job.UID: {Verdict: job.Verdict}}, Now: start,
	})
	return len(r.Admit) > 0
}

// TestLivenessNoThrash bounds how often anybody is taken back: each eviction lets
// somebody start who then runs to the end, or makes room for somebody in turn.
func TestLivenessNoThrash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12})
		log := watched(t, w, func(sim.Moment) {})
		jobs := len(log.Metrics.Wait)
		if log.Metrics.Evicted > jobs*jobs {
			t.Fatalf("%d evictions among %d workloads\n%s", log.Metrics.Evicted, jobs, tail(log))
		}
	})
}
