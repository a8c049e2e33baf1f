package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

func podOf(namespace string) func(*supply.Pod) {
	return func(p *supply.Pod) { p.Namespace = namespace }
}

// Who is asked about, or being written, keeps its part of the namespace, too: nobody there
// overtakes it for that.
func TestNobodyTakesWhatIsKeptOfANamespace(t *testing.T) {
	for name, first := range map[string]func(*world){
		"asked about":   func(w *world) { w.in.AskHold, w.in.Holds = true, map[string]decide.HoldAnswer{"uid-second": {}} },
		"being written": func(w *world) { w.in.Busy = map[string]bool{"uid-first": true} },
	} {
		w := spacious(t)
		w.namespaceQuota("team", 4, 0)
		w.job("first", 1, 4)
		w.job("second", 1, 4)
		first(w)
		if r := w.plan(); len(r.Admit) != 0 {
			t.Errorf("%v goes while first is %s", started(r), name)
		}
	}
}

// Once who was asked about is held, what was kept of the namespace is for the next one.
func TestWhatWasKeptOfANamespaceIsGivenBack(t *testing.T) {
	w, planner := spacious(t), decide.NewPlanner()
	w.namespaceQuota("team", 4, 0)
	w.job("first", 1, 4)
	w.job("second", 1, 4)
	w.in.AskHold, w.in.Holds = true, map[string]decide.HoldAnswer{"uid-second": {}}
	if r := planner.Plan(w.all()); len(r.Admit) != 0 {
		t.Errorf("%v goes while first is asked about", started(r))
	}
	w.in.Holds["uid-first"] = decide.HoldAnswer{Reason: &reason.Reason{Code: reason.HeldByPolicy}}
	if diff := cmp.Diff([]string{"second"}, started(planner.Plan(w.all()))); diff != "" {
		t.Errorf("who starts (-want +got):\n%s", diff)
	}
}

// A pod that was told to go and never does counts for nothing in Kubernetes after its grace.
func TestAPodThatNeverGoesBarsNobody(t *testing.T) {
	w := spacious(t)
	w.namespaceQuota("team", 4, 0)
	w.pod("stuck", "n0", "", 4, func(p *supply.Pod) { p.Deleting, p.DeletingSince = true, start-3600*second })
	w.job("a", 1, 4)
	if r := w.plan(); len(r.Admit) != 1 {
		t.Errorf("it waits: %v", said(r))
	}
}

