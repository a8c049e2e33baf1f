package fit_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// lies is all that is said of a shape, on machines as they are and on empty ones.
type lies struct {
	Slots, Largest, Left int64
	Nodes                int
	Short                fit.Shortage
	Empty                fit.Empty
	Stock                fit.Stock
	Overlap              bool
}

func liesOf(n *fit.Nodes) (all []lies) {
	other := n.Shape(demand.Place{NodeSelector: map[string]string{"zone": "b"}}, resource.List{"cpu": 3000}, nil)
	for _, place := range []demand.Place{{}, {NodeSelector: map[string]string{"zone": "a"}}} {
		for _, list := range []resource.List{{gpu: 2, "cpu": 1000}, {gpu: 8}, {"cpu": 100_000}} {
			s := n.Shape(place, list, nil)
			all = append(all, lies{
				Slots: n.Room().Slots(s), Largest: n.Room().Largest(s), Nodes: s.Nodes(), Short: n.Room().Short(s, 5), Empty: n.Empty(s),
				Left: n.Room().Left(s, []fit.Promise{{Shape: other, Pods: 1}}), Stock: n.Stock(s, gpu), Overlap: fit.Overlap(s, other),
			})
		}
	}
	return all
}

// Nodes are more than one block of a survey has.
func TestASurveyIsWhatALookAtAllNodesFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running, nodes, held := fit.New(), map[string]*supply.Node{}, map[string]int64{}
		pod := running.Vector(resource.List{gpu: 1, "cpu": 500})
		set := func(name string, n *supply.Node) {
			if nodes[name] = n; n == nil {
				running.DeleteNode(name)
			} else {
				running.SetNode(n)
			}
		}
		for i := range 150 {
			name := fmt.Sprint("n", i)
			set(name, node(name, int64(i%3)))
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name := fmt.Sprint("n", rapid.IntRange(0, 160).Draw(t, "node"))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				set(name, nil)
			case 1, 2:
				n := node(name, rapid.Int64Range(0, 8).Draw(t, "gpus"))
				n.Ready, n.Labels = rapid.IntRange(0, 3).Draw(t, "ready") > 0, map[string]string{"zone": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")}
				n.Closed = rapid.SampledFrom([]string{"", "", "drained"}).Draw(t, "closed")
				set(name, n)
			case 3, 4:
				running.Hold(name, pod)
				held[name]++
			case 5:
				if held[name] > 0 {
					running.Free(name, pod)
					held[name]--
				}
			}
			if rapid.Bool().Draw(t, "asked between") {
				liesOf(running)
			}
		}
		anew := fit.New()
		for _, n := range nodes {
			if n != nil {
				anew.SetNode(n)
			}
		}
		for name, pods := range held {
			for range pods {
				anew.Hold(name, anew.Vector(resource.List{gpu: 1, "cpu": 500}))
			}
		}
		if diff := cmp.Diff(liesOf(anew), liesOf(running)); diff != "" {
			t.Errorf("found from nothing (-), kept up to date (+):\n%s", diff)
		}
	})
}

func TestEqualShapesAreOne(t *testing.T) {
	n := fit.New()
	n.SetNode(node("n", 8))
	place := demand.Place{NodeSelector: map[string]string{"zone": "a"}}
	one, other := n.Shape(place, resource.List{gpu: 1}, nil), n.Shape(place, resource.List{gpu: 2}, nil)
	if again := n.Shape(place, resource.List{gpu: 1}, nil); again != one {
		t.Error("pods that ask for the same at the same place have two shapes")
	}
	if one == other || one.Key() == other.Key() {
		t.Error("pods that ask for something else have one shape")
	}
}
