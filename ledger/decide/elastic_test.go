package decide_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// elasticWorld has no nodes, and an autoscaler that may add two of 8 GPUs each to the
// flavor spot; the queue prefers it to the flavor gpu, of which there are none yet.
func elasticWorld(t *testing.T) *world {
	w := newWorld(t)
	w.catalog.Flavors = map[string]policies.Flavor{
		"spot": {NodeLabels: map[string]string{"pool": "spot"}, Elastic: policies.Elastic{
			Max: 2, Node: policies.Amounts{gpu: 8}, TimeoutSeconds: 600,
		}},
		"gpu": {NodeLabels: map[string]string{"pool": "gpu"}},
	}
	w.catalog.Queues["research"] = policies.Queue{
		Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"spot", "gpu"},
		Quota: map[string]map[string]policies.Limit{"spot": {gpu: {Nominal: 100}}, "gpu": {gpu: {Nominal: 100}}},
	}
	w.book.Follow(w.catalog)
	return w
}

// asks is what each Job that is let go gets, and for how many machines more it asks.
func asks(r decide.Result) map[string]int64 {
	all := map[string]int64{}
	for _, a := range r.Admit {
		all[a.Job.Name+" on "+a.Reservation.PodSets[0].Flavors[gpu]] = a.Reservation.Machines
	}
	return all
}

func expect[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestJobsStartOnMachinesThatAreNotThereUpToMax(t *testing.T) {
	w := elasticWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.job(name, 1, 8)
	}
	r := w.plan()
	expect(t, "let go", asks(r), map[string]int64{"a on spot": 1, "b on spot": 1})
	if why := said(r)["c"]; !strings.Contains(why, "WaitingForMachines") || !strings.Contains(why, "2 of 2 nodes are not there yet and can be added") {
		t.Errorf("c waits: %s", why)
	}
	for _, a := range r.Admit {
		if len(a.PreferNodes)+len(a.Reservation.Plan) > 0 {
			t.Errorf("%s is planned for %v: such a node is not there", a.Job.Name, a.PreferNodes)
		}
	}

	w.carryOut(r)
	expect(t, "while nothing has come", asks(w.plan()), map[string]int64{})
	w.node("n1", 8, labels("pool", "spot"))
	expect(t, "with one machine that has come", asks(w.plan()), map[string]int64{})
	w.pod("a", "n1", "a", 8)
	w.node("n2", 8, labels("pool", "spot"))
	w.pod("b", "n2", "b", 8)
	r = w.plan()
	expect(t, "with both", asks(r), map[string]int64{})
	if why := said(r)["c"]; strings.Contains(why, "can be added") {
		t.Errorf("c waits for machines that nobody adds: %s", why)
	}
	w.book.DeletePod("pod-a")
	w.book.DeleteJob("uid-a")
	expect(t, "once one is over", asks(w.plan()), map[string]int64{"c on spot": 0})
	if err := w.book.SelfCheck(); err != nil {
		t.Error(err)
	}
}

func TestRoomThatIsThereComesBeforeMachinesThatAreNot(t *testing.T) {
	w := elasticWorld(t)
	w.node("n1", 8, labels("pool", "spot"))
	w.job("small", 1, 4)
	w.job("gang", 3, 4)
	expect(t, "let go", asks(w.plan()), map[string]int64{"small on spot": 0, "gang on spot": 1})
}

func TestWhatIsNotThereIsGivenNobodyWhoCantHaveIt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*policies.Flavor)
		job    func(*demand.Job)
		pods   int64
		code   string
	}{
		"more pods than all machines take":                {pods: 3, code: "NeverFits"},
		"pods that select what the flavor does not name":  {pods: 1, code: "NeverFits: no node of spot may run its pods: selector zone=a (2 nodes)", job: selects("zone", "a")},
		"pods that ask for what the machines do not have": {pods: 1, code: "NeverFits", job: func(j *demand.Job) { j.PodSets[0].Requests["memory"] = 1 }},
		"a flavor of which nobody knows what it has":      {pods: 1, code: "NeverFits", change: func(f *policies.Flavor) { f.Elastic.Node = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			w := elasticWorld(t)
			f := w.catalog.Flavors["spot"]
			if c.change != nil {
				c.change(&f)
			}
			w.catalog.Flavors["spot"] = f
			w.book.Follow(w.catalog)
			if c.job == nil {
				c.job = func(*demand.Job) {}
			}
			w.job("a", c.pods, 8, c.job)
			r := w.plan()
			if why := said(r)["a"]; len(r.Admit) > 0 || !strings.HasPrefix(why, c.code) {
				t.Errorf("let go: %v; it waits: %s", started(r), why)
			}
		})
	}
}

