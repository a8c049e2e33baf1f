package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

func plugin(name string, now, capacity int64) *supply.Node {
	n := node(name, 0)
	n.Allocatable, n.Capacity = resource.List{gpu: now, "pods": 100}, resource.List{gpu: capacity, "pods": 100}
	return n
}

// A node gives out a resource by its plugin or out of its devices, never both.
func TestANodeGivesExtendedResourcesByOneWay(t *testing.T) {
	cases := []struct {
		name        string
		node        *supply.Node
		devices     supply.Stock
		held        int64 // by pods themselves
		free, empty int64 // pods of one
	}{
		{"its plugin's, whatever devices it has", plugin("n", 4, 4), supply.Stock{Total: 2, Free: 2}, 1, 3, 4},
		{"its devices, where there is no plugin", plugin("n", 0, 0), supply.Stock{Total: 2, Free: 1}, 0, 1, 2},
		{"those of a plugin that is down, and then its devices", plugin("n", 0, 4), supply.Stock{}, 2, 0, 4},
		{"who holds one of a plugin that has gone still does", plugin("n", 0, 0), supply.Stock{Total: 2, Free: 2}, 1, 1, 2},
		{"nothing", plugin("n", 0, 0), supply.Stock{}, 0, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := fit.New()
			n.SetNode(c.node)
			n.SetExtended(map[string]string{gpu: cards})
			n.SetDevices(rows("n", map[string]supply.Stock{cards: c.devices}))
			held := n.Vector(resource.List{gpu: c.held})
			n.Hold("n", held)
			s := n.Shape(demand.Place{}, resource.List{gpu: 1}, nil)
			if got := n.Room().Slots(s); got != c.free {
				t.Errorf("room for %d pods, want %d", got, c.free)
			}
			if got := n.Empty(s).Slots; got != c.empty {
				t.Errorf("room for %d if nothing ran, want %d", got, c.empty)
			}
			want := map[string]map[string]int64{}
			if c.held > 0 {
				want["n"] = map[string]int64{gpu: c.held}
			}
			if diff := cmp.Diff(want, n.Held()); diff != "" {
				t.Errorf("held by pods (-want +got):\n%s", diff)
			}
		})
	}
}

// Who asks for a device by the resource and who does so by a claim mean the same devices.
func TestAPromiseOfAnExtendedResourceTakesWhatClaimsWouldGet(t *testing.T) {
	n := fit.New()
	n.SetNode(plugin("n", 0, 0))
	n.SetExtended(map[string]string{gpu: cards, "implied": cards})
	n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 4, Free: 4}, big: {Total: 4, Free: 4}}))
	n.SetCosts([]supply.Cost{{Of: cards, From: big, Units: 1}, {Of: big, From: cards, Units: 1}})
	extended, implied := n.Shape(demand.Place{}, resource.List{gpu: 1}, nil), n.Shape(demand.Place{}, resource.List{"implied": 1}, nil)
	shapes := []*fit.Shape{extended, implied, asking(n, cards, 1), asking(n, big, 1)}
	for _, s := range shapes {
		for _, other := range shapes {
			if s == other {
				continue
			}
			if got := n.Room().Left(s, []fit.Promise{{Shape: other, Pods: 3}}); got != 1 {
				t.Errorf("%d are left beside 3 others, want 1", got)
			}
		}
		room := n.Room().Copy()
		room.Place(s, 3)
		for _, other := range shapes {
			if got := room.Slots(other); got != 1 {
				t.Errorf("room for %d when 3 are placed, want 1", got)
			}
		}
	}
}

// What comes of events does not hang on their order, or on what was before.
func TestExtendedResourcesDoNotHangOnTheOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, wants := fit.New(), struct {
			nodes    map[string]*supply.Node
			devices  map[string]supply.Stock
			held     map[string]int64
			extended map[string]string
		}{map[string]*supply.Node{}, map[string]supply.Stock{}, map[string]int64{}, nil}
		names := rapid.SampledFrom([]string{"a", "b"})
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			name := names.Draw(t, "node")
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0, 1:
				amounts := rapid.Int64Range(0, 4)
				wants.nodes[name] = plugin(name, amounts.Draw(t, "allocatable"), amounts.Draw(t, "capacity"))
				n.SetNode(wants.nodes[name])
			case 2:
				delete(wants.nodes, name)
				n.DeleteNode(name)
			case 3:
				total := rapid.Int64Range(0, 4).Draw(t, "total")
				wants.devices[name] = supply.Stock{Total: total, Free: rapid.Int64Range(0, total).Draw(t, "free")}
				n.SetDevices(rows(name, map[string]supply.Stock{cards: wants.devices[name]}))
			case 4:
				wants.held[name]++
				n.Hold(name, n.Vector(resource.List{gpu: 1}))
			case 5:
				wants.extended = rapid.SampledFrom([]map[string]string{nil, {gpu: cards}, {gpu: big}}).Draw(t, "extended")
				n.SetExtended(wants.extended)
			}
		}
		again := fit.New()
		again.SetExtended(wants.extended)
		for _, name := range []string{"a", "b"} {
			again.SetDevices(rows(name, map[string]supply.Stock{cards: wants.devices[name]}))
			for range wants.held[name] {
				again.Hold(name, again.Vector(resource.List{gpu: 1}))
			}
			if is := wants.nodes[name]; is != nil {
				again.SetNode(is)
			}
		}
		tell := func(n *fit.Nodes) []any {
			s := n.Shape(demand.Place{}, resource.List{gpu: 1}, nil)
			return []any{n.Room().Slots(s), n.Empty(s), n.Stock(s, gpu), n.Held()}
		}
		if diff := cmp.Diff(tell(again), tell(n)); diff != "" {
			t.Fatalf("made anew (-want +got):\n%s", diff)
		}
	})
}

