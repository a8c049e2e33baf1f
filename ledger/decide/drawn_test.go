package decide_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const anyCard = "devices:any"

// ways is nodes that give GPUs by a plugin and nodes that give them out of devices, each
// kind a pool, and flavors for both and for either.
func ways(t *testing.T) *world {
	w := newWorld(t)
	w.book.SetExtended(map[string]string{gpu: anyCard})
	pool := func(name string) func(*supply.Node) {
		return func(n *supply.Node) { n.Labels = map[string]string{"pool": name} }
	}
	w.node("p", 8, pool("plugin"))
	w.node("d", 0, pool("devices"))
	w.book.SetDevices(supply.Devices{Node: "d", Rows: map[string]supply.Stock{anyCard: {Total: 8, Free: 8}}})
	w.catalog.Flavors = map[string]policies.Flavor{"plugin": {NodeLabels: map[string]string{"pool": "plugin"}}, "devices": {NodeLabels: map[string]string{"pool": "devices"}}, "either": {}, "none": {NodeLabels: map[string]string{"pool": "none"}}}
	for name := range w.catalog.Flavors {
		w.catalog.Queues[name] = policies.Queue{
			Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{name}, Quota: map[string]map[string]policies.Limit{name: {gpu: {Nominal: 100}}},
		}
	}
	return w
}

func (w *world) deviceQuota(hard, used int64) {
	w.book.SetNamespaceQuota(&nsquota.Quota{Namespace: "team", Name: "devices", Rows: []nsquota.Row{
		{Name: "cards", Of: nsquota.Devices, Resource: "cards", Classes: []string{"card"}, Drawn: []string{gpu}, Hard: hard, Used: used},
	}})
}

func asking(gpus int64, in string) func(*demand.Job) {
	return func(j *demand.Job) {
		j.Queue, j.PodSets[0].Limits = in, resource.List{gpu: gpus}
	}
}

// What containers ask for counts as devices where their pods may be given it so.
func TestContainersTakeDevicesWhereNodesGiveThem(t *testing.T) {
	for name, c := range map[string]struct {
		queue      string
		job        func(*demand.Job)
		hard, used int64
		says       []string // none: it starts
	}{
		"by a plugin":                   {queue: "plugin"},
		"by a plugin, of a full quota":  {queue: "plugin", hard: 4, used: 4},
		"out of devices":                {queue: "devices", hard: 4},
		"out of devices, of which 3":    {queue: "devices", hard: 4, used: 1, says: []string{"WaitingForNamespaceQuota: ResourceQuota devices of its namespace: 4 cards asked, 1 of 4 used; the scheduler claims devices for " + gpu}},
		"out of devices, without any":   {queue: "devices", says: []string{"NeverFits: 4 cards asked; ResourceQuota devices of its namespace allows 0 in all; the scheduler claims devices for " + gpu + ". Try: ask for less, or have it raised"}},
		"one way or the other":          {queue: "either", hard: 4, used: 1, says: []string{"WaitingForNamespaceQuota: ", "some nodes on which its pods may run have no device plugin for it", ". Try: a nodeSelector for nodes with the plugin, or a flavor for each kind"}},
		"one way or the other, never":   {queue: "either", says: []string{"NeverFits: ", ". Try: ask for less, or have it raised, or a nodeSelector for nodes with the plugin"}},
		"the Job itself says which way": {queue: "either", job: func(j *demand.Job) { j.PodSets[0].Place.NodeSelector = map[string]string{"pool": "plugin"} }},
		"nobody knows yet":              {queue: "none", hard: 4, used: 1, says: []string{"WaitingForNamespaceQuota: ", gpu + " counts, since no node shows yet that a device plugin gives it"}},
		"claims": {queue: "plugin", hard: 4, used: 1, job: func(j *demand.Job) { j.PodSets[0].Terms.Claims = "1,card=2" },
			says: []string{"WaitingForNamespaceQuota: ResourceQuota devices of its namespace: 4 cards asked, 1 of 4 used"}},
		"claims of another class": {queue: "plugin", hard: 4, used: 1, job: func(j *demand.Job) { j.PodSets[0].Terms.Claims = "1,other=2" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := ways(t)
			w.deviceQuota(c.hard, c.used)
			w.job("a", 2, 2, asking(2, c.queue), func(j *demand.Job) {
				if c.job != nil {
					c.job(j)
				}
			})
			r := w.plan()
			why := said(r)["a"]
			if (len(c.says) == 0) != (len(r.Admit) == 1) {
				t.Errorf("let go: %v; it waits: %s", started(r), why)
			}
			for _, part := range c.says {
				if !strings.Contains(why, part) {
					t.Errorf("it waits: %s\nwant: %s", why, part)
				}
			}
		})
	}
}

