package fit_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

func label(key, value string) func(*supply.Node) {
	return func(n *supply.Node) {
		n.Labels = maps.Clone(n.Labels)
		n.Labels[key] = value
	}
}

// What is said of a node is what keeps it from taking a pod, or one more.
func TestWhyANodeTakesNoMore(t *testing.T) {
	port, apart := resource.Port("TCP", "8080"), resource.Apart("app=x in ns")
	asks := demand.Place{
		NodeSelector: map[string]string{"zone": "a"}, Once: resource.List{port: resource.Whole}, Clear: []string{apart},
		Affinity: []demand.NodeTerm{{Labels: []demand.NodeRequirement{req("rank", "In", "7")}}},
	}
	down := func(n *supply.Node) { n.Ready = false }
	for _, c := range []struct {
		node *supply.Node
		held resource.List
		once resource.List
		pods int64
		why  string
	}{
		{node: node("n", 8), pods: 1, why: "a node takes 1 pod of it at most"},
		{node: node("n", 8), held: resource.List{gpu: 5}, why: "3 of 8 nvidia.com/gpu free"},
		{node: node("n", 8), held: resource.List{"cpu": 7000}, why: "1 of 8 cpu free"},
		{node: node("n", 0), why: "no nvidia.com/gpu"},
		{node: node("n", 1, func(n *supply.Node) { n.Capacity = resource.List{gpu: 8} }), why: "1 of 8 nvidia.com/gpu free, 7 not allocatable now"},
		{node: node("n", 0, func(n *supply.Node) { n.Unsure = "HAMi shares its devices" }), why: "HAMi shares its devices"},
		{node: node("n", 8), once: resource.List{port: resource.Whole}, why: "host port 8080/TCP taken"},
		{node: node("n", 8), once: resource.List{apart: 1}, why: "anti-affinity to app=x in ns taken"},
		{node: node("n", 8, label("zone", "b")), why: "selector zone=a"},
		{node: node("n", 8, label("rank", "8")), why: "not rank In 7 (required node affinity)"},
		{node: node("n", 8, taint("dedicated", "vision", "NoSchedule")), why: "taint dedicated=vision:NoSchedule not tolerated"},
		{node: node("n", 8, taint("node.kubernetes.io/disk-pressure", "", "NoSchedule")), why: "taint node.kubernetes.io/disk-pressure:NoSchedule not tolerated"},
		{node: node("n", 8, taint("node.kubernetes.io/unschedulable", "", "NoSchedule")), why: "cordoned"},
		{node: node("n", 8, taint("node.kubernetes.io/not-ready", "", "NoExecute"), down), why: "not ready"},
		{node: node("n", 8, func(n *supply.Node) { n.Closed = "its cards are being divided anew" }), why: "its cards are being divided anew"},
	} {
		n := fit.New()
		n.SetNode(c.node)
		n.Hold("n", n.Holding(c.held, c.once))
		s := n.Shape(asks, resource.List{"pods": 1, gpu: 4, "cpu": 2000}, nil)
		want := []reason.NodeGroup{{Nodes: 1, Pods: c.pods, Node: "n", Why: c.why}}
		if diff := cmp.Diff(want, n.Room().Alike(s, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
		if got := n.Room().Slots(s); got != c.pods {
			t.Errorf("%s: %d pods fit, %d are said to", c.why, got, c.pods)
		}
	}
}

// Nodes are counted where they fare alike, those that take most first, and what is not
// of the flavor is left out.
func TestNodesThatFareAlikeAreOneGroup(t *testing.T) {
	n := fit.New()
	pool := label("pool", "gpu")
	for i := range 3 {
		name := fmt.Sprint("busy-", i)
		n.SetNode(node(name, 8, pool))
		n.Hold(name, n.Vector(resource.List{gpu: int64(5 + i)}))
	}
	n.SetNode(node("free", 8, pool))
	n.SetNode(node("empty", 0, pool))
	n.SetNode(node("closed", 8, pool, taint("node.kubernetes.io/unschedulable", "", "NoSchedule")))
	n.SetNode(node("another flavor's", 8))
	s := n.Shape(demand.Place{NodeSelector: map[string]string{"pool": "gpu"}}, resource.List{"pods": 1, gpu: 4}, nil)
	want := []reason.NodeGroup{
		{Nodes: 1, Pods: 2, Node: "free", Why: "8 of 8 nvidia.com/gpu free"},
		{Nodes: 3, Node: "busy-0", Why: "1 to 3 of 8 nvidia.com/gpu free"},
		{Nodes: 1, Node: "closed", Why: "cordoned"},
		{Nodes: 1, Node: "empty", Why: "no nvidia.com/gpu"},
	}
	if diff := cmp.Diff(want, n.Room().Alike(s, map[string]string{"pool": "gpu"})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 20 {
		n.SetNode(node(fmt.Sprint("taint-", i), 8, pool, taint(fmt.Sprint("t", i), "", "NoSchedule")))
	}
	all := n.Room().Alike(s, map[string]string{"pool": "gpu"})
	if last := all[len(all)-1]; len(all) != 8 || last.Nodes != 26-7-2 || last.Why != "for other reasons" {
		t.Errorf("what is too much to tell is one group: %d of them, the last %+v", len(all), last)
	}
}

func TestWhatNoNodeHasEnoughOf(t *testing.T) {
	n := fit.New()
	n.SetNode(node("big", 8))
	n.SetNode(node("cpus", 1, func(n *supply.Node) { n.Allocatable["cpu"] = 64000 }))
	for _, c := range []struct {
		name string
		ask  resource.List
		want string
	}{
		{"a pod that asks for more than there is anywhere", resource.List{gpu: 9}, "nvidia.com/gpu 9 8"},
		{"devices before what else is short", resource.List{gpu: 9, "cpu": 100000}, "nvidia.com/gpu 9 8"},
		{"nothing alone, where all at once is nowhere", resource.List{gpu: 8, "cpu": 16000}, " 0 0"},
		{"what limits a gang of pods that fit", resource.List{gpu: 4}, "nvidia.com/gpu 4 8"},
	} {
		e := n.Empty(n.Shape(demand.Place{}, c.ask, nil))
		if got := fmt.Sprint(e.Scarce, " ", e.Each, " ", e.Most); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Machines that are not there yet are told apart from those that are, and always in the
// same order.
func TestMachinesToComeAreGroupsOfTheirOwn(t *testing.T) {
	pool := map[string]string{"pool": "gpu"}
	tainted := func(flavor string) supply.Elastic {
		return supply.Elastic{Flavor: flavor, Labels: pool, Taints: []policies.Taint{{Key: flavor, Effect: "NoSchedule"}}, Max: 2, Has: resource.List{gpu: 8}}
	}
	for range 20 {
		n := fit.New()
		n.SetElastic([]supply.Elastic{tainted("a"), tainted("b")})
		n.SetNode(node("there", 8, label("pool", "gpu")))
		n.Settle()
		for _, c := range []struct {
			selector map[string]string
			want     []reason.NodeGroup
		}{
			{nil, []reason.NodeGroup{
				{Nodes: 1, Pods: 2, Node: "there", Why: "8 of 8 nvidia.com/gpu free"},
				{Nodes: 1, Why: "taint a:NoSchedule not tolerated"}, {Nodes: 1, Why: "taint b:NoSchedule not tolerated"},
			}},
			{map[string]string{"zone": "c"}, []reason.NodeGroup{{Nodes: 2, Why: "selector zone=c"}, {Nodes: 1, Node: "there", Why: "selector zone=c"}}},
		} {
			s := n.Shape(demand.Place{NodeSelector: c.selector}, resource.List{gpu: 4}, nil)
			if diff := cmp.Diff(c.want, n.Room().Alike(s, pool)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	}
}
