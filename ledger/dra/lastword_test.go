package dra

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// The allocator need not be asked again before Jobs are let go: it could say nothing
// that the rows don't say already. Whoever is let go by them and their costs, with
// others or alone, gets his devices from the scheduler's allocator for each of his
// pods, in whatever order they come and on whatever nodes those before them landed.
func TestWhoIsLetGoByRowsIsAllocated(t *testing.T) {
	var pods, kits, mixed int
	rapid.Check(t, func(t *rapid.T) {
		s, w := start(t)
		for range 3 {
			specs := rapid.SampledFrom(asks()).Draw(t, "ask")
			name, _ := s.Want(specs)
			w.wants[name] = specs
		}
		if rapid.Bool().Draw(t, "plain") {
			w.flatten(s)
		}
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			w.step(t, s)
		}
		coming := w.letGo(t, s)
		pods += len(coming)
		kinds := map[string]bool{}
		for _, row := range coming {
			if kinds[row] = true; strings.HasPrefix(row, resource.Kit) {
				kits++
			}
		}
		if len(kinds) > 1 {
			mixed++
		}
		w.land(t, rapid.Permutation(coming).Draw(t, "order"))
	})
	t.Logf("%d pods let go, %d of kits; %d times of several kinds", pods, kits, mixed)
	if pods < 50 || kits < 10 || mixed == 0 {
		t.Error("what is drawn decides too little")
	}
}

// flatten leaves whole pools of cards of which nothing but their number matters.
func (w *world) flatten(s *State) {
	in := map[string]int64{}
	for _, l := range w.slices {
		in[l.Spec.Pool.Name]++
	}
	for name, old := range w.slices {
		l := old.DeepCopy()
		l.Spec.SharedCounters = nil
		for i := range l.Spec.Devices {
			d := &l.Spec.Devices[i]
			d.ConsumesCounters, d.AllowMultipleAllocations = nil, nil
		}
		l.Spec.Pool.Generation, l.Spec.Pool.ResourceSliceCount = 1, in[l.Spec.Pool.Name]
		w.slices[name] = l
		s.SetSlice(l)
	}
}

// letGo draws Jobs, has it decided who may start, and returns the row of each pod
// that will come.
func (w *world) letGo(t *rapid.T, s *State) []string {
	b := book.New()
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		b.SetNode(&supply.Node{Name: name, Labels: w.nodes[name], Ready: true, Allocatable: resource.List{resource.Pods: 110}})
	}
	for _, devices := range s.Changed() {
		b.SetDevices(devices)
	}
	costs, _ := s.Costs()
	b.SetCosts(costs)
	catalog := &policies.Catalog{Flavors: map[string]policies.Flavor{"any": {}}, Queues: map[string]policies.Queue{}}
	verdicts := map[string]decide.Outcome{}
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		row := rapid.SampledFrom(slices.Sorted(maps.Keys(w.wants))).Draw(t, "of")
		queue := fmt.Sprint("queue-", i)
		catalog.Queues[queue] = policies.Queue{Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"any"}}
		job := &demand.Job{
			UID: queue, Name: row, Queue: queue, Suspended: true, Arrival: demand.Arrival{Effective: int64(i), Stamp: int64(i)},
			PodSets: []demand.PodSet{{
				Count: rapid.Int64Range(1, 5).Draw(t, "pods"), Requests: resource.List{resource.Pods: 1},
				Place: demand.Place{Devices: resource.List{row: newWant(w.wants[row]).units}},
			}},
		}
		b.SetJob(job)
		verdicts[job.UID] = decide.Outcome{Verdict: policies.Verdict{Queue: queue}}
	}
	var coming []string
	for _, a := range decide.Plan(decide.Input{Snapshot: b.Snapshot(), Catalog: catalog, Verdicts: verdicts, Revision: "r", Now: 10}).Admit {
		for range a.Job.PodSets[0].Count {
			coming = append(coming, a.Job.Name)
		}
	}
	return coming
}

// land allocates for one pod after the other, each on any of the nodes that has what
// it asks for.
func (w *world) land(t *rapid.T, coming []string) {
	a := allocator{expressions: newExpressions(), classes: w.classes}
	sites := map[string]*site{}
	for node := range w.nodes {
		at := w.site(node, true)
		sites[node] = &at
	}
	landed := []string{}
	for _, row := range coming {
		found := false
		for _, node := range rapid.Permutation(slices.Sorted(maps.Keys(sites))).Draw(t, "nodes") {
			results, err := a.allocate(*sites[node], claimsFor(w.wants[row]))
			if err != nil {
				t.Fatalf("a pod of %s was let go, and is given up: %v", row, err)
			}
			if results != nil {
				found = true
				for _, at := range sites { // pools may reach several nodes
					take(&at.state, results)
				}
				landed = append(landed, node+" "+row)
				break
			}
		}
		if !found {
			t.Fatalf("a pod of %s was let go, and finds no devices; before it landed %v, and of %v it is the %dth", row, landed, coming, len(landed)+1)
		}
	}
}
