package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// Cases that people who run GPU queues have hit elsewhere.
func TestCasesFromTheField(t *testing.T) {
	for _, c := range []struct {
		name   string
		given  func(*world)
		starts []string
		waits  map[string]string
	}{
		{"whose namespace a queue takes no more blocks nobody, not in strict order either, and what runs goes on", func(w *world) {
			w.node("n1", 8)
			q := queue(4)
			q.Strategy, q.Namespaces = policies.StrictFIFO, policies.NamespaceRule{Labels: map[string]string{"gpu": "yes"}}
			w.catalog.Queues["research"] = q
			takes := map[string]string{"gpu": "yes"}
			w.in.Namespaces = map[string]map[string]string{"team": takes, "other": takes}
			w.runs(w.job("runs", 1, 1), "n1")
			w.in.Namespaces = map[string]map[string]string{"team": {}, "other": takes}
			w.job("left", 1, 1)
			w.job("next", 1, 1, func(j *demand.Job) { j.Namespace = "other" })
		}, []string{"next"}, map[string]string{"left": "UnknownQueue: queue research takes no Jobs of namespace team. Try: another queue, or have namespaces of the queue changed"}},
		{"GPUs are free, and no room for another pod", func(w *world) {
			w.node("n1", 8, func(n *supply.Node) { n.Allocatable["pods"] = 2 })
			w.pod("daemon", "n1", "", 0)
			w.job("two", 2, 1)
			w.job("one", 1, 1)
		}, []string{"one"}, map[string]string{
			"two": "WaitingForMachines: 2 pods asked, 1 free on the machines of gpu, with 1 pod of others still to be placed there",
		}},
		{"two flavors of the same machines sell them once", func(w *world) {
			w.node("n1", 2)
			w.catalog.Flavors = map[string]policies.Flavor{"gpu": {}, "spot": {}}
			q := queue(2)
			q.Flavors = []string{"gpu", "spot"}
			q.Quota["spot"] = q.Quota["gpu"]
			w.catalog.Queues["research"] = q
			w.job("first", 1, 2)
			w.job("second", 1, 2)
		}, []string{"first"}, map[string]string{"second": "WaitingForQuota: research uses 2 of 2 nvidia.com/gpu on gpu; 2 asked, 0 left"}},
		{"a dip on one machine eats nothing of another", func(w *world) {
			w.node("n1", 0)
			w.node("n2", 4)
			w.runs(w.job("runs", 2, 1), "n1")
			w.job("next", 2, 1)
		}, []string{"next"}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			r := w.plan()
			if diff := cmp.Diff(c.starts, started(r)); diff != "" {
				t.Errorf("who starts (-want +got):\n%s", diff)
			}
			if len(r.Suspend) > 0 {
				t.Errorf("taken back: %v", taken(r))
			}
			if diff := cmp.Diff(c.waits, said(r)); diff != "" {
				t.Errorf("who waits and why (-want +got):\n%s", diff)
			}
		})
	}
}
