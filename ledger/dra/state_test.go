package dra

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	resourceapi "k8s.io/api/resource/v1"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/supply"
)

// told gathers what a State says over time, as its reader does.
type told map[string]map[string]supply.Stock

func (k told) hear(s *State) {
	for _, devices := range s.Changed() {
		k[devices.Node] = devices.Rows
	}
}

func start(t *rapid.T) (*State, *world) {
	s, w := New(), newWorld()
	for name, class := range sampleClasses() {
		w.classes[name] = class
		s.SetClass(class)
	}
	loose := class("loose", `device.driver == "gpu.example.com"`)
	w.classes["loose"] = loose
	s.SetClass(loose)
	for i := range worldNodes {
		name := fmt.Sprintf("node-%d", i)
		w.nodes[name] = nil
		s.SetNode(name, nil)
	}
	for i := range 8 { // most pools are whole at first, some are not
		l := drawSlice(t, i)
		w.slices[l.Name] = l
		s.SetSlice(l)
	}
	for range rapid.IntRange(1, 4).Draw(t, "wants") {
		specs := rapid.SampledFrom(asks()).Draw(t, "ask")
		name, _ := s.Want(specs)
		w.wants[name] = specs
	}
	return s, w
}

// Whatever happened in whatever order, the rows are those that the scheduler's
// allocator comes to, node by node, from all objects, with nothing remembered. Where
// a pool gives to several nodes from the same things, they may say less.
func TestRowsAreWhatTheAllocatorSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := start(t)
		heard := told{}
		for range rapid.IntRange(1, 8).Draw(t, "looks") {
			for range rapid.IntRange(1, 6).Draw(t, "events") {
				w.step(t, s)
			}
			heard.hear(s)
			compare(t, w, heard)
		}
	})
}

func compare(t *rapid.T, w *world, heard told) {
	want := w.rows()
	if !w.doubtful() {
		if diff := cmp.Diff(want, heard.with(want), ignoreEmpty()); diff != "" {
			t.Fatalf("rows (-from nothing +from events):\n%s", diff)
		}
		return
	}
	for node, rows := range heard {
		for name, stock := range rows {
			if limit := want[node][name]; stock.Free > limit.Free || stock.Total > limit.Total && limit.Total != unknown {
				t.Fatalf("%s of %s: %+v, but the allocator says %+v", name, node, stock, limit)
			}
		}
	}
}

// with replaces the totals of which another does not know.
func (k told) with(other map[string]map[string]supply.Stock) map[string]map[string]supply.Stock {
	all := map[string]map[string]supply.Stock{}
	for node, rows := range k {
		all[node] = map[string]supply.Stock{}
		maps.Copy(all[node], rows)
	}
	for node, rows := range other {
		if all[node] == nil {
			all[node] = map[string]supply.Stock{}
		}
		for name, stock := range rows {
			if stock.Total == unknown {
				all[node][name] = supply.Stock{Total: unknown, Free: all[node][name].Free}
			}
		}
	}
	return all
}

// ignoreEmpty takes a node without rows for one that was never heard of.
func ignoreEmpty() cmp.Option {
	return cmpopts.IgnoreMapEntries(func(_ string, rows map[string]supply.Stock) bool { return len(rows) == 0 })
}

// A set counts single devices. Of claims for several of them at least as many can be
// met as the row says, and where nothing but numbers matters, no more.
func TestSetsOfSeveralDevices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := start(t)
		specs := []resourceapi.ResourceClaimSpec{claimOf(exactly("gpu", rapid.Int64Range(2, 3).Draw(t, "count")))}
		name, units := s.Want(specs)
		for range rapid.IntRange(0, 6).Draw(t, "events") {
			w.step(t, s)
		}
		heard := told{}
		heard.hear(s)
		a := allocator{expressions: newExpressions(), classes: w.classes}
		for _, node := range slices.Sorted(maps.Keys(w.nodes)) {
			slots, err := a.slots(w.site(node, true), claimsFor(specs), most)
			says := heard[node][name].Free / units
			if says > slots || err == nil && s.viewOf(s.nodes[node]).plain && !w.doubtful() && says != slots && s.Problem(name) == "" {
				t.Fatalf("%s: the row says %d pods, the allocator %d, %v", node, says, slots, err)
			}
		}
	})
}

// A manager that starts now and hears of the objects alone, in whatever order, comes
// to the rows of one that saw everything happen.
func TestRowsDoNotDependOnTheOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := start(t)
		heard := told{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			w.step(t, s)
			if rapid.Bool().Draw(t, "look") {
				heard.hear(s)
			}
		}
		heard.hear(s)
		fresh := told{}
		fresh.hear(w.retell(t))
		if diff := cmp.Diff(fresh, heard, cmpopts.EquateEmpty(), ignoreEmpty()); diff != "" {
			t.Fatalf("rows (-from objects alone +from events):\n%s", diff)
		}
	})
}

// retell tells a new State of all objects in an order of its own.
func (w *world) retell(t *rapid.T) *State {
	s := New()
	var tell []func()
	for _, l := range inOrder(w.slices) {
		tell = append(tell, func() { s.SetSlice(l) })
	}
	for _, c := range inOrder(w.claims) {
		tell = append(tell, func() { s.SetClaim(c) })
	}
	for _, c := range inOrder(w.classes) {
		tell = append(tell, func() { s.SetClass(c) })
	}
	for _, r := range inOrder(w.rules) {
		tell = append(tell, func() { s.SetTaintRule(r) })
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		tell = append(tell, func() { s.SetNode(name, w.nodes[name]) })
	}
	for _, specs := range inOrder(w.wants) {
		tell = append(tell, func() { s.Want(specs) })
	}
	for _, one := range rapid.Permutation(tell).Draw(t, "order") {
		one()
	}
	return s
}

// inOrder keeps a drawn case the same when it is run again.
func inOrder[K ~string, V any](m map[K]V) []V {
	var list []V
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[key])
	}
	return list
}
