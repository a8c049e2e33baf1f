package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

func pinned(name, is string, r ...demand.NodeRequirement) demand.Pin {
	return demand.Pin{Name: name, Is: is, Terms: []demand.NodeTerm{{Labels: r}}}
}

// Each claim has to be met, and what is missing is said.
func TestPinsAndFeaturesOfANode(t *testing.T) {
	n := fit.New()
	n.SetNode(node("a", 8, label("zone", "a"), label("rack", "r1"), declares("new")))
	n.SetNode(node("b", 8, label("zone", "a"), label("rack", "r2"), declares("new")))
	n.SetNode(node("c", 8, label("zone", "b"), label("rack", "r1"), declares("new")))
	n.SetNode(node("d", 8, label("zone", "a"), label("rack", "r1"), declares("newer", "older")))
	place := demand.Place{Features: []string{"new"}, Pins: []demand.Pin{
		pinned("volume claim x", "bound to a volume of zone=a", req("zone", "In", "a")), pinned("volume claim y", "bound to a volume of rack=r1", req("rack", "In", "r1")),
	}}
	s := n.Shape(place, resource.List{gpu: 8}, nil)
	want := []reason.NodeGroup{
		{Nodes: 1, Pods: 1, Node: "a", Why: "8 of 8 nvidia.com/gpu free"},
		{Nodes: 1, Node: "b", Why: "not here: one of its claims is bound to a volume of rack=r1"},
		{Nodes: 1, Node: "c", Why: "not here: one of its claims is bound to a volume of zone=a"},
		{Nodes: 1, Node: "d", Why: "does not declare the feature new"},
	}
	if diff := cmp.Diff(want, n.Room().Alike(s, nil)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	n.SetNode(node("d", 8, label("zone", "a"), label("rack", "r1"), declares("new")))
	if got := n.Room().Slots(s); got != 2 {
		t.Errorf("%d slots once another node declares the feature, want 2", got)
	}
}

func declares(features ...string) func(*supply.Node) {
	return func(n *supply.Node) { n.Features = features }
}

// Pods of which only the claims' names differ are alike, and others are not.
func TestPinsTellShapesApartByWhatTheySay(t *testing.T) {
	n := fit.New()
	shape := func(p demand.Place) *fit.Shape { return n.Shape(p, resource.List{gpu: 1}, nil) }
	pin := pinned("x", "bound to zone=a", req("zone", "In", "a"))
	of := func(pins ...demand.Pin) demand.Place { return demand.Place{Pins: pins} }
	other := pin
	other.Name = "y"
	if shape(of(pin)) != shape(of(other)) {
		t.Error("the name of a claim makes another shape")
	}
	for name, place := range map[string]demand.Place{
		"no pin": {}, "two": of(pin, pin), "another place": of(pinned("x", "bound to zone=a", req("zone", "In", "b"))),
		"another text": of(pinned("x", "allocated on zone=a", req("zone", "In", "a"))), "affinity": {Affinity: pin.Terms}, "a feature": {Features: []string{"x"}},
	} {
		if shape(of(pin)) == shape(place) {
			t.Errorf("%s is the same shape", name)
		}
	}
}