// A Job that is held since its pods may draw devices goes once the nodes give it otherwise,
// and what runs counts by where it runs.
func TestHowNodesGiveAResourceMayChange(t *testing.T) {
	w, planner := ways(t), decide.NewPlanner()
	w.deviceQuota(4, 4)
	w.job("a", 2, 2, asking(2, "devices"))
	steps := []struct {
		name    string
		happens func()
		starts  []string
	}{
		{"the namespace has none left", func() {}, []string{}},
		{"its nodes have a plugin now", func() {
			w.node("d", 8, func(n *supply.Node) { n.Labels = map[string]string{"pool": "devices"} })
		}, []string{"a"}},
	}
	for _, s := range steps {
		s.happens()
		fresh, r := w.plan(), planner.Plan(w.all())
		if diff := cmp.Diff(started(fresh), started(r)); diff != "" {
			t.Fatalf("%s: who starts by a planner that remembers (-from nothing +remembered):\n%s", s.name, diff)
		}
		if diff := cmp.Diff(s.starts, started(r)); diff != "" {
			t.Fatalf("%s: who starts (-want +got):\n%s", s.name, diff)
		}
		w.carryOut(r)
	}
}

// Pods on nodes count by what the scheduler claimed for them, those on none by where they
// may go, and those that are yet to be made as well.
func TestDevicesOfPodsAreCountedByTheirNodes(t *testing.T) {
	limited := func(p *supply.Pod) { p.Limits = resource.List{gpu: 2} }
	bound := func(pool string) func(*supply.Pod) {
		return func(p *supply.Pod) { p.Place.NodeSelector = map[string]string{"pool": pool} }
	}
	for name, c := range map[string]struct {
		pod  func(w *world)
		used int64
	}{
		"on a plugin's node":       {func(w *world) { w.pod("x", "p", "", 2, limited) }, 0},
		"drawn":                    {func(w *world) { w.pod("x", "d", "", 2, limited, func(p *supply.Pod) { p.Terms.Drawn = "a/b," + gpu }) }, 2},
		"to go to a plugin's node": {func(w *world) { w.pod("x", "", "", 2, limited, bound("plugin")) }, 0},
		"to go to devices":         {func(w *world) { w.pod("x", "", "", 2, limited, bound("devices")) }, 2},
		"yet to be made": {func(w *world) {
			j := w.job("x", 2, 2, asking(2, "devices"))
			w.admitAs(j, demand.Reservation{UID: j.UID, Queue: "devices", PodSets: []demand.ReservedPodSet{{
				Name: "main", Count: 2, Requests: j.PodSets[0].Requests, Flavors: map[string]string{gpu: "devices"}, NodeSelector: map[string]string{"pool": "devices"},
			}}})
		}, 4},
	} {
		w := ways(t)
		w.deviceQuota(100, 0)
		c.pod(w)
		if got := w.book.Snapshot().NamespaceQuotas("team")[0].Used[0]; got != c.used {
			t.Errorf("%s: %d, want %d", name, got, c.used)
		}
		if err := w.book.SelfCheck(); err != nil {
			t.Error(err)
		}
	}
}
