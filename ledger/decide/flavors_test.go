package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// twoKinds has a queue that may use 2 GPUs on h100 nodes, which are tainted,
// and 2 on a100 nodes.
func twoKinds(t testing.TB) *world {
	w := newWorld(t)
	taint := policies.Taint{Key: gpu, Value: "yes", Effect: "NoSchedule"}
	w.catalog.Flavors = map[string]policies.Flavor{
		"h100": {
			NodeLabels: map[string]string{"kind": "h100"}, Taints: []policies.Taint{taint},
			Tolerations: []policies.Toleration{{Key: gpu, Operator: "Exists"}},
		},
		"a100": {NodeLabels: map[string]string{"kind": "a100"}},
	}
	q := queue(0)
	q.Flavors = []string{"h100", "a100"}
	q.Quota = map[string]map[string]policies.Limit{"h100": {gpu: {Nominal: 2}}, "a100": {gpu: {Nominal: 2}}}
	w.catalog.Queues["research"] = q
	w.node("n1", 2, labels("kind", "h100"), func(n *supply.Node) { n.Taints = []policies.Taint{taint} })
	w.node("n2", 2, labels("kind", "a100"))
	return w
}

func selects(key, value string) func(*demand.Job) {
	return func(j *demand.Job) { j.PodSets[0].Place.NodeSelector = map[string]string{key: value} }
}

// apart has cores and GPUs come from flavors that are chosen one after the other.
func apart(w *world, h100, a100 int64) {
	q := w.catalog.Queues["research"]
	q.Groups = []policies.Group{{Resources: []string{gpu}, Flavors: q.Flavors}, {Resources: []string{"cpu"}, Flavors: q.Flavors}}
	q.Quota["h100"]["cpu"], q.Quota["a100"]["cpu"] = policies.Limit{Nominal: h100}, policies.Limit{Nominal: a100}
	w.catalog.Queues["research"] = q
}

