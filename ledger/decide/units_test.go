package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const seventh = "nvidia.com/mig-1g.10gb"

// inSlices has a queue with 14 slices: 7 for each of the whole cards, of which node
// whole has two, and one for each seventh of a card, of which node parts has 14.
func inSlices(t testing.TB) *world {
	w := newWorld(t)
	w.catalog.Resources.Conversions = map[string]map[string]int64{gpu: {"slices": 7}, seventh: {"slices": 1}}
	w.catalog.Queues["research"] = ofSlices(14)
	w.book.SetRules(w.catalog.Resources)
	w.node("whole", 2)
	w.node("parts", 0, func(n *supply.Node) { n.Allocatable[seventh] = 14 })
	return w
}

func ofSlices(n int64) policies.Queue {
	q := queue(0)
	q.Quota["gpu"] = map[string]policies.Limit{"slices": {Nominal: n}}
	return q
}

func sevenths(n int64) func(*demand.Job) {
	return func(j *demand.Job) { j.PodSets[0].Requests[seventh] = n }
}

func TestOneQuotaForCardsAndTheirParts(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(*world)
		runs  []string
		waits map[string]string
	}{
		{"a card and seven parts are all there is", func(w *world) {
			w.job("card", 1, 1)
			w.job("parts", 7, 0, sevenths(1))
			w.job("one more", 1, 0, sevenths(1))
			w.job("another card", 1, 1)
		}, []string{"card", "parts"}, map[string]string{
			"one more":     "WaitingForQuota: research uses 14 of 14 slices on gpu; 1 nvidia.com/mig-1g.10gb = 1 slices asked, 0 left",
			"another card": "WaitingForQuota: research uses 14 of 14 slices on gpu; 1 nvidia.com/gpu = 7 slices asked, 0 left",
		}},
		{"a pod may ask for both", func(w *world) {
			w.node("both", 1, func(n *supply.Node) { n.Allocatable[seventh] = 7 })
			w.job("both", 1, 1, sevenths(3))
			w.job("too many", 1, 1)
		}, []string{"both"}, map[string]string{
			"too many": "WaitingForQuota: research uses 10 of 14 slices on gpu; 1 nvidia.com/gpu = 7 slices asked, 4 left",
		}},
		{"more than there ever is", func(w *world) {
			w.job("huge", 3, 1)
			w.job("mixed", 2, 1, sevenths(1))
		}, []string{}, map[string]string{
			"huge":  "NeverFits: 3 nvidia.com/gpu = 21 slices asked; research may use at most 14 on gpu. Try: ask for less",
			"mixed": "NeverFits: 2 nvidia.com/gpu and 2 nvidia.com/mig-1g.10gb = 16 slices asked; research may use at most 14 on gpu. Try: ask for less",
		}},
		{"machines are counted in what the pods ask for", func(w *world) {
			w.pod("stranger", "whole", "", 2)
			w.job("card", 1, 1)
			w.job("parts", 14, 0, sevenths(1))
		}, []string{"parts"}, map[string]string{
			"card": "WaitingForQuota: research uses 14 of 14 slices on gpu; 1 nvidia.com/gpu = 7 slices asked, 0 left",
		}},
		{"and so are those of who has the quota", func(w *world) {
			w.pod("stranger", "whole", "", 2)
			w.job("card", 1, 1)
		}, []string{}, map[string]string{
			"card": "WaitingForMachines: 1 nvidia.com/gpu asked, 0 free on the machines of gpu",
		}},
		{"pods that were admitted in cards count in slices", func(w *world) {
			w.job("old", 1, 1)
			w.catalog.Resources.Conversions, w.catalog.Queues["research"] = nil, queue(4)
			w.book.SetRules(w.catalog.Resources)
			w.carryOut(w.plan())
			w.catalog.Resources.Conversions = map[string]map[string]int64{gpu: {"slices": 7}}
			w.catalog.Queues["research"] = ofSlices(7)
			w.book.SetRules(w.catalog.Resources)
			w.job("new", 1, 1)
		}, []string{}, map[string]string{
			"new": "WaitingForQuota: research uses 7 of 7 slices on gpu; 1 nvidia.com/gpu = 7 slices asked, 0 left",
		}},
		{"a Job that nobody admitted counts in slices", func(w *world) {
			w.job("forced", 1, 1, func(j *demand.Job) { j.Suspended = false })
			w.job("parts", 8, 0, sevenths(1))
		}, []string{}, map[string]string{
			"parts": "WaitingForQuota: research uses 7 of 14 slices on gpu; 8 nvidia.com/mig-1g.10gb = 8 slices asked, 7 left",
		}},
		{"what is charged as something that no quota names is held", func(w *world) {
			w.catalog.Queues["research"] = queue(4)
			w.job("card", 1, 1)
		}, []string{}, map[string]string{
			"card": "UnknownResource: nvidia.com/gpu (charged as slices): not in a quota of research, nor listed under resources in the policy. " +
				"Try: have it given a quota (queues.research.quota of the policy), or listed under resources.unlimited",
		}},
		{"what is charged as something free is free", func(w *world) {
			w.catalog.Queues["research"] = queue(4)
			w.catalog.Resources.Unlimited = []string{"slices", "pods"}
			w.job("card", 1, 1)
		}, []string{"card"}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := inSlices(t)
			c.given(w)
			r := w.plan()
			if diff := cmp.Diff(c.runs, started(r)); diff != "" {
				t.Errorf("who starts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.waits, said(r)); diff != "" {
				t.Errorf("why others wait (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAdmissionKeepsWhatWasAskedForAndNamesWhereItIsCharged(t *testing.T) {
	w := inSlices(t)
	w.job("card", 1, 1)
	got := w.plan().Admit[0].Reservation.PodSets[0]
	if diff := cmp.Diff(resource.List{"pods": 1, gpu: 1}, got.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"pods": "gpu", gpu: "gpu", "slices": "gpu"}, got.Flavors); diff != "" {
		t.Errorf("flavors (-want +got):\n%s", diff)
	}
}

func TestMachinesAreCountedInUnitsToo(t *testing.T) {
	w := inSlices(t)
	w.pod("stranger", "parts", "", 0, func(p *supply.Pod) { p.Requests[seventh] = 4 })
	stock := decide.Stock(w.book.Snapshot(), w.catalog)["gpu"]
	want := map[string]policies.Totals{
		"slices": {Allocatable: 28, Held: 4}, gpu: {Allocatable: 2}, seventh: {Allocatable: 14, Held: 4},
	}
	for name, totals := range want {
		if diff := cmp.Diff(totals, stock[name]); diff != "" {
			t.Errorf("%s for the catalog (-want +got):\n%s", name, diff)
		}
	}
	w.job("running", 1, 1)
	w.carryOut(w.plan())
	w.in.AskHold = true
	w.job("asks", 1, 1)
	r := w.plan()
	capacity := map[string]policies.CapacityAmount{gpu: r.AskCapacity["gpu"][gpu], "slices": r.AskCapacity["gpu"]["slices"]}
	if diff := cmp.Diff(map[string]policies.CapacityAmount{
		gpu:      {Allocatable: 2, Free: 2, LargestSlot: 2, Promised: 2}, // also to who is asked about
		"slices": {Allocatable: 28, Held: 4, Free: 24, LargestSlot: 14, Promised: 14},
	}, capacity); diff != "" {
		t.Errorf("for hold (-want +got):\n%s", diff)
	}
	usage := r.AskUsage["uid-asks"]
	want2 := map[string]map[string]policies.UsageAmount{"slices": {"gpu": {Used: 7, Reserved: 7, Nominal: 14, Limit: 14}}}
	if diff := cmp.Diff(want2, map[string]map[string]policies.UsageAmount(usage.Queue)); diff != "" {
		t.Errorf("usage for hold (-want +got):\n%s", diff)
	}
}

// TestOtherConversionsWakeEverybody: a planner that remembers judges again whoever waits,
// by what is charged now.
func TestOtherConversionsWakeEverybody(t *testing.T) {
	w := inSlices(t)
	w.job("running", 1, 1)
	w.job("waiting", 2, 1)
	planner := decide.NewPlanner()
	w.carryOut(planner.Plan(w.all()))
	if r := planner.Plan(w.all()); len(r.Admit) > 0 {
		t.Fatalf("%v start beyond the quota", started(r))
	}
	cheaper := *w.catalog
	cheaper.Resources.Conversions = map[string]map[string]int64{gpu: {"slices": 4}, seventh: {"slices": 1}}
	w.catalog = &cheaper
	w.book.SetRules(w.catalog.Resources)
	w.node("more", 2)
	if diff := cmp.Diff([]string{"waiting"}, started(planner.Plan(w.all()))); diff != "" {
		t.Errorf("a card is 4 slices now (-want +got):\n%s", diff)
	}
}