func TestWithoutASizeTheMachinesAreLikeThoseThatAreThere(t *testing.T) {
	w := elasticWorld(t)
	f := w.catalog.Flavors["spot"]
	f.Elastic.Node = nil
	w.catalog.Flavors["spot"] = f
	w.book.Follow(w.catalog)
	w.node("n1", 8, labels("pool", "spot"))
	w.pod("stranger", "n1", "", 8)
	w.job("a", 1, 8)
	r := w.plan()
	expect(t, "let go", asks(r), map[string]int64{"a on spot": 1})
	w.carryOut(r)
	w.job("b", 1, 1)
	expect(t, "two are all that there may be", asks(w.plan()), map[string]int64{})
}

// TestAnAutoscalerThatHasNoneIsNotAskedAgainForAWhile: the next flavor has its turn, also for
// Jobs of the same shape that were not tried; others ask again.
func TestAnAutoscalerThatHasNoneIsNotAskedAgainForAWhile(t *testing.T) {
	w := elasticWorld(t)
	w.job("a", 1, 8)
	w.carryOut(w.plan())
	w.pod("1", "", "a", 8, unbound(start))
	w.in.Now = start + 599*second
	expect(t, "taken back before it is time", taken(w.plan()), map[string]string{})
	w.in.Now = start + 600*second
	r := w.plan()
	expect(t, "taken back", taken(r), map[string]string{"a": "BackingOff: 1 pod found no node of spot within 600 s, and none was added for them"})
	w.putBack(r)
	w.book.DeletePod("pod-1")

	w.node("n1", 8, labels("pool", "gpu"))
	w.pod("stranger", "n1", "", 8)
	w.job("same", 1, 8)
	w.job("other", 1, 4)
	for _, w := range []*world{w, w.again()} {
		w.book.Tick(w.in.Now)
		r = w.plan()
		expect(t, "asks of another shape", asks(r), map[string]int64{"other on spot": 1})
		for _, name := range []string{"a", "same"} {
			if why := said(r)[name]; !strings.Contains(why, "more machines of spot were asked for in vain, and are asked for again from 1970-01-01T00:36:40Z") {
				t.Errorf("%s waits: %s", name, why)
			}
		}
	}
	w.book.DeletePod("pod-stranger")
	expect(t, "with room on the next flavor", asks(w.plan()), map[string]int64{"a on gpu": 0, "other on spot": 1})
	w.book.DeleteJob("uid-other")
	w.pod("stranger", "n1", "", 8)
	w.in.Now = start + 1200*second
	if next := w.book.Tick(w.in.Now - 1); next != w.in.Now {
		t.Errorf("the book wakes at %d, not at %d", next, w.in.Now)
	}
	w.book.Tick(w.in.Now)
	expect(t, "asked again", asks(w.plan()), map[string]int64{"a on spot": 1, "same on spot": 1})
}

// Who asked for no machine did not wait for one: what keeps its pods away is something
// else, which a pause may mend, and nobody else has to do without the autoscaler for it.
func TestWhoNeededNoMachineMoreDidNotWaitForOneInVain(t *testing.T) {
	w := elasticWorld(t)
	w.node("n1", 8, labels("pool", "spot"))
	w.job("a", 1, 8)
	r := w.plan()
	expect(t, "let go", asks(r), map[string]int64{"a on spot": 0})
	w.carryOut(r)
	w.pod("1", "", "a", 8, unbound(start))
	w.in.Now = start + 600*second
	r = w.plan()
	expect(t, "taken back", taken(r), map[string]string{"a": "BackingOff: 1 pod found no node within 600 s"})
	if b := r.Suspend[0].Backoff; b.Until <= w.in.Now || len(b.NoMachines) > 0 {
		t.Errorf("it starts again at %d, at %d now, and does without machines of %v", b.Until, w.in.Now, b.NoMachines)
	}
}

// putBack takes those back whom a plan takes back.
func (w *world) putBack(r decide.Result) {
	for _, s := range r.Suspend {
		j := *w.book.Job(s.Job.UID)
		j.Suspended, j.Started, j.Reservation, j.Backoff = true, false, nil, *s.Backoff
		w.book.SetJob(&j)
	}
}

// again is the same world after a restart.
func (w *world) again() *world {
	next := *w
	next.book = book.New()
	next.book.Follow(w.catalog)
	next.node("n1", 8, labels("pool", "gpu"))
	next.pod("stranger", "n1", "", 8)
	for _, e := range w.book.Snapshot().Queued() {
		next.book.SetJob(e.Job())
	}
	return &next
}

