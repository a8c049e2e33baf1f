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

const (
	cards = resource.DeviceSet + "any/1"
	big   = resource.DeviceSet + "big/2"
	kit   = resource.Kit + "any/3"
)

func rows(node string, list map[string]supply.Stock) supply.Devices {
	return supply.Devices{Node: node, Rows: list}
}

func asking(n *fit.Nodes, name string, units int64) *fit.Shape {
	return n.Shape(demand.Place{Devices: resource.List{name: units}}, resource.List{"pods": 1}, nil)
}

func TestDevicesAreRoomAsAnythingElse(t *testing.T) {
	six := map[string]supply.Stock{cards: {Total: 8, Free: 6}}
	cases := []struct {
		name  string
		do    func(*fit.Nodes)
		slots int64 // of pods of two cards
		empty int64 // were nothing in use
	}{
		{"six free cards are three pods of two", func(n *fit.Nodes) { n.SetNode(node("n", 0)); n.SetDevices(rows("n", six)) }, 3, 4},
		{"they may be told of before the node", func(n *fit.Nodes) { n.SetDevices(rows("n", six)); n.SetNode(node("n", 0)) }, 3, 4},
		{"a node that is not there gives none", func(n *fit.Nodes) { n.SetDevices(rows("n", six)) }, 0, 0},
		{"a node's status says nothing of them", func(n *fit.Nodes) {
			n.SetNode(node("n", 0))
			n.SetDevices(rows("n", six))
			n.SetNode(node("n", 1))
		}, 3, 4},
		{"a node that comes back has what it had", func(n *fit.Nodes) {
			n.SetNode(node("n", 0))
			n.SetDevices(rows("n", six))
			n.DeleteNode("n")
			n.SetNode(node("n", 0))
		}, 3, 4},
		{"rows replace those that were there", func(n *fit.Nodes) {
			n.SetNode(node("n", 0))
			n.SetDevices(rows("n", six))
			n.SetDevices(rows("n", map[string]supply.Stock{big: {Total: 8, Free: 8}}))
		}, 0, 0},
		{"another node of the same row starts with none", func(n *fit.Nodes) {
			n.SetNode(node("n", 0))
			n.SetDevices(rows("n", six))
			n.DeleteNode("n")
			n.SetDevices(rows("n", nil))
			n.SetNode(node("m", 0))
		}, 0, 0},
		{"more in use than there are is none free", func(n *fit.Nodes) {
			n.SetNode(node("n", 0))
			n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 2, Free: -3}}))
		}, 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := fit.New()
			c.do(n)
			s := asking(n, cards, 2)
			if got, empty := n.Room().Slots(s), n.Empty(s).Slots; got != c.slots || empty != c.empty {
				t.Fatalf("%d pods fit, %d on empty machines; want %d and %d", got, empty, c.slots, c.empty)
			}
		})
	}
}

// No quota, no policy and no check of the book hears of rows of devices.
func TestNamesOfDevicesStayHere(t *testing.T) {
	n := fit.New()
	n.SetNode(node("n", 2))
	n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 8, Free: 6}, kit: {Total: 1}}))
	asking(n, big, 1)
	if diff := cmp.Diff([]string{"cpu", gpu, "pods"}, n.Resources()); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if held := n.Held(); len(held) > 0 {
		t.Errorf("held: %v", held)
	}
}

// The planner looks again only where versions moved.
func TestDevicesMoveTheVersions(t *testing.T) {
	cases := []struct {
		name       string
		do         func(*fit.Nodes)
		have, free bool
	}{
		{"a claim that takes a card", func(n *fit.Nodes) { n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 8, Free: 5}})) }, false, true},
		{"a card more", func(n *fit.Nodes) { n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 9, Free: 7}})) }, true, true},
		{"other costs", func(n *fit.Nodes) { n.SetCosts([]supply.Cost{{Of: cards, From: big, Units: 1}}) }, true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := fit.New()
			n.SetNode(node("n", 0))
			n.SetDevices(rows("n", map[string]supply.Stock{cards: {Total: 8, Free: 6}}))
			have, free := n.Versions()
			c.do(n)
			haveNow, freeNow := n.Versions()
			if (haveNow != have) != c.have || (freeNow != free) != c.free {
				t.Fatalf("moved: have %v, free %v", haveNow != have, freeNow != free)
			}
		})
	}
}

func TestRowsThatMeanTheSameCards(t *testing.T) {
	cases := []struct {
		name  string
		costs []supply.Cost
		left  int64 // of pods of one big card, beside one pod of three of any cards
		after int64 // on the node where the pod has its place
	}{
		{"cost nothing if they don't", nil, 8, 4},
		{"cost one for one as sets", []supply.Cost{{Of: cards, From: big, Units: 1}}, 5, 1},
		{"cost all there is where nobody knows", []supply.Cost{{Of: cards, From: big, Units: supply.All}}, 4, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := fit.New()
			for _, name := range []string{"a", "b"} {
				n.SetNode(node(name, 0))
				n.SetDevices(rows(name, map[string]supply.Stock{cards: {Total: 4, Free: 4}, big: {Total: 4, Free: 4}}))
			}
			n.SetCosts(c.costs)
			three, one := asking(n, cards, 3), asking(n, big, 1)
			if left := n.Room().Left(one, []fit.Promise{{Shape: three, Pods: 1, Firm: true}}); left != c.left {
				t.Errorf("%d are left beside it, want %d", left, c.left)
			}
			room := n.Room().Copy()
			where, placed := room.Place(three, 1)
			if !placed || where[0].Node != "a" {
				t.Fatalf("placed: %v, %v", placed, where)
			}
			if left := room.Slots(one) - 4; left != c.after { // four are on the other node
				t.Errorf("%d are left on its node, want %d", left, c.after)
			}
		})
	}
}

// Cards of two kinds of sets, some in both. Wherever the pods of one set land, and
// whichever cards they take, as many pods of the other fit as Left says.
func TestWhateverCardsOthersTake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := fit.New()
		type has struct{ any, big, both int64 }
		var machines [2]has
		for i := range machines {
			m := has{any: rapid.Int64Range(0, 4).Draw(t, "any"), big: rapid.Int64Range(0, 4).Draw(t, "big")}
			m.both = rapid.Int64Range(0, min(m.any, m.big)).Draw(t, "both")
			machines[i] = m
			name := fmt.Sprint("n", i)
			n.SetNode(node(name, 0))
			n.SetDevices(rows(name, map[string]supply.Stock{cards: {Total: m.any, Free: m.any}, big: {Total: m.big, Free: m.big}}))
		}
		n.SetCosts([]supply.Cost{{Of: cards, From: big, Units: 1}, {Of: big, From: cards, Units: 1}})
		units, others, each := rapid.Int64Range(1, 3).Draw(t, "units"), rapid.Int64Range(0, 3).Draw(t, "others"), rapid.Int64Range(1, 3).Draw(t, "each")
		s, o := asking(n, big, units), asking(n, cards, each)
		left := n.Room().Left(s, []fit.Promise{{Shape: o, Pods: others, Firm: true}})
		for first := range others + 1 {
			taken := [2]int64{first * each, (others - first) * each}
			if taken[0] > machines[0].any || taken[1] > machines[1].any {
				continue
			}
			fits := int64(0)
			for i, m := range machines {
				fits += (m.big - min(taken[i], m.both)) / units
			}
			if fits < left {
				t.Fatalf("%d fit if %v cards are taken, but %d were said to be left", fits, taken, left)
			}
		}
	})
}
