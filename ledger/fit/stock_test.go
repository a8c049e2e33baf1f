package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

func TestStockTellsWhatIsThereFromWhatCanBeGivenOut(t *testing.T) {
	nodes := fit.New()
	nodes.SetNode(node("ready", 8))
	nodes.SetNode(node("closed", 4, taint("node.kubernetes.io/unschedulable", "", "NoSchedule")))
	nodes.SetNode(node("down", 2, func(n *supply.Node) { n.Ready = false }))
	nodes.SetNode(node("broken", 3, func(n *supply.Node) { n.Capacity = resource.List{gpu: 5} }))
	nodes.SetNode(node("elsewhere", 16, func(n *supply.Node) { n.Labels = map[string]string{"zone": "b"} }))
	nodes.SetNode(node("strangers'", 16, taint("team", "other", "NoSchedule")))
	nodes.Hold("ready", nodes.Vector(resource.List{gpu: 6}))
	nodes.Hold("down", nodes.Vector(resource.List{gpu: 1}))
	shape := nodes.Shape(demand.Place{NodeSelector: map[string]string{"zone": "a"}}, resource.List{"pods": 1}, nil)
	want := fit.Stock{Allocatable: 11, Unhealthy: 8, Held: 7}
	if diff := cmp.Diff(want, nodes.Stock(shape, gpu)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := nodes.Stock(shape, "example.com/none"); got != (fit.Stock{}) {
		t.Errorf("of a resource that nobody has there is %+v", got)
	}
}