// TestAPlannerThatRemembersAsksLikeOneThatDoesNot steps through comings and goings of
// machines with one planner, and compares each plan with one made from nothing.
func TestAPlannerThatRemembersAsksLikeOneThatDoesNot(t *testing.T) {
	w, planner := elasticWorld(t), decide.NewPlanner()
	step := func(what string, do func()) {
		t.Helper()
		do()
		w.book.Tick(max(w.in.Now, start))
		fresh, r := w.plan(), planner.Plan(w.all())
		expect(t, what+": let go", asks(r), asks(fresh))
		expect(t, what+": taken back", slices.Sorted(maps.Keys(taken(r))), slices.Sorted(maps.Keys(taken(fresh))))
		for _, waits := range fresh.Waiting {
			if brief, _ := planner.Brief(waits.UID); brief.Code != waits.Reason.Code {
				t.Errorf("%s: %s waits for %s, and from nothing for %s", what, waits.Key, brief.Code, waits.Reason.Code)
			}
		}
		w.carryOut(r)
		w.putBack(r)
	}
	step("two that fill it and one more", func() { w.job("a", 1, 8); w.job("b", 1, 8); w.job("c", 1, 8) })
	step("a machine comes", func() { w.node("n1", 8, labels("pool", "spot")); w.pod("a", "n1", "a", 8) })
	step("none for b", func() { w.pod("b", "", "b", 8, unbound(start)); w.in.Now = start + 600*second })
	step("b is gone", func() { w.book.DeletePod("pod-b") })
	step("the next flavor has one", func() { w.node("n2", 8, labels("pool", "gpu")) })
	step("the pause is over", func() { w.in.Now = start + 1200*second })
	step("the machine goes", func() { w.book.DeletePod("pod-a"); w.book.DeleteJob("uid-a"); w.book.DeleteNode("n1") })
	step("there may be fewer", func() {
		catalog, f := *w.catalog, w.catalog.Flavors["spot"]
		f.Elastic.Max = 1
		catalog.Flavors = map[string]policies.Flavor{"spot": f, "gpu": w.catalog.Flavors["gpu"]}
		w.catalog = &catalog
		w.book.Follow(w.catalog)
	})
}

func TestPodsThatWaitForTheirMachinesAreNobodysRivals(t *testing.T) {
	w := elasticWorld(t)
	w.job("a", 1, 8)
	w.carryOut(w.plan())
	w.pod("1", "", "a", 8, unbound(start))
	w.job("b", 1, 8)
	expect(t, "let go beside them", asks(w.plan()), map[string]int64{"b on spot": 1})
	w.pod("stranger", "", "", 8, func(p *supply.Pod) { p.Place.NodeSelector = map[string]string{"pool": "spot"} })
	expect(t, "a stranger's would be bought for, too", asks(w.plan()), map[string]int64{})
}

// elasticInVain is an elastic world of which a Job asked for a machine, and none came.
func elasticInVain(t *testing.T) *world {
	w := elasticWorld(t)
	w.job("a", 1, 8)
	w.carryOut(w.plan())
	w.pod("1", "", "a", 8, unbound(start))
	w.in.Now = start + 600*second
	w.putBack(w.plan())
	w.book.DeletePod("pod-1")
	return w
}

// Who is let go with only what is there keeps to that: nobody takes its room because an
// autoscaler could give it another machine, of which it was told before that there is none.
func TestRoomOfWhoAskedInVainIsKeptThere(t *testing.T) {
	w := elasticInVain(t)
	w.node("n1", 8, labels("pool", "spot"))
	w.carryOut(w.plan())
	w.job("small", 1, 4)
	w.book.Tick(w.in.Now)
	expect(t, "before a is placed", asks(w.plan()), map[string]int64{})
	w.pod("2", "n1", "a", 8)
	expect(t, "after", asks(w.plan()), map[string]int64{"small on spot": 1})
}

// Who waits for quota of the next flavor is told of the one before it, too.
func TestAClosedFlavorIsNamedWhereAnotherIsWaitedFor(t *testing.T) {
	w := elasticInVain(t)
	w.catalog.Queues["research"].Quota["gpu"][gpu] = policies.Limit{Nominal: 8}
	w.book.Follow(w.catalog)
	w.node("n1", 8, labels("pool", "gpu"))
	w.carryOut(w.plan())
	w.pod("2", "n1", "a", 8)
	w.job("like", 1, 8)
	w.job("other", 1, 101)
	why := said(w.plan())
	expect(t, "told", why["like"], "WaitingForQuota: research uses 8 of 8 nvidia.com/gpu on gpu; 8 asked, 0 left; "+
		"more machines of spot were asked for in vain, and are asked for again from 1970-01-01T00:36:40Z")
	if strings.Contains(why["other"], "in vain") {
		t.Errorf("of another shape: %s", why["other"])
	}
}

func TestItIsToldThatNoMachineIsAskedFor(t *testing.T) {
	w := elasticInVain(t)
	p := decide.NewPlanner()
	p.Plan(w.all())
	nobody := reason.NodeGroup{Nodes: 2, Why: "not there yet; asked for in vain, and not asked for again for a while"}
	expect(t, "told", p.Nodes("uid-a"), []reason.FlavorNodes{{Flavor: "spot", Groups: []reason.NodeGroup{nobody}}, {Flavor: "gpu"}})
}
