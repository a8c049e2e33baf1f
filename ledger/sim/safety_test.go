package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// watched lets a world run and has every plan looked at.
func watched(t *rapid.T, w sim.World, look func(sim.Moment)) *sim.Log {
	t.Helper()
	w.Observe = look
	moments := 0
	w.Go = func() error { // a dozen Jobs need a few hundred
		if moments++; moments > 5_000 {
			return fmt.Errorf("%d moments, and no end", moments)
		}
		return nil
	}
	log, err := sim.Run(w)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, tail(log), show(w))
	}
	return log
}

func tail(log *sim.Log) string {
	text := ""
	for _, r := range log.Records[max(0, len(log.Records)-30):] {
		text += fmt.Sprintf("%8.3f %s %s %s %s\n", float64(r.At-start)/1e9, r.Kind, r.UID, r.Code, r.By)
	}
	return text
}

// TestSafetyQuota is I1: what an admission adds is left of its queue and of every
// cohort above it, with all that is charged, pods that are still going included.
func TestSafetyQuota(t *testing.T) {
	for name, want := range map[string]wanted{
		"all kinds": {queues: 4, jobs: 12, outside: true, units: true},
		"a crowd":   {queues: 6, jobs: 16, crowd: true, plain: true, oneFlavor: true, bigMachines: true, noMinCount: true},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawWorld(t, want)
				story := newStory(w)
				watched(t, w, func(m sim.Moment) {
					story.plan(m)
					keepsQuota(t, m, story)
				})
			})
		})
	}
}

func keepsQuota(t *rapid.T, m sim.Moment, story *story) {
	t.Helper()
	limits, err := decide.Limits(m.Input.Catalog)
	if err != nil {
		t.Fatal(err)
	}
	tree := quota.NewTree(limits)
	charge := func(key quota.Key, n int64) {
		if limited(m.Input.Catalog.Queues[key.Queue], key.Resource) {
			charge(tree, key, n)
		}
	}
	for key, n := range m.Book.Usage() {
		charge(key, n)
	}
	for _, a := range m.Plan.Admit {
		all := charges(&a.Reservation, m.Input.Catalog.Resources.Conversions)
		for key, n := range all {
			q, pair := tree.Queue(key.Queue), tree.Pair(key.Flavor, key.Resource)
			if pair == quota.None || !limited(m.Input.Catalog.Queues[key.Queue], key.Resource) {
				continue
			}
			if !tree.Fits(q, pair, n) {
				t.Fatalf("%s starts with %d of %+v, of which %d are left\n%s", a.Job.UID, n, key, tree.Available(q, pair), story)
			}
		}
		for key, n := range all {
			charge(key, n)
		}
	}
}

func charge(tree *quota.Tree, key quota.Key, n int64) {
	if q, pair := tree.Queue(key.Queue), tree.Pair(key.Flavor, key.Resource); q != quota.None && pair != quota.None {
		tree.Add(q, pair, n)
	}
}

// charges is what a reservation takes, row by row.
func charges(r *demand.Reservation, instead map[string]map[string]int64) map[quota.Key]int64 {
	all := map[quota.Key]int64{}
	for _, set := range r.PodSets {
		for name, n := range set.Requests {
			units := instead[name]
			if len(units) == 0 {
				units = map[string]int64{name: 1}
			}
			for unit, each := range units {
				all[quota.Key{Queue: r.Queue, Flavor: set.FlavorOf(unit), Resource: unit}] += n * set.Count * each
			}
		}
	}
	return all
}

func limited(q policies.Queue, name string) bool {
	for _, limits := range q.Quota {
		if _, ok := limits[name]; ok {
			return true
		}
	}
	return false
}

// TestSafetyNoLeak is I4: once all pods and all who run are gone, nothing is held.
func TestSafetyNoLeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var last sim.Moment
		watched(t, drawWorld(t, wanted{queues: 3, jobs: 10, outside: true, units: true}), func(m sim.Moment) { last = m })
		if err := last.Book.SelfCheck(); err != nil {
			t.Fatal(err)
		}
		for _, j := range last.Jobs {
			if j.Admitted() {
				return // something never ends: its node went away
			}
		}
		if used := last.Book.Usage(); len(used) > 0 {
			t.Fatalf("nobody runs, and charged are %v", used)
		}
		if held := last.Book.Nodes().Held(); len(held) > 0 {
			t.Fatalf("nobody runs, and held are %v", held)
		}
	})
}

// TestSafetyReplay is I8: a book made anew from the objects has the same sums as the
// one that saw it all happen, and the same plan.
func TestSafetyReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		watched(t, drawWorld(t, wanted{queues: 3, jobs: 8, outside: true, units: true}), func(m sim.Moment) {
			if len(m.Input.Busy) > 0 {
				return // what is assumed is on no object yet
			}
			one := rebuilt(m, random)
			if diff := m.Book.Diff(one); len(diff) > 0 {
				t.Fatalf("running and rebuilt differ: %v", diff)
			}
			in := m.Input
			in.Snapshot = one.Snapshot()
			plan := decide.Plan(in)
			// What an admitted Job's pods did before a restart is not known after it, so
			// timeouts may be looked out for that are over.
			if diff := cmp.Diff(effects(m.Plan), effects(plan)); diff != "" {
				t.Fatalf("running (-) and rebuilt (+) have other plans:\n%s", diff)
			}
		})
	})
}

