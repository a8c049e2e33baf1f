package fit_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const gpu = "nvidia.com/gpu"

func node(name string, gpus int64, change ...func(*supply.Node)) *supply.Node {
	n := &supply.Node{Name: name, Ready: true, Labels: map[string]string{"zone": "a", "rank": "7"},
		Allocatable: resource.List{gpu: gpus, "cpu": 8000, "pods": 10}}
	for _, f := range change {
		f(n)
	}
	return n
}

func taint(key, value, effect string) func(*supply.Node) {
	return func(n *supply.Node) {
		n.Taints = append(n.Taints, policies.Taint{Key: key, Value: value, Effect: effect})
	}
}

func one(requirements ...demand.NodeRequirement) demand.Place {
	return demand.Place{Affinity: []demand.NodeTerm{{Labels: requirements}}}
}

func req(key, operator string, values ...string) demand.NodeRequirement {
	return demand.NodeRequirement{Key: key, Operator: operator, Values: values}
}

func TestWhereAPodMayRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		place demand.Place
		node  *supply.Node
		may   bool
	}{
		{"anywhere if it asks for nothing", demand.Place{}, node("n", 1), true},
		{"not where the selected label is missing", demand.Place{NodeSelector: map[string]string{"x": ""}}, node("n", 1), false},
		{"not where the selected label has another value", demand.Place{NodeSelector: map[string]string{"zone": "b"}}, node("n", 1), false},
		{"where all selected labels are", demand.Place{NodeSelector: map[string]string{"zone": "a", "rank": "7"}}, node("n", 1), true},
		{"In one of the values", one(req("zone", "In", "b", "a")), node("n", 1), true},
		{"not In others", one(req("zone", "In", "b")), node("n", 1), false},
		{"NotIn the values, also without the label", one(req("x", "NotIn", "b")), node("n", 1), true},
		{"not NotIn its own value", one(req("zone", "NotIn", "a")), node("n", 1), false},
		{"where the key Exists", one(req("zone", "Exists")), node("n", 1), true},
		{"not where the key DoesNotExist but does", one(req("zone", "DoesNotExist")), node("n", 1), false},
		{"where the value is Gt", one(req("rank", "Gt", "6")), node("n", 1), true},
		{"not where it is equal", one(req("rank", "Gt", "7")), node("n", 1), false},
		{"where the value is Lt", one(req("rank", "Lt", "8")), node("n", 1), true},
		{"not where the value is no number", one(req("zone", "Lt", "8")), node("n", 1), false},
		{"not by an operator that does not exist", one(req("zone", "Like", "a")), node("n", 1), false},
		{"all requirements of a term must hold", one(req("zone", "Exists"), req("rank", "In", "8")), node("n", 1), false},
		{"one term is enough", demand.Place{Affinity: []demand.NodeTerm{
			{Labels: []demand.NodeRequirement{req("zone", "In", "b")}}, {Labels: []demand.NodeRequirement{req("zone", "In", "a")}}}}, node("n", 1), true},
		{"an empty term matches nothing", demand.Place{Affinity: []demand.NodeTerm{{}}}, node("n", 1), false},
		{"no terms match nothing", demand.Place{Affinity: []demand.NodeTerm{}}, node("n", 1), false},
		{"on a node by its name", demand.Place{Affinity: []demand.NodeTerm{{Fields: []demand.NodeRequirement{req("metadata.name", "In", "n")}}}}, node("n", 1), true},
		{"not on another node", demand.Place{Affinity: []demand.NodeTerm{{Fields: []demand.NodeRequirement{req("metadata.name", "NotIn", "n")}}}}, node("n", 1), false},
		{"not by a field that does not exist", demand.Place{Affinity: []demand.NodeTerm{{Fields: []demand.NodeRequirement{req("metadata.uid", "Exists")}}}}, node("n", 1), false},
		{"not against a taint", demand.Place{}, node("n", 1, taint("k", "v", "NoSchedule")), false},
		{"not against one that would evict", demand.Place{}, node("n", 1, taint("k", "v", "NoExecute")), false},
		{"with a toleration", demand.Place{Tolerations: []policies.Toleration{{Key: "k", Value: "v"}}}, node("n", 1, taint("k", "v", "NoSchedule")), true},
		{"with one of two taints tolerated not", demand.Place{Tolerations: []policies.Toleration{{Key: "k", Operator: "Exists"}}},
			node("n", 1, taint("k", "v", "NoSchedule"), taint("l", "", "NoSchedule")), false},
		{"a preference against it does not count", demand.Place{}, node("n", 1, taint("k", "v", "PreferNoSchedule")), true},
		{"not on a node that is not ready", demand.Place{}, node("n", 1, func(n *supply.Node) { n.Ready = false }), false},
		{"not on a cordoned node, whatever it tolerates", demand.Place{Tolerations: []policies.Toleration{{Operator: "Exists"}}},
			node("n", 1, taint("node.kubernetes.io/unschedulable", "", "NoSchedule")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := fit.New()
			nodes.SetNode(c.node)
			s := nodes.Shape(c.place, resource.List{"pods": 1}, nil)
			if got := nodes.Room().Slots(s) > 0; got != c.may {
				t.Errorf("may run: %v, want %v", got, c.may)
			}
		})
	}
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		name  string
		place demand.Place
		ask   resource.List
		want  int64
	}{
		{"each resource limits", demand.Place{}, resource.List{"pods": 1, gpu: 3}, 2 + 1},
		{"the scarcest one counts", demand.Place{}, resource.List{"pods": 1, gpu: 1, "cpu": 4000}, 2 + 2},
		{"so do the pods", demand.Place{}, resource.List{"pods": 1}, 10 + 10},
		{"what no node has gives none", demand.Place{}, resource.List{"pods": 1, "example.com/fpga": 1}, 0},
		{"unless it is ignored", demand.Place{}, resource.List{"pods": 1, gpu: 8, "ignored.example/x": 1}, 1},
		{"at most so many on a node", demand.Place{Once: resource.List{resource.Port("TCP", "80"): resource.Whole}}, resource.List{"pods": 1, gpu: 1}, 2},
		{"more than can be counted never fits", demand.Place{}, resource.List{"pods": 1, gpu: 1 << 62}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := fit.New()
			nodes.SetNode(node("n1", 8))
			nodes.SetNode(node("n2", 4))
			s := nodes.Shape(c.place, c.ask, func(name string) bool { return name == "ignored.example/x" })
			if got := nodes.Room().Slots(s); got != c.want {
				t.Errorf("%d slots, want %d", got, c.want)
			}
		})
	}
}