// A machine that may be added has what its likes have, once their driver says so, too.
func TestMachinesToComeHaveTheDevicesOfTheirLikes(t *testing.T) {
	n := fit.New()
	n.SetElastic([]supply.Elastic{{Flavor: "a", Max: 3}})
	n.SetExtended(map[string]string{gpu: cards})
	n.SetNode(plugin("n", 0, 0))
	n.Settle()
	s := n.Shape(demand.Place{}, resource.List{gpu: 4}, nil)
	for _, c := range []struct{ devices, places int64 }{{0, 0}, {8, 6}, {4, 3}, {0, 0}} {
		n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: c.devices, Free: c.devices}}))
		n.Settle()
		if got := n.Room().Slots(s); got != c.places {
			t.Errorf("with %d devices on one node and two more nodes to come there are %d places, want %d", c.devices, got, c.places)
		}
	}
	n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 8, Free: 8}}))
	n.SetExtended(nil)
	n.Settle()
	if got := n.Room().Slots(s); got != 0 {
		t.Errorf("%d places on devices that nobody gives out as %s", got, gpu)
	}
}

// Once a node's plugin gives what its devices gave before, nothing of it is held by those
// who hold the devices, though it is just as much.
func TestAPluginThatTakesOverAsMuchIsFree(t *testing.T) {
	n := fit.New()
	n.SetExtended(map[string]string{gpu: cards})
	n.SetNode(plugin("n", 0, 0))
	n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 4}}))
	s := n.Shape(demand.Place{}, resource.List{gpu: 1}, nil)
	if got := n.Room().Slots(s); got != 0 {
		t.Errorf("its devices are held, and there is room for %d", got)
	}
	n.SetNode(plugin("n", 4, 4))
	if got := n.Room().Slots(s); got != 4 {
		t.Errorf("its plugin has room for %d, want 4", got)
	}
}

// How a resource comes to containers goes by the nodes on which they may run: a plugin, or
// devices, where there is none. One that is down is a plugin, and who is not there says nothing.
func TestHowNodesGiveAResource(t *testing.T) {
	labelled := func(n *supply.Node, pool string) *supply.Node {
		n.Labels = map[string]string{"pool": pool}
		return n
	}
	n := fit.New()
	n.SetExtended(map[string]string{gpu: cards})
	n.SetNode(labelled(plugin("a", 4, 4), "plugin"))
	n.SetNode(labelled(plugin("b", 0, 4), "down"))
	n.SetNode(labelled(plugin("c", 0, 0), "devices"))
	n.SetNode(labelled(plugin("d", 4, 4), "both"))
	n.SetNode(labelled(plugin("e", 0, 0), "none"))
	coming := labelled(plugin("f", 4, 4), "coming")
	coming.Coming = true
	n.SetNode(coming)
	for _, node := range []string{"c", "d"} {
		n.SetDevices(rows(node, map[string]supply.Stock{cards: {Total: 1}}))
	}
	for pool, want := range map[string]fit.Source{
		"plugin": fit.ByPlugin, "down": fit.ByPlugin, "devices": fit.ByDevices, "both": fit.ByPlugin, "none": 0, "coming": 0, "nowhere": 0, "": fit.ByPlugin | fit.ByDevices,
	} {
		place := demand.Place{NodeSelector: map[string]string{"pool": pool}}
		if pool == "" {
			place.NodeSelector = nil
		}
		if got := n.Source(n.Shape(place, resource.List{gpu: 1}, nil), gpu); got != want {
			t.Errorf("pool %q: %d, want %d", pool, got, want)
		}
	}
}