func TestFlavors(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(*world)
		runs  map[string]string // Job → flavor
		waits map[string]string
	}{
		{"the first flavor is filled, then the second", func(w *world) {
			w.job("a", 2, 1)
			w.job("b", 2, 1)
			w.job("c", 2, 1)
		}, map[string]string{"a": "h100", "b": "a100"}, map[string]string{
			"c": "WaitingForQuota: research uses 2 of 2 nvidia.com/gpu on h100; 2 asked, 0 left",
		}},
		{"who selects one kind gets only that", func(w *world) {
			w.job("a", 2, 1, selects("kind", "a100"))
			w.job("b", 2, 1, selects("kind", "a100"))
		}, map[string]string{"a": "a100"}, map[string]string{
			"b": "WaitingForQuota: research uses 2 of 2 nvidia.com/gpu on a100; 2 asked, 0 left",
		}},
		{"who asks by affinity gets only that", func(w *world) {
			w.job("a", 2, 1, func(j *demand.Job) {
				j.PodSets[0].Place.Affinity = []demand.NodeTerm{{Labels: []demand.NodeRequirement{{Key: "kind", Operator: "NotIn", Values: []string{"h100"}}}}}
			})
		}, map[string]string{"a": "a100"}, map[string]string{}},
		{"a wish that contradicts every flavor is told by its key", func(w *world) {
			w.job("a", 1, 1, selects("kind", "v100"))
		}, map[string]string{}, map[string]string{
			"a": "NoMatchingFlavor: flavor h100 has kind=h100, the pods select v100; flavor a100 has kind=a100, the pods select v100",
		}},
		{"a taint that neither pods nor flavor tolerate rules the flavor out", func(w *world) {
			f := w.catalog.Flavors["h100"]
			f.Tolerations = nil
			w.catalog.Flavors["h100"] = f
			w.job("a", 1, 1)
			w.job("b", 1, 1, selects("kind", "h100"))
		}, map[string]string{"a": "a100"}, map[string]string{
			"b": "NoMatchingFlavor: flavor h100 has taint nvidia.com/gpu:NoSchedule, which the pods don't tolerate; flavor a100 has kind=a100, the pods select h100",
		}},
		{"the verdict's flavors and their order go before the queue's", func(w *world) {
			v := w.verdicts["uid-a"]
			v.Verdict = policies.Verdict{Queue: "research", Flavors: []string{"a100"}}
			w.verdicts["uid-a"] = v
			w.job("a", 1, 1)
		}, map[string]string{"a": "a100"}, map[string]string{}},
		{"no machines on the first flavor means the second", func(w *world) {
			w.pod("stranger", "n1", "", 1)
			w.job("a", 2, 1)
		}, map[string]string{"a": "a100"}, map[string]string{}},
		{"more than any flavor's quota never fits", func(w *world) {
			w.job("a", 3, 1)
		}, map[string]string{}, map[string]string{
			"a": "NeverFits: 3 nvidia.com/gpu asked; research may use at most 2 on h100, 2 on a100; " +
				"all pods of a Job go to one flavor. Try: ask for less, or make several Jobs of it",
		}},
		{"more than all flavors have together is told without talk of flavors", func(w *world) {
			w.job("a", 5, 1)
		}, map[string]string{}, map[string]string{
			"a": "NeverFits: 5 nvidia.com/gpu asked; research may use at most 2 on h100, 2 on a100. Try: ask for less",
		}},
		{"a node by name that is of no flavor is told by its name", func(w *world) {
			w.job("a", 1, 1, func(j *demand.Job) {
				there := []demand.NodeRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n7"}}}
				j.PodSets[0].Place.Affinity = []demand.NodeTerm{{Fields: there}}
			})
		}, map[string]string{}, map[string]string{
			"a": "NeverFits: the pods ask for the node n7 (nodeName), which is not there. " +
				"It starts by itself if such a node comes. Try: leave out nodeName",
		}},
		{"a device that only another queue has a quota of", func(w *world) {
			w.catalog.Queues["cpu"] = policies.Queue{Flavors: []string{"a100"}, Namespaces: policies.NamespaceRule{All: true}}
			v := w.verdicts["uid-a"]
			v.Verdict.Queue = "cpu"
			w.verdicts["uid-a"] = v
			w.job("a", 1, 1)
		}, map[string]string{}, map[string]string{
			"a": "UnknownResource: nvidia.com/gpu: not in a quota of cpu, nor listed under resources in the policy. " +
				"Try: a queue that has a quota of it (research), or have cpu given one",
		}},
		{"a label that no node has is looked for on the nodes", func(w *world) {
			w.job("a", 1, 1, selects("zone", "moon"))
		}, map[string]string{}, map[string]string{
			"a": "NeverFits: no node of h100 may run its pods: selector zone=moon (1 node); " +
				"no node of a100 may run its pods: selector zone=moon (1 node). It starts by itself if such a node comes. " +
				"Try: correct the node selector zone, or leave it out",
		}},
		{"labels and taints that keep the pods off are named, with the nodes that have them", func(w *world) {
			w.node("n3", 2, labels("kind", "a100"), func(n *supply.Node) { n.Taints = []policies.Taint{{Key: "mine", Effect: "NoSchedule"}} })
			w.node("n4", 2, labels("kind", "a100", "zone", "moon"), func(n *supply.Node) { n.Taints = []policies.Taint{{Key: "mine", Effect: "NoSchedule"}} })
			w.book.DeleteNode("n1")
			w.job("a", 1, 1, selects("zone", "moon"))
		}, map[string]string{}, map[string]string{
			"a": "NeverFits: no node has the labels of h100 (kind=h100); no node of a100 may run its pods: selector zone=moon (2 nodes), " +
				"taint mine:NoSchedule not tolerated (1 node). It starts by itself if such a node comes. Try: another flavor or queue, or have nodes labelled so; " +
				"or correct the node selector zone, or leave it out; or tolerate the taint mine",
		}},
		{"a node by name that has a taint against the pods", func(w *world) {
			w.node("n3", 2, labels("kind", "a100"), func(n *supply.Node) { n.Taints = []policies.Taint{{Key: "mine", Effect: "NoSchedule"}} })
			w.job("a", 1, 1, func(j *demand.Job) {
				there := []demand.NodeRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n3"}}}
				j.PodSets[0].Place.Affinity = []demand.NodeTerm{{Fields: there}}
			})
		}, map[string]string{}, map[string]string{
			"a": "NeverFits: the pods ask for the node n3 (nodeName), which may not run them: not of h100; " +
				"the pods ask for the node n3 (nodeName), which may not run them: taint mine:NoSchedule not tolerated. " +
				"It starts by itself if such a node comes. Try: leave out nodeName",
		}},
		{"GPUs that are free on the first kind don't keep a Job from the second, where alone it has cores", func(w *world) {
			apart(w, 0, 1000)
			w.job("a", 1, 1, func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = 1000 })
		}, map[string]string{"a": "a100"}, map[string]string{}},
		{"a Job waits for the second kind, where it will have cores, whatever is free on the first, where it never has", func(w *world) {
			apart(w, 0, 1000)
			with := func(cores int64) func(*demand.Job) {
				return func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = cores }
			}
			w.job("a", 1, 2, with(500))
			w.job("b", 1, 1, with(500))
		}, map[string]string{"a": "a100"}, map[string]string{
			"b": "WaitingForQuota: research uses 2 of 2 nvidia.com/gpu on a100; 1 asked, 0 left",
		}},
		{"a Job that asks for nothing limited gets a flavor too", func(w *world) {
			w.job("a", 1, 0, func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = 100 })
		}, map[string]string{"a": "h100"}, map[string]string{}},
		{"a flavor that is not verified needs no machines", func(w *world) {
			f := w.catalog.Flavors["h100"]
			f.Verify = policies.VerifyNone
			w.catalog.Flavors["h100"] = f
			w.book.DeleteNode("n1")
			w.job("a", 2, 1)
		}, map[string]string{"a": "h100"}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twoKinds(t)
			c.given(w)
			got := w.plan()
			runs := map[string]string{}
			for _, a := range got.Admit {
				runs[a.Job.Name] = a.Reservation.PodSets[0].Flavors["pods"]
			}
			if diff := cmp.Diff(c.runs, runs); diff != "" {
				t.Errorf("Job and flavor (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.waits, said(got)); diff != "" {
				t.Errorf("who waits and why (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAdmissionSaysAllThatIsWritten(t *testing.T) {
	w := twoKinds(t)
	j := w.job("a", 2, 1, selects("zone", "east"))
	w.node("n1", 2, labels("kind", "h100", "zone", "east"))
	got := w.plan().Admit[0]
	tolerations := []policies.Toleration{{Key: gpu, Operator: "Exists"}}
	want := demand.Reservation{
		UID: j.UID, Queue: "research", Revision: "r1", Time: start, Plan: map[string]int64{"n1": 2},
		PodSets: []demand.ReservedPodSet{{
			Name: "main", Count: 2, Requests: resource.List{gpu: 1, "pods": 1},
			Flavors:      map[string]string{gpu: "h100", "pods": "h100"},
			NodeSelector: map[string]string{"kind": "h100"}, Tolerations: tolerations,
		}},
	}
	if diff := cmp.Diff(want, got.Reservation); diff != "" {
		t.Errorf("reservation (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"kind": "h100"}, got.NodeSelector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tolerations, got.Tolerations); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"n1"}, got.PreferNodes); diff != "" {
		t.Errorf("preferred nodes (-want +got):\n%s", diff)
	}
}

func TestTolerationsThatPodsHaveAreNotAddedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		own  policies.Toleration
		adds int
	}{
		{"the same one", policies.Toleration{Key: gpu, Operator: "Exists"}, 0},
		{"one for everything", policies.Toleration{Operator: "Exists"}, 0},
		{"one for another key", policies.Toleration{Key: "x", Operator: "Exists"}, 1},
		{"one for a single value", policies.Toleration{Key: gpu, Value: "yes"}, 1},
		{"one for a single effect", policies.Toleration{Key: gpu, Operator: "Exists", Effect: "NoSchedule"}, 1},
		{"one that ends", policies.Toleration{Key: gpu, Operator: "Exists", TolerationSeconds: new(int64)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twoKinds(t)
			w.job("a", 1, 1, func(j *demand.Job) { j.PodSets[0].Place.Tolerations = []policies.Toleration{c.own} })
			if got := w.plan().Admit[0]; len(got.Tolerations) != c.adds {
				t.Errorf("adds %v, want %d", got.Tolerations, c.adds)
			}
		})
	}
}

// Whoever was first took some of what another was to get: that one gets what is left
// there, and is not told that the flavors after it don't do.
func TestWhoWasNotFirstLooksAtTheSameFlavorAgain(t *testing.T) {
	w := twoKinds(t)
	q := w.catalog.Queues["research"]
	q.Quota = map[string]map[string]policies.Limit{"h100": {gpu: {Nominal: 4}}, "a100": {gpu: {Nominal: 0}}}
	w.catalog.Queues["research"], w.catalog.Queues["other"] = q, q
	w.node("n1", 5, labels("kind", "h100"))
	w.job("first", 2, 1, in("other"))
	w.job("partly", 4, 1, func(j *demand.Job) { j.PodSets[0].MinCount = 2 })
	got := w.plan()
	if diff := cmp.Diff([]string{"first", "partly"}, started(got)); diff != "" {
		t.Fatalf("who starts (-want +got):\n%s%v", diff, said(got))
	}
	if n := got.Admit[1].Reservation.PodSets[0].Count; n != 3 {
		t.Errorf("it starts with %d pods, want the 3 that there is room for", n)
	}
}

// For all of its pods there are GPUs nowhere. For 2 of them there are on h100, and no
// cores; on a100 there is both.
func TestFewerPodsLookAtEveryFlavorAtOnce(t *testing.T) {
	w := twoKinds(t)
	apart(w, 2000, 3000)
	for flavor, n := range map[string]int64{"h100": 6, "a100": 6} {
		w.catalog.Queues["research"].Quota[flavor][gpu] = policies.Limit{Nominal: n}
	}
	w.node("n1", 8, labels("kind", "h100"))
	w.node("n2", 8, labels("kind", "a100"))
	cores := func(n int64) func(*demand.Job) {
		return func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = n }
	}
	w.job("has the cores", 1, 0, cores(2000))
	w.carryOut(w.plan())
	w.job("partly", 3, 3, cores(1000), func(j *demand.Job) { j.PodSets[0].MinCount = 1 })
	got := w.plan()
	if diff := cmp.Diff([]string{"partly"}, started(got)); diff != "" {
		t.Fatalf("who starts (-want +got):\n%s%v", diff, said(got))
	}
	set := got.Admit[0].Reservation.PodSets[0]
	if set.Count != 2 || set.Flavors[gpu] != "a100" {
		t.Errorf("it starts with %d pods on %s, want 2 on a100", set.Count, set.Flavors[gpu])
	}
}

// Wide, red's first, could have GPUs on one and cores on two, but no machine is both: all
// of it is looked at in one turn, so that next has the last GPU, which asked before late.
func TestASearchInVainTakesNoTurnFromWhoIsBehind(t *testing.T) {
	w := newWorld(t)
	w.catalog.Flavors = map[string]policies.Flavor{"one": {NodeLabels: map[string]string{"kind": "one"}}, "two": {NodeLabels: map[string]string{"kind": "two"}}}
	kinds := []string{"one", "two"}
	of := func(gpus, one, two int64) policies.Queue {
		q := queue(0)
		q.Cohort, q.Flavors = "all", kinds
		q.Groups = []policies.Group{{Resources: []string{gpu}, Flavors: kinds}, {Resources: []string{"cpu"}, Flavors: kinds}}
		q.Quota = map[string]map[string]policies.Limit{"one": {gpu: {Nominal: gpus}, "cpu": {Nominal: one, BorrowingLimit: new(int64)}}, "two": {gpu: {}, "cpu": {Nominal: two}}}
		return q
	}
	red := of(4, 2000, 6000)
	red.Preemption.ReclaimWithinCohort = policies.VictimsAny
	red.Fungibility.WhenCanPreempt = policies.MayStopSearch
	w.catalog.Queues = map[string]policies.Queue{"red": red, "blue": of(4, 6000, 0)}
	w.node("n1", 2, labels("kind", "one"))
	w.node("n2", 0, labels("kind", "two"))
	with := func(queue string, cores int64) func(*demand.Job) {
		return func(j *demand.Job) { j.Queue, j.PodSets[0].Requests["cpu"] = queue, cores }
	}
	w.job("runs", 1, 1, with("red", 1000))
	w.carryOut(w.plan())
	w.job("wide", 1, 1, with("red", 2000))
	w.job("next", 1, 1, with("red", 1000))
	w.job("late", 1, 1, with("blue", 1000))

	if diff := cmp.Diff([]string{"next"}, started(w.plan())); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
}
