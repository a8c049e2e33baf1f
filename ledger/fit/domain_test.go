package fit_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

const rack = "example.com/rack"

func inRack(name string) func(*supply.Node) {
	return func(n *supply.Node) { n.Labels = map[string]string{rack: name} }
}

func TestDomainsThatHoldAGang(t *testing.T) {
	nodes := fit.New()
	for name, at := range map[string]struct {
		rack string
		gpus int64
	}{
		"a1": {"a", 8}, "a2": {"a", 8}, "a3": {"a", 8}, "b1": {"b", 8}, "b2": {"b", 8}, "c1": {"c", 8}, "c2": {"c", 8}, "d1": {"d", 8}, "free": {"", 64},
	} {
		nodes.SetNode(node(name, at.gpus, inRack(at.rack)))
	}
	place := func(rackName string) demand.Place {
		return demand.Place{NodeSelector: map[string]string{rack: rackName}}
	}
	ask := resource.List{"pods": 1, gpu: 8}
	all := nodes.Shape(demand.Place{}, ask, nil)
	inB, inC := nodes.Shape(place("b"), ask, nil), nodes.Shape(place("c"), resource.List{"pods": 1, gpu: 4}, nil)
	for name, c := range map[string]struct {
		pods   int64
		others []fit.Promise
		want   []fit.Domain
	}{
		"the tightest first, of equals by name":          {2, nil, []fit.Domain{{Name: "b", Slots: 2}, {Name: "c", Slots: 2}, {Name: "a", Slots: 3}}},
		"one node is enough for one":                     {1, nil, []fit.Domain{{Name: "d", Slots: 1}, {Name: "b", Slots: 2}, {Name: "c", Slots: 2}, {Name: "a", Slots: 3}}},
		"none holds more than the largest has":           {4, nil, nil},
		"what is promised in one is not free there":      {2, []fit.Promise{{Shape: inB, Pods: 1, Firm: true}}, []fit.Domain{{Name: "c", Slots: 2}, {Name: "a", Slots: 3}}},
		"and leaves the tighter hole":                    {1, []fit.Promise{{Shape: inB, Pods: 1, Firm: true}}, []fit.Domain{{Name: "b", Slots: 1}, {Name: "d", Slots: 1}, {Name: "c", Slots: 2}, {Name: "a", Slots: 3}}},
		"smaller pods that are promised may take a node": {2, []fit.Promise{{Shape: inC, Pods: 1, Firm: true}}, []fit.Domain{{Name: "b", Slots: 2}, {Name: "a", Slots: 3}}},
		"pods that may land anywhere may land in each":   {2, []fit.Promise{{Shape: all, Pods: 1, Firm: true}}, []fit.Domain{{Name: "a", Slots: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, nodes.Room().Holding(all, rack, c.pods, c.others)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got, want := nodes.Room().Domains(all, rack), (fit.Domains{Count: 4, Slots: 8, Largest: fit.Domain{Name: "a", Slots: 3}}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDomainsIfNothingRan(t *testing.T) {
	nodes := fit.New()
	nodes.SetNode(node("a1", 8, inRack("a")))
	nodes.SetNode(node("a2", 8, inRack("a"), func(n *supply.Node) { n.Ready = false }))
	nodes.SetNode(node("b1", 8, inRack("b"), taint("k", "v", "NoSchedule")))
	nodes.Hold("a1", nodes.Vector(resource.List{gpu: 8}))
	s := nodes.Shape(demand.Place{}, resource.List{"pods": 1, gpu: 8}, nil)
	if got, want := nodes.EmptyDomains(s, rack), (fit.Domains{Count: 1, Slots: 2, Largest: fit.Domain{Name: "a", Slots: 2}}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := nodes.Room().Domains(s, rack), (fit.Domains{Count: 1, Largest: fit.Domain{Name: "a"}}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestDomainsFollowTheNodes: whatever happens to nodes and pods, in whatever order
// somebody asks in between, what is counted on the way is what a new book would say:
// for domains, for shapes that select one, and in a copy as in the room itself.
func TestDomainsFollowTheNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running, now := fit.New(), map[string]*supply.Node{}
		held := map[string]int64{}
		racks := []string{"", "a", "b", "c"}
		pod := running.Vector(resource.List{"pods": 1, gpu: 1})
		shape := func(n *fit.Nodes, gpus int64, in string) *fit.Shape {
			place := demand.Place{}
			if in != "" {
				place.NodeSelector = map[string]string{rack: in}
			}
			return n.Shape(place, resource.List{"pods": 1, gpu: gpus}, nil)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			name := fmt.Sprint("n", rapid.IntRange(0, 5).Draw(t, "node"))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				n := node(name, rapid.Int64Range(0, 8).Draw(t, "gpus"), inRack(rapid.SampledFrom(racks).Draw(t, "rack")))
				n.Ready = rapid.IntRange(0, 5).Draw(t, "ready") > 0
				now[name] = n
				running.SetNode(n)
			case 2:
				delete(now, name)
				running.DeleteNode(name)
			case 3:
				held[name]++
				running.Hold(name, pod)
			case 4:
				if held[name] > 0 {
					held[name]--
					running.Free(name, pod)
				}
			}
			running.Room().Holding(shape(running, 2, ""), rack, 1, nil)
			running.Room().Largest(shape(running, 2, rapid.SampledFrom(racks).Draw(t, "asked")))
		}
		anew := fit.New()
		for _, n := range now {
			anew.SetNode(n)
		}
		for name, pods := range held {
			for range pods {
				anew.Hold(name, anew.Vector(resource.List{"pods": 1, gpu: 1}))
			}
		}
		rooms := map[string]*fit.Room{"room": running.Room(), "copy": running.Room().Copy()}
		for what, room := range rooms {
			for gpus := int64(1); gpus <= 3; gpus++ {
				s, want := shape(running, gpus, ""), shape(anew, gpus, "")
				if diff := gocmp.Diff(anew.Room().Holding(want, rack, 1, nil), room.Holding(s, rack, 1, nil)); diff != "" {
					t.Fatalf("%s, %d GPUs: %s", what, gpus, diff)
				}
				if a, b := anew.Room().Domains(want, rack), room.Domains(s, rack); a != b {
					t.Fatalf("%s, %d GPUs: got %v, want %v", what, gpus, b, a)
				}
				for _, in := range racks[1:] {
					s, want := shape(running, gpus, in), shape(anew, gpus, in)
					if a, b := anew.Room().Slots(want), room.Slots(s); a != b {
						t.Fatalf("%s, %d GPUs in %s: got %d, want %d", what, gpus, in, b, a)
					}
					if a, b := anew.Room().Largest(want), room.Largest(s); a != b {
						t.Fatalf("%s, %d GPUs in %s: largest got %d, want %d", what, gpus, in, b, a)
					}
					if a, b := want.Nodes(), s.Nodes(); a != b {
						t.Fatalf("%s, %d GPUs in %s: got %d nodes, want %d", what, gpus, in, b, a)
					}
				}
			}
		}
	})
}

// TestHoldingIsWhatASearchFinds: a domain is named exactly if its own nodes have the
// slots, and in order of what they leave over.
func TestHoldingIsWhatASearchFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, slots := fit.New(), map[string]int64{}
		gpus, pods := rapid.Int64Range(1, 8).Draw(t, "each"), rapid.Int64Range(1, 6).Draw(t, "pods")
		for i := range rapid.IntRange(0, 12).Draw(t, "nodes") {
			in, has := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "rack"), rapid.Int64Range(0, 8).Draw(t, "gpus")
			nodes.SetNode(node(fmt.Sprint("n", i), has, inRack(in)))
			slots[in] += min(has/gpus, 10)
		}
		delete(slots, "")
		var want []fit.Domain
		for name, n := range slots {
			if n >= pods {
				want = append(want, fit.Domain{Name: name, Slots: n})
			}
		}
		slices.SortFunc(want, func(a, b fit.Domain) int { return cmp.Or(cmp.Compare(a.Slots, b.Slots), cmp.Compare(a.Name, b.Name)) })
		s := nodes.Shape(demand.Place{}, resource.List{"pods": 1, gpu: gpus}, nil)
		if diff := gocmp.Diff(want, nodes.Room().Holding(s, rack, pods, nil)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// BenchmarkDomain finds one of 600 racks of 10,000 nodes for a gang, with a node that
// changed since, and makes the shape of its pods there.
//
//	go test -bench Domain -run '^$' ./ledger/fit
func BenchmarkDomain(b *testing.B) {
	nodes := fit.New()
	for i := range 10_000 {
		nodes.SetNode(node(fmt.Sprintf("n%05d", i), int64(i%9), inRack(fmt.Sprintf("r%03d", i%600))))
	}
	ask := resource.List{"pods": 1, gpu: 8}
	s, pod := nodes.Keep(nodes.Shape(demand.Place{}, ask, nil)), nodes.Vector(resource.List{gpu: 1})
	b.ReportAllocs()
	for i := range b.N {
		name := fmt.Sprintf("n%05d", i%10_000)
		nodes.Hold(name, pod)
		found := nodes.Room().Holding(s, rack, 2, nil)
		if len(found) == 0 {
			b.Fatal("none")
		}
		in := nodes.Shape(demand.Place{NodeSelector: map[string]string{rack: found[0].Name}}, ask, nil)
		if nodes.Room().Slots(in) < 2 {
			b.Fatal("it is not there")
		}
		nodes.Free(name, pod)
		nodes.Tidy()
	}
}
