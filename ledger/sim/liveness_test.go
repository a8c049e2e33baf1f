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

// TestLivenessPreemptorsStart is I11: whoever has others taken back starts next, and
// has nobody else taken back before.
func TestLivenessPreemptorsStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12})
		w.Delays.Write = 0
		log := watched(t, w, func(sim.Moment) {})
		owed := map[string]int64{} // UID → when others were taken back for it
		for _, r := range log.Records {
			switch r.Kind {
			case sim.Evicted:
				if r.By == "" {
					t.Fatalf("%s is taken back for nobody\n%s", r.UID, tail(log))
				}
				if since, twice := owed[r.By]; twice && since != r.At {
					t.Fatalf("%s has others taken back at %d and again at %d, and has not started\n%s", r.By, since, r.At, tail(log))
				}
				owed[r.By] = r.At
			case sim.Admitted:
				delete(owed, r.UID)
			case sim.Arrived, sim.Waits, sim.Ended, sim.Deleted:
			}
		}
		for uid := range owed {
			t.Fatalf("others were taken back for %s, which never starts\n%s", uid, tail(log))
		}
	})
}