func TestDevicesThatVanishLeaveNoNegativeRoom(t *testing.T) {
	nodes := fit.New()
	nodes.SetNode(node("n1", 8))
	nodes.SetNode(node("n2", 2))
	held := nodes.Vector(resource.List{gpu: 6, "pods": 1})
	nodes.Hold("n1", held)
	s := nodes.Shape(demand.Place{}, resource.List{"pods": 1, gpu: 1}, nil)
	for _, step := range []struct {
		name string
		do   func()
		want int64
	}{
		{"held devices are gone from the free ones", func() {}, 2 + 2},
		{"the plugin stops: no device is left, and none is owed", func() { nodes.SetNode(node("n1", 0)) }, 2},
		{"it is back", func() { nodes.SetNode(node("n1", 8)) }, 4},
		{"the node is gone", func() { nodes.DeleteNode("n1") }, 2},
		{"it is back with its pod still there", func() { nodes.SetNode(node("n1", 8)) }, 4},
		{"the pod is gone", func() { nodes.Free("n1", held) }, 10},
		{"another resource appears", func() { nodes.SetNode(node("n3", 1, func(n *supply.Node) { n.Allocatable["a.example/b"] = 1 })) }, 11},
	} {
		step.do()
		if got := nodes.Room().Slots(s); got != step.want {
			t.Errorf("%s: %d slots, want %d", step.name, got, step.want)
		}
	}
}