// TestSafetyAnyOrder: the plan is the same whatever the order in which nodes, pods and
// Jobs were read.
func TestSafetyAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		watched(t, drawWorld(t, wanted{queues: 4, jobs: 8, outside: true, units: true}), func(m sim.Moment) {
			if m.Round > 1 {
				return
			}
			in := m.Input
			in.Snapshot = rebuilt(m, random).Snapshot()
			plan := decide.Plan(in)
			in.Snapshot = rebuilt(m, random).Snapshot()
			if diff := cmp.Diff(plan, decide.Plan(in)); diff != "" {
				t.Fatalf("books made in another order have other plans:\n%s", diff)
			}
		})
	})
}

func effects(r decide.Result) decide.Result {
	return decide.Result{Admit: r.Admit, Suspend: r.Suspend, Waiting: r.Waiting, Queues: r.Queues}
}

// rebuilt is a book of the objects that there are, in any order; nil: as they come.
func rebuilt(m sim.Moment, random *rand.Rand) *book.Book {
	var feed []func(*book.Book)
	for _, n := range m.Nodes {
		feed = append(feed, func(b *book.Book) { b.SetNode(n) })
	}
	for _, p := range m.Pods {
		feed = append(feed, func(b *book.Book) { b.SetPod(p) })
	}
	for _, j := range m.Jobs {
		feed = append(feed, func(b *book.Book) { b.SetJob(j) })
	}
	if random != nil {
		random.Shuffle(len(feed), func(i, k int) { feed[i], feed[k] = feed[k], feed[i] })
	}
	b := book.New()
	b.SetRules(m.Input.Catalog.Resources)
	for _, f := range feed {
		f(b)
	}
	b.Tick(m.Input.Now)
	return b
}

// TestSafetyDeterminism is I13: the same world has the same run.
func TestSafetyDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12, outside: true})
		one, err := sim.Run(w)
		other, again := sim.Run(w)
		if diff := cmp.Diff(one, other); diff != "" || (err == nil) != (again == nil) {
			t.Fatalf("two runs of one world differ: %v, %v\n%s", err, again, diff)
		}
	})
}

// TestSafetySettled: what a plan does gives no reason to plan anything else. Only
// those start at once whose room was being made, by Jobs that turn out to have had no
// pods anywhere. And one that starts may make room at once, alone or with others, for
// one that ranks before it and was looked at after it: within a plan, nobody displaces
// whom it lets go. Whoever waited behind that one may start then. Where a queue has a
// cap, whoever is taken back counts until that is written: the next one starts at once,
// but not in the same plan.
func TestSafetySettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12, outside: true, noCaps: true})
		w.Delays.Write = 0
		story := newStory(w)
		making, fresh := map[string]bool{}, map[string]bool{} // for whom there is, and who started now
		watched(t, w, func(m sim.Moment) {
			story.plan(m)
			if m.Round == 1 {
				clear(fresh)
			}
			// To whom one who started now makes room, and whose queues go on behind them.
			owed, behind := map[string]bool{}, map[string]bool{}
			for _, s := range m.Plan.Suspend {
				if s.Preempted != nil && fresh[s.Job.UID] {
					owed[s.Preempted.By] = true
				}
			}
			for _, w := range m.Plan.Waiting {
				if owed[w.UID] {
					behind[w.Queue] = true
				}
			}
			for _, a := range m.Plan.Admit {
				if fresh[a.Job.UID] = true; m.Round > 1 && !making[a.Job.UID] && !behind[a.Job.Queue] {
					t.Fatalf("plan %d of a moment still starts %s\n%s", m.Round, a.Job.UID, story)
				}
			}
			for _, s := range m.Plan.Suspend {
				if m.Round > 1 && s.Preempted != nil && !owed[s.Preempted.By] {
					t.Fatalf("plan %d of a moment still takes back %s\n%s", m.Round, s.Job.UID, story)
				}
			}
			clear(making)
			for _, w := range m.Plan.Waiting {
				making[w.UID] = w.Reason.Code == reason.MakingRoom
			}
		})
	})
}

func admitted(r decide.Result) []string {
	var uids []string
	for _, a := range r.Admit {
		uids = append(uids, a.Job.UID)
	}
	return uids
}

func evicted(r decide.Result) []string {
	var uids []string
	for _, s := range r.Suspend {
		uids = append(uids, s.Job.UID)
	}
	return uids
}

// TestSafetyMachines is I3: where machines are verified and do not change, every
// pod that was let go finds a node as soon as the scheduler looks at it. A Job that
// has more to complete than runs at once is left out: where a pod ends, its next one
// need not come.
func TestSafetyMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := watched(t, drawWorld(t, wanted{queues: 3, jobs: 12, noMinCount: true}), func(sim.Moment) {})
		if log.Unschedulable > 0 {
			t.Fatalf("%d pods found no node\n%s", log.Unschedulable, tail(log))
		}
	})
}
