package sim_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// TestSafetyRights is I14: whatever happens, and whatever policies come, nobody is
// taken back but for another whom the policy in force gives a right to that, or for
// not getting its own pods to run in time.
func TestSafetyRights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12, outside: true})
		story := newStory(w)
		watched(t, w, func(m sim.Moment) {
			story.plan(m)
			for _, s := range m.Plan.Suspend {
				if late := s.Preempted == nil && s.Backoff != nil; !late && !entitled(m, s) {
					t.Fatalf("%s is taken back without right\n%s", s.Job.UID, story)
				}
			}
		})
	})
}

// entitled tells whether a policy says anywhere that one may displace the other.
func entitled(m sim.Moment, s effect.Suspend) bool {
	if s.Preempted == nil {
		return false
	}
	by, victim := m.Input.Verdicts[s.Preempted.By].Verdict, m.Input.Verdicts[s.Job.UID].Verdict
	rights := m.Input.Catalog.Queues[by.Queue].Preemption
	right := rights.ReclaimWithinCohort
	if s.Job.Reservation.Queue == by.Queue {
		right = rights.WithinQueue
	}
	switch right {
	case policies.VictimsAny:
		return true
	case policies.VictimsLowerPriority:
		return by.Priority > victim.Priority
	case policies.VictimsLowerOrNewerEqual:
		return by.Priority >= victim.Priority
	}
	return false
}

// TestSafetyMoreQuota: where nobody has a right to another's place, a policy that
// grants more stops nothing that runs.
func TestSafetyMoreQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 3, jobs: 10, noPreempt: true})
		more := *w.Catalog
		more.Queues = map[string]policies.Queue{}
		for name, q := range w.Catalog.Queues {
			more.Queues[name] = raised(t, q)
		}
		w.Changes = append(w.Changes, sim.Change{At: start + rapid.Int64Range(0, 60).Draw(t, "at")*second, Catalog: &more})
		story := newStory(w)
		watched(t, w, func(m sim.Moment) {
			story.plan(m)
			if len(m.Plan.Suspend) > 0 {
				t.Fatalf("%s is taken back\n%s", evicted(m.Plan), story)
			}
		})
	})
}

func raised(t *rapid.T, q policies.Queue) policies.Queue {
	quota := map[string]map[string]policies.Limit{}
	for flavor, limits := range q.Quota {
		quota[flavor] = map[string]policies.Limit{}
		for name, l := range limits {
			quota[flavor][name] = policies.Limit{
				Nominal: l.Nominal + rapid.Int64Range(0, 3).Draw(t, "more"), BorrowingLimit: l.BorrowingLimit, LendingLimit: l.LendingLimit,
			}
		}
	}
	q.Quota = quota
	return q
}

// TestSafetyNoThrash is part of I11: no victim runs again before the one that it was
// taken back for, unless that one gave up its claim.
func TestSafetyNoThrash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12, oneFlavor: true})
		w.Delays.Write = 0 // else the two may be written in any order
		story := newStory(w)
		log := watched(t, w, story.plan)
		waits := map[string]string{} // victim → for whom
		for _, r := range log.Records {
			switch r.Kind {
			case sim.Evicted:
				waits[r.UID] = r.By
			case sim.Admitted:
				if by, ok := waits[r.UID]; ok {
					t.Fatalf("%s runs again before %s, for which it was taken back\n%s\n%s", r.UID, by, tail(log), story)
				}
				for victim, by := range waits {
					if by == r.UID {
						delete(waits, victim)
					}
				}
			case sim.Arrived, sim.Waits, sim.Ended, sim.Deleted:
			}
		}
	})
}

// TestSafetyMinimalVictims is part of I11: of those who make room by right of
// priority or of what is whose own, nobody could have stayed.
func TestSafetyMinimalVictims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := wanted{queues: 1, jobs: 16, oneFlavor: true, noCohort: true, noMinCount: true, preempts: true}
		if rapid.Bool().Draw(t, "in cohorts") {
			want.queues, want.noCohort, want.preempts = 3, false, false
		}
		w := drawWorld(t, want)
		w.Catalog.FairSharing.Enabled = false
		story := newStory(w)
		watched(t, w, func(m sim.Moment) {
			story.plan(m)
			by := onlyOne(m)
			if by == "" {
				return
			}
			for _, stays := range m.Plan.Suspend {
				in := m.Input
				in.Snapshot = without(m, stays.Job.UID).Snapshot()
				for _, a := range decide.Plan(in).Admit {
					if a.Job.UID == by {
						t.Fatalf("%s could start beside %s\n%s", by, stays.Job.UID, story)
					}
				}
			}
		})
	})
}

// onlyOne is for whom all victims of a plan are, if nothing else is in it, and if that
// one borrows nothing: one that does may have to make do with its own instead.
func onlyOne(m sim.Moment) string {
	if len(m.Plan.Suspend) == 0 || len(m.Plan.Admit) > 0 || len(m.Input.Busy) > 0 {
		return ""
	}
	by := m.Plan.Suspend[0].Preempted.By
	if slices.ContainsFunc(m.Plan.Suspend, func(s effect.Suspend) bool { return s.Preempted.By != by }) {
		return ""
	}
	q := m.Input.Catalog.Queues[m.Input.Verdicts[by].Verdict.Queue]
	for _, limits := range q.Quota {
		for _, l := range limits {
			if q.Cohort != "" && (l.BorrowingLimit == nil || *l.BorrowingLimit > 0) {
				return ""
			}
		}
	}
	return by
}

// without is a book in which all victims of a plan are gone but one.
func without(m sim.Moment, stays string) *book.Book {
	gone := map[string]bool{}
	for _, s := range m.Plan.Suspend {
		gone[s.Job.UID] = s.Job.UID != stays
	}
	b := book.New()
	for _, n := range m.Nodes {
		b.SetNode(n)
	}
	for _, p := range m.Pods {
		if !gone[p.JobUID] {
			b.SetPod(p)
		}
	}
	for _, j := range m.Jobs {
		if !gone[j.UID] {
			b.SetJob(j)
		}
	}
	b.Tick(m.Input.Now)
	return b
}