func TestPlaceIsBestFit(t *testing.T) {
	for _, c := range []struct {
		name string
		gpus map[string]int64
		pods int64
		want map[string]int64
	}{
		{"one pod goes into the smallest gap that takes it", map[string]int64{"a": 8, "b": 1, "c": 2}, 1, map[string]int64{"b": 1}},
		{"of equal gaps the first by name", map[string]int64{"c": 4, "b": 4, "a": 5}, 4, map[string]int64{"b": 4}},
		{"a gang is on few nodes", map[string]int64{"a": 3, "b": 8, "c": 4}, 11, map[string]int64{"b": 8, "a": 3}},
		{"its rest goes into the smallest gap", map[string]int64{"a": 8, "b": 8, "c": 2}, 10, map[string]int64{"a": 8, "c": 2}},
		{"what does not fit is not placed at all", map[string]int64{"a": 1, "b": 1}, 3, map[string]int64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := fit.New()
			for _, name := range slices.Sorted(maps.Keys(c.gpus)) {
				nodes.SetNode(node(name, c.gpus[name]))
			}
			s := nodes.Shape(demand.Place{}, resource.List{gpu: 1}, nil)
			room := nodes.Room().Copy()
			before := room.Slots(s)
			placed, ok := room.Place(s, c.pods)
			got := map[string]int64{}
			for _, p := range placed {
				got[p.Node] += p.Pods
			}
			if diff := cmp.Diff(c.want, got); diff != "" || ok != (len(c.want) > 0) {
				t.Errorf("placed %v (-want +got):\n%s", ok, diff)
			}
			if used := before - room.Slots(s); ok && used != c.pods {
				t.Errorf("%d slots less after %d pods", used, c.pods)
			}
			if nodes.Room().Slots(s) != before {
				t.Error("the copy changed what it was made of")
			}
		})
	}
}

// TestSlotsCatchUpWithEveryChange holds the counts that follow changes row by
// row against ones made from nothing.
func TestSlotsCatchUpWithEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, now := fit.New(), map[string]*supply.Node{}
		held := map[string][]resource.List{}
		asks := []resource.List{{"pods": 1, gpu: 1}, {"pods": 1, gpu: 2, "cpu": 1500}, {"pods": 1, "b.example/x": 1}}
		places := []demand.Place{{}, {NodeSelector: map[string]string{"zone": "b"}}, {Once: resource.List{resource.Port("TCP", "80"): resource.Whole}}}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := fmt.Sprint("n", rapid.IntRange(0, 4).Draw(t, "node"))
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				now[name] = node(name, rapid.Int64Range(0, 8).Draw(t, "gpus"), func(n *supply.Node) {
					n.Labels = map[string]string{"zone": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")}
					n.Ready = rapid.IntRange(0, 4).Draw(t, "ready") > 0
					n.Capacity = resource.List{gpu: rapid.Int64Range(0, 8).Draw(t, "built in"), fmt.Sprint(name, ".example/z"): 1}
				})
				nodes.SetNode(now[name])
			case 2:
				delete(now, name)
				nodes.DeleteNode(name)
			case 3:
				list := resource.List{"pods": 1, gpu: rapid.Int64Range(0, 3).Draw(t, "held"), fmt.Sprint(name, ".example/y"): 1}
				nodes.Hold(name, nodes.Vector(list))
				held[name] = append(held[name], list)
			case 4:
				if k := len(held[name]); k > 0 {
					v := nodes.Vector(held[name][k-1])
					nodes.Free(name, v)
					held[name] = held[name][:k-1]
				}
			}
			again := fit.New()
			for n, all := range held {
				for _, list := range all {
					again.Hold(n, again.Vector(list))
				}
			}
			for _, n := range now {
				again.SetNode(n)
			}
			for _, ask := range asks {
				for _, place := range places {
					a, b := nodes.Shape(place, ask, nil), again.Shape(place, ask, nil)
					if got, want := nodes.Room().Slots(a), again.Room().Slots(b); got != want {
						t.Fatalf("%v at %v: %d slots, from nothing %d", ask, place, got, want)
					}
					if got, want := nodes.Empty(a), again.Empty(b); got != want {
						t.Fatalf("%v at %v: empty %v, from nothing %v", ask, place, got, want)
					}
					if got, want := nodes.Lost(a, gpu), again.Lost(b, gpu); got != want {
						t.Fatalf("%v at %v: lost %v, from nothing %v", ask, place, got, want)
					}
				}
			}
			if diff := cmp.Diff(again.Held(), nodes.Held()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
