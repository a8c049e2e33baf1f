package fit_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// TestThereAreNeverMoreMachinesThanMax lets nodes come, change and go, and counts what
// is there with what may be added.
func TestThereAreNeverMoreMachinesThanMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(0, 4).Draw(t, "max")
		e := supply.Elastic{Flavor: "a", Labels: map[string]string{"pool": "a"}, Max: most, Has: resource.List{gpu: 8, "pods": 10}}
		nodes, there := fit.New(), map[string]bool{}
		before := rapid.Bool().Draw(t, "known before the nodes")
		if before {
			nodes.SetElastic([]supply.Elastic{e})
		}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			name := fmt.Sprint("n", rapid.IntRange(0, 5).Draw(t, "node"))
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				nodes.DeleteNode(name)
				delete(there, name)
			case 1:
				pool := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pool")
				nodes.SetNode(node(name, 8, func(n *supply.Node) {
					n.Labels, n.Ready = map[string]string{"pool": pool}, rapid.Bool().Draw(t, "ready")
				}))
				there[name] = pool == "a"
			case 2:
				nodes.Settle()
			}
		}
		if !before {
			nodes.SetElastic([]supply.Elastic{e})
		}
		nodes.Settle()
		count := int64(0)
		for _, ours := range there {
			if ours {
				count++
			}
		}
		s := nodes.Shape(demand.Place{NodeSelector: e.Labels}, resource.List{gpu: 8, "pods": 1}, nil)
		if got, want := nodes.Coming(s), max(0, most-count); got != want {
			t.Fatalf("%d machines can be added, want %d of %d with %d there", got, want, most, count)
		}
		if nodes.Len() != len(there) {
			t.Fatalf("%d nodes are there, want %d", nodes.Len(), len(there))
		}
		if got := nodes.Stock(s, gpu); got.Allocatable+got.Unhealthy != 8*count {
			t.Fatalf("the stock is %+v of %d nodes: what can be added is none of it", got, count)
		}
		existing := nodes.Shape(demand.Place{NodeSelector: e.Labels, Existing: true}, resource.List{gpu: 8, "pods": 1}, nil)
		if nodes.Coming(existing) != 0 {
			t.Fatal("who takes only what is there is given what is not")
		}
		nodes.SetElastic(nil)
		if nodes.Coming(s) != 0 {
			t.Fatal("machines can be added though no flavor is elastic any more")
		}
	})
}