// A strict line goes past a Job that its namespace bars, also one at which it stopped, and
// stops there again when it does no longer.
func TestAStrictLineGoesPastWhoTheirNamespaceBars(t *testing.T) {
	w, planner := newWorld(t), decide.NewPlanner()
	q := queue(100)
	q.Strategy = policies.StrictFIFO
	w.catalog.Queues["research"] = q
	w.node("n0", 4)
	w.node("n1", 8)
	w.pod("x", "n1", "", 8, podOf("another"))
	w.job("a", 1, 8)
	w.job("b", 1, 1, of("elsewhere"))
	for i, step := range []struct {
		hard   int64
		starts []string
	}{{100, []string{}}, {1, []string{"b"}}, {100, []string{}}} {
		w.namespaceQuota("team", step.hard, 0)
		fresh, r := w.plan(), planner.Plan(w.all())
		if diff := cmp.Diff(step.starts, started(fresh)); diff != "" {
			t.Errorf("step %d, from nothing (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(step.starts, started(r)); diff != "" {
			t.Errorf("step %d, by a planner that remembers (-want +got):\n%s", i, diff)
		}
	}
}

// Jobs with the same pods may be of other terms: each is counted by its own.
func TestJobsOfOneClassAreBarredByTheirOwnTerms(t *testing.T) {
	w := spacious(t)
	w.namespaceQuota("team", 0, 0, nsquota.Scope{Name: "NotTerminating"})
	w.job("a", 1, 1)
	w.job("b", 1, 1, func(j *demand.Job) { j.PodSets[0].Terms.Terminating = true })
	if diff := cmp.Diff([]string{"b"}, started(w.plan())); diff != "" {
		t.Errorf("who starts (-want +got):\n%s", diff)
	}
}

// Many who wait for their namespace cost a plan that is not about them next to nothing.
func TestWhoIsBarredCostsNothing(t *testing.T) {
	w, planner := spacious(t), decide.NewPlanner()
	w.namespaceQuota("team", 0, 0)
	for i := range 10_000 {
		w.job(fmt.Sprint("j", i), 1, 1)
	}
	planner.Plan(w.all())
	if made := testing.AllocsPerRun(20, func() { planner.Plan(w.all()) }); made > 1000 {
		t.Errorf("a plan in which nothing happens allocates %v times", made)
	}
}

// However quotas, pods and Jobs come and go, a planner that remembers lets those go that one
// from nothing does, and never more than the namespaces take.
func TestNamespacesAreNeverOverfull(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, planner := newWorld(t), decide.NewPlanner()
		q := queue(40)
		q.Strategy = rapid.SampledFrom([]policies.Strategy{policies.BestEffortFIFO, policies.StrictFIFO, policies.Backfill}).Draw(rt, "strategy")
		w.catalog.Queues["research"] = q
		for i := range 5 {
			w.node(fmt.Sprint("n", i), 6)
		}
		hard, asked := map[string]int64{}, map[string]int64{} // by namespace, and by running Job
		var running []string
		used := func(namespace string) (n int64) {
			for _, name := range running {
				if w.book.Snapshot().Entry("uid-"+name).Job().Namespace == namespace {
					n += asked[name]
				}
			}
			return n
		}
		for step := range rapid.IntRange(3, 25).Draw(rt, "steps") {
			namespace := rapid.SampledFrom([]string{"team", "other"}).Draw(rt, "namespace")
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0, 1, 2:
				name, pods, gpus := fmt.Sprint("j", step), rapid.Int64Range(1, 3).Draw(rt, "pods"), rapid.Int64Range(1, 4).Draw(rt, "gpus")
				asked[name] = pods * gpus
				w.job(name, pods, gpus, of(namespace))
			case 3:
				hard[namespace] = rapid.Int64Range(0, 15).Draw(rt, "hard")
			case 4:
				w.book.DeleteNamespaceQuota(namespace, "gpus")
				delete(hard, namespace)
			case 5:
				if len(running) > 0 {
					at := rapid.IntRange(0, len(running)-1).Draw(rt, "ends")
					w.book.DeleteJob("uid-" + running[at])
					running = slices.Delete(running, at, at+1)
				}
			}
			for of, n := range hard {
				w.namespaceQuota(of, n, used(of))
			}
			fresh, r := w.plan(), planner.Plan(w.all())
			if diff := cmp.Diff(started(fresh), started(r)); diff != "" {
				rt.Fatalf("step %d: who starts (-from nothing +remembered):\n%s", step, diff)
			}
			before := map[string]int64{"team": used("team"), "other": used("other")}
			w.carryOut(r)
			running = append(running, started(r)...)
			for of, n := range hard {
				if now := used(of); now > n && now > before[of] {
					rt.Fatalf("step %d: %s uses %d of %d", step, of, now, n)
				}
			}
		}
	})
}

// Who waits is told anew when something else of its namespace is in the way, be it by the
// same code: not when only more or less is used.
func TestWhoIsBarredIsToldWhenSomethingElseIsInTheWay(t *testing.T) {
	w, planner := spacious(t), decide.NewPlanner()
	w.job("a", 2, 2)
	w.job("b", 2, 2)
	for _, s := range []struct {
		name       string
		hard, used int64
		told       bool
		says       string
	}{
		{"not counted", 8, nsquota.Unknown, true, "is new"},
		{"counted", 8, 5, true, "5 of 8 used"},
		{"more is used", 8, 7, false, "7 of 8 used"},
		{"raised", 10, 7, true, "7 of 10 used"},
		{"lowered below what is asked", 3, 7, true, "allows 3 in all"},
		{"a little less", 2, 7, true, "allows 2 in all"},
		{"the same", 2, 7, false, "allows 2 in all"},
	} {
		w.namespaceQuota("team", s.hard, s.used)
		r := planner.Plan(w.all())
		var want []string
		if s.told {
			want = []string{"uid-a", "uid-b"}
		}
		if diff := cmp.Diff(want, r.Changed, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: whom to tell (-want +got):\n%s", s.name, diff)
		}
		for _, name := range []string{"a", "b"} {
			if why, _ := planner.Why("uid-" + name); !strings.Contains(why.Reason.Message, s.says) {
				t.Errorf("%s: %s waits: %s", s.name, name, why.Reason.Message)
			}
		}
		if stale := s.name != "the same"; stale != slices.Contains(r.Stale, "research") {
			t.Errorf("%s: the queue's status is to be written: %v", s.name, r.Stale)
		}
	}
}
