package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// Who waits for machines is told of the nodes, flavor by flavor; who waits for
// anything else is not.
func TestNodesAreToldFlavorByFlavor(t *testing.T) {
	w := newWorld(t)
	of := func(pool string) func(*supply.Node) {
		return func(n *supply.Node) { n.Labels = map[string]string{"pool": pool} }
	}
	w.catalog.Flavors = map[string]policies.Flavor{
		"a": {NodeLabels: map[string]string{"pool": "a"}}, "b": {NodeLabels: map[string]string{"pool": "b"}}, "c": {NodeLabels: map[string]string{"pool": "c"}},
	}
	limit := map[string]policies.Limit{gpu: {Nominal: 8}}
	w.catalog.Queues["research"] = policies.Queue{
		Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"a", "b", "c"}, Quota: map[string]map[string]policies.Limit{"a": limit, "b": limit, "c": limit},
	}
	w.node("a1", 4, of("a"))
	w.node("a2", 8, of("a"), func(n *supply.Node) { n.Ready = false })
	w.node("b1", 2, of("b"))
	w.node("other", 8, of("other"))
	w.job("big", 1, 8)
	w.job("held", 1, 8, func(j *demand.Job) { j.HeldByOwner = true })
	w.job("never", 1, 16)
	s := decide.NewPlanner()
	s.Plan(w.all())
	want := []reason.FlavorNodes{
		{Flavor: "a", Groups: []reason.NodeGroup{{Nodes: 1, Node: "a1", Why: "4 of 4 nvidia.com/gpu free"}, {Nodes: 1, Node: "a2", Why: "not ready"}}},
		{Flavor: "b", Groups: []reason.NodeGroup{{Nodes: 1, Node: "b1", Why: "2 of 2 nvidia.com/gpu free"}}},
		{Flavor: "c"},
	}
	if diff := cmp.Diff(want, s.Nodes("uid-big")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, uid := range []string{"uid-held", "uid-never", "nobody"} {
		if got := s.Nodes(uid); got != nil {
			t.Errorf("%s does not wait for machines and is told of %v", uid, got)
		}
	}
}
