package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/sim"
)

// TestSafetyStrictOrder is I9: in a strict queue nobody starts while one before it
// waits for share or machines, unless room was made for it before.
func TestSafetyStrictOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		watched(t, drawWorld(t, wanted{queues: 3, jobs: 12, outside: true, noBackfill: true}), func(m sim.Moment) {
			promised := map[string]bool{}
			for _, j := range m.Jobs {
				if j.Preempted != nil {
					promised[j.Preempted.By] = true
				}
			}
			for _, a := range m.Plan.Admit {
				queue := m.Input.Verdicts[a.Job.UID].Verdict.Queue
				if !m.Input.Catalog.Queues[queue].Strict() || promised[a.Job.UID] {
					continue
				}
				for _, w := range m.Plan.Waiting {
					if w.Queue == queue && w.Rank > 0 && before(m, w.UID, a.Job) {
						t.Fatalf("%s starts before %s, which waits: %s", a.Job.UID, w.UID, w.Reason.Message)
					}
				}
			}
		})
	})
}

func before(m sim.Moment, uid string, than *demand.Job) bool {
	mine, its := m.Input.Verdicts[uid].Verdict.Priority, m.Input.Verdicts[than.UID].Verdict.Priority
	for _, j := range m.Jobs {
		if j.UID == uid {
			return mine > its || mine == its && demand.CompareArrival(j, than) < 0
		}
	}
	return false
}

// TestSafetyTerminal is I10: nobody starts who is over, going, or running already.
func TestSafetyTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		watched(t, drawWorld(t, wanted{queues: 3, jobs: 12, outside: true}), func(m sim.Moment) {
			is := map[string]*demand.Job{}
			for _, j := range m.Jobs {
				is[j.UID] = j
			}
			for _, a := range m.Plan.Admit {
				if j := is[a.Job.UID]; j == nil || j.Finished || j.Deleting || !j.Suspended || m.Input.Busy[j.UID] {
					t.Fatalf("%s starts, and is %+v", a.Job.UID, j)
				}
			}
		})
	})
}

// TestSafetyLessImportantIsNotSooner: under strict order, nobody starts sooner for
// having less priority.
func TestSafetyLessImportantIsNotSooner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{
			queues: 1, jobs: 12, oneFlavor: true, noCohort: true, noPreempt: true, allStrict: true, noMinCount: true, instant: true, bigMachines: true, plain: true,
		})
		before := watched(t, w, func(sim.Moment) {})
		lower := rapid.SampledFrom(arrivals(w)).Draw(t, "whose priority is lower")
		lower.Verdict.Priority -= rapid.Int64Range(1, 3).Draw(t, "by")
		after := watched(t, w, func(sim.Moment) {})
		was, ever := before.Metrics.Wait[lower.UID]
		if is, again := after.Metrics.Wait[lower.UID]; again && (!ever || is < was) {
			t.Fatalf("%s waits %d ns with less priority, and %d with more (started: %v)\n%s", lower.UID, is, was, ever, show(w))
		}
	})
}

func arrivals(w sim.World) []*sim.Workload {
	var all []*sim.Workload
	for _, c := range w.Changes {
		if c.Arrive != nil {
			all = append(all, c.Arrive)
		}
	}
	return all
}
