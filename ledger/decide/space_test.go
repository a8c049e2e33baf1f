package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// namespaceQuota limits the GPUs that pods of a namespace ask for.
func (w *world) namespaceQuota(namespace string, hard, used int64, scopes ...nsquota.Scope) {
	w.book.SetNamespaceQuota(&nsquota.Quota{Namespace: namespace, Name: "gpus", Scopes: scopes, Rows: []nsquota.Row{
		{Name: "requests." + gpu, Resource: gpu, Hard: hard, Used: used},
	}})
}

func of(namespace string) func(*demand.Job) { return func(j *demand.Job) { j.Namespace = namespace } }

// spacious is one queue of 100 GPUs, and as many on machines.
func spacious(t *testing.T) *world {
	w := newWorld(t)
	w.catalog.Queues["research"] = queue(100)
	for i := range 10 {
		w.node(fmt.Sprint("n", i), 10)
	}
	return w
}

// Who waits for its namespace is passed over, and starts once others there have ended; pods
// count from the moment that their Job is let go, and never twice.
func TestAResourceQuotaHoldsTheJobsOfItsNamespace(t *testing.T) {
	w, planner := spacious(t), decide.NewPlanner()
	w.namespaceQuota("team", 8, 0)
	for _, name := range []string{"a", "b", "c"} {
		w.job(name, 2, 2)
	}
	w.job("other", 1, 8, of("elsewhere"))
	steps := []struct {
		name    string
		happens func()
		starts  []string
		c       string
	}{
		{"two of four are within it", func() {}, []string{"a", "b", "other"}, "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 4 requests.nvidia.com/gpu asked, 8 of 8 used"},
		{"their pods are not made yet", func() {}, []string{}, "8 of 8 used"},
		{"some are made, and the API server has counted one", func() { w.pod("a0", "n0", "a", 2); w.pod("a1", "n0", "a", 2); w.namespaceQuota("team", 8, 2) }, []string{}, "8 of 8 used"},
		{"it has counted all that are there", func() { w.namespaceQuota("team", 8, 4) }, []string{}, "8 of 8 used"},
		{"it has counted one that is not seen", func() { w.namespaceQuota("team", 8, 6) }, []string{}, "10 of 8 used"},
		{"the rest is there", func() { w.pod("b0", "n1", "b", 2); w.pod("b1", "n1", "b", 2); w.namespaceQuota("team", 8, 8) }, []string{}, "8 of 8 used"},
		{"a is over, and it has not counted that", func() { w.book.DeletePod("pod-a0"); w.book.DeletePod("pod-a1"); w.book.DeleteJob("uid-a") }, []string{}, "8 of 8 used"},
		{"now it has", func() { w.namespaceQuota("team", 8, 4) }, []string{"c"}, ""},
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
		if why := said(fresh)["c"]; !strings.Contains(why, s.c) {
			t.Errorf("%s: c waits: %s", s.name, why)
		}
		w.carryOut(r)
	}
}

func TestWhatAResourceQuotaSays(t *testing.T) {
	limits := func(hard int64) func(*world) {
		return func(w *world) {
			w.book.SetNamespaceQuota(&nsquota.Quota{Namespace: "team", Name: "q", Rows: []nsquota.Row{
				{Name: "limits.cpu", Of: nsquota.Limits, Resource: "cpu", Hard: hard, Used: 1500, Needs: demand.LimitsCPU},
			}})
		}
	}
	for name, c := range map[string]struct {
		world func(*world)
		job   func(*demand.Job)
		says  string // empty: it starts
	}{
		"none":                   {world: func(*world) {}},
		"of another namespace":   {world: func(w *world) { w.namespaceQuota("elsewhere", 0, 0) }},
		"enough":                 {world: func(w *world) { w.namespaceQuota("team", 8, 4) }},
		"too little left":        {world: func(w *world) { w.namespaceQuota("team", 8, 5) }, says: "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 4 requests.nvidia.com/gpu asked, 5 of 8 used"},
		"less than it asks for":  {world: func(w *world) { w.namespaceQuota("team", 3, 0) }, says: "NeverFits: 4 requests.nvidia.com/gpu asked; ResourceQuota gpus of its namespace allows 3 in all. Try: ask for less, or have it raised"},
		"not counted yet":        {world: func(w *world) { w.namespaceQuota("team", 8, nsquota.Unknown) }, says: "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace is new: the API server has not counted yet how much requests.nvidia.com/gpu is used"},
		"of pods of other terms": {world: func(w *world) { w.namespaceQuota("team", 0, 0, nsquota.Scope{Name: "Terminating"}) }},
		"that is gone":           {world: func(w *world) { w.namespaceQuota("team", 0, 0); w.book.DeleteNamespaceQuota("team", "gpus") }},
		"pods that nobody queued": {
			world: func(w *world) { w.namespaceQuota("team", 8, 0); w.pod("stranger", "n0", "", 5) },
			says:  "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 4 requests.nvidia.com/gpu asked, 5 of 8 used",
		},
		"limits that are not said": {
			world: limits(4000), job: func(j *demand.Job) { j.PodSets[0].Terms.Unset = demand.LimitsCPU },
			says: "BadRequest: ResourceQuota q of its namespace limits limits.cpu, so the API server refuses pods of which a container does not say how much it takes",
		},
		"limits": {
			world: limits(4000), job: func(j *demand.Job) { j.PodSets[0].Limits = resource.List{"cpu": 1500} },
			says: "WaitingForNamespaceQuota: ResourceQuota q of its namespace: 3 limits.cpu asked, 1500m of 4 used",
		},
		"fewer pods than it would like": {
			world: func(w *world) { w.namespaceQuota("team", 8, 6) }, job: func(j *demand.Job) { j.PodSets[0].MinCount = 1 },
		},
		"too little for the fewest": {
			world: func(w *world) { w.namespaceQuota("team", 8, 7) }, job: func(j *demand.Job) { j.PodSets[0].MinCount = 1 },
			says: "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 2 requests.nvidia.com/gpu asked, 7 of 8 used",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := spacious(t)
			c.world(w)
			if c.job == nil {
				c.job = func(*demand.Job) {}
			}
			w.job("a", 2, 2, c.job)
			r := w.plan()
			if why := said(r)["a"]; !strings.HasPrefix(why, c.says) || (c.says == "") != (len(r.Admit) == 1) {
				t.Errorf("let go: %v; it waits: %s", started(r), why)
			}
		})
	}
}

// A ResourceQuota in one namespace changes nothing about what another has counted.
func TestNamespacesAreCountedApart(t *testing.T) {
	w := spacious(t)
	w.namespaceQuota("team", 8, 0)
	w.pod("stranger", "n0", "", 4)
	w.namespaceQuota("elsewhere", 8, 0)
	w.job("a", 2, 2)
	if r := w.plan(); len(r.Admit) != 1 {
		t.Errorf("4 of 8 are used, and it waits: %v", said(r))
	}
	if err := w.book.SelfCheck(); err != nil {
		t.Error(err)
	}
}
