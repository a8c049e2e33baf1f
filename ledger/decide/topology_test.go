package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const (
	block = "example.com/block"
	rack  = "example.com/rack"
)

func required(level string) func(*demand.Job) {
	return func(j *demand.Job) { j.PodSets[0].Topology = demand.Topology{Level: level, Required: true} }
}

func preferred(level string) func(*demand.Job) {
	return func(j *demand.Job) { j.PodSets[0].Topology = demand.Topology{Level: level} }
}

// racked is a world of racks with so many free nodes of 8 GPUs each, and as many taken
// ones as it takes for 4.
func racked(t testing.TB, free map[string]int) *world {
	w := newWorld(t)
	w.catalog.Flavors["gpu"] = policies.Flavor{Topology: []string{block, rack}}
	w.catalog.Queues["research"] = queue(1000)
	for _, name := range slices.Sorted(maps.Keys(free)) {
		for i := range 4 {
			node := fmt.Sprintf("%s-%d", name, i)
			w.node(node, 8, labels(rack, name, block, "b"+name[:1]))
			if i >= free[name] {
				w.pod("on-"+node, node, "", 8)
			}
		}
	}
	return w
}

// where is in which rack each Job starts, and which nodes are planned for it.
func where(r decide.Result) map[string]string {
	all := map[string]string{}
	for _, a := range r.Admit {
		set := a.Reservation.PodSets[0]
		text := a.NodeSelector[rack]
		if set.NodeSelector[rack] != text {
			text += " but reserved " + set.NodeSelector[rack]
		}
		if set.Domains != nil {
			text += " " + set.Domains.String()
		}
		all[a.Job.Name] = strings.TrimSpace(text + " " + strings.Join(a.PreferNodes, ","))
	}
	return all
}

func TestAGangInOneDomain(t *testing.T) {
	inB := "b all in example.com/rack=b b-0,b-1"
	for name, c := range map[string]struct {
		free map[string]int
		do   func(w *world)
		want map[string]string
		said map[string]string
	}{
		"takes the rack that leaves the least over": {
			map[string]int{"a": 4, "b": 2, "c": 3}, func(w *world) { w.job("train", 2, 8, required(rack)) },
			map[string]string{"train": inB}, map[string]string{},
		},
		"does not straddle": {
			map[string]int{"a": 3, "b": 1}, func(w *world) { w.job("train", 4, 8, required(rack)) },
			map[string]string{}, map[string]string{"train": "Fragmented: 4 pods of 8 nvidia.com/gpu each asked in one example.com/rack; " +
				"the machines of gpu have room for 4, at most 3 in one (a, of 2)"},
		},
		"may in a wider level": {
			map[string]int{"a1": 3, "a2": 1}, func(w *world) { w.job("train", 4, 8, required(block)) },
			map[string]string{"train": "all in example.com/block=ba a1-0,a1-1,a1-2,a2-0"}, map[string]string{},
		},
		"not if it never fits": {
			map[string]int{"a": 4, "b": 4}, func(w *world) { w.job("train", 5, 8, required(rack)) },
			map[string]string{}, map[string]string{"train": "NeverFits: 5 pods asked in one example.com/rack; of 2 on the machines of gpu the largest, a, " +
				"would have room for 4 if nothing ran. It starts by itself if a bigger one comes. Try: fewer pods, a wider level, or the annotation preferred-topology"},
		},
		"not at a level that there is not": {
			map[string]int{"a": 4}, func(w *world) { w.job("train", 1, 8, required("example.com/zone")) },
			map[string]string{}, map[string]string{"train": "NoMatchingFlavor: the topology of flavor gpu is example.com/block, example.com/rack, and the Job asks for the level example.com/zone. Try: a level that a flavor of the queue has, or leave out the annotation required-topology or preferred-topology"},
		},
		"nor as a preference": {
			map[string]int{"a": 4}, func(w *world) {
				w.catalog.Flavors["gpu"] = policies.Flavor{}
				w.job("train", 1, 8, preferred("example.com/zone"))
			},
			map[string]string{}, map[string]string{"train": "NoMatchingFlavor: flavor gpu has no topology, and the Job asks for the level example.com/zone. Try: a level that a flavor of the queue has, or leave out the annotation required-topology or preferred-topology"},
		},
		"not where nobody looks at machines": {
			map[string]int{"a": 4}, func(w *world) {
				w.catalog.Flavors["gpu"] = policies.Flavor{Topology: []string{rack}, Verify: policies.VerifyNone}
				w.job("train", 1, 8, required(rack))
			},
			map[string]string{}, map[string]string{"train": "NoMatchingFlavor: the machines of flavor gpu are not looked at (verify: none), and the Job asks for the level example.com/rack. Try: a level that a flavor of the queue has, or leave out the annotation required-topology or preferred-topology"},
		},
		"not on nodes without the label": {
			nil, func(w *world) {
				w.node("lone", 64)
				w.job("train", 2, 8, required(rack))
			},
			map[string]string{}, map[string]string{"train": "NeverFits: the pods are to be in one example.com/rack, and no node of gpu that may run them has this label. " +
				"It starts by itself if such a node comes. Try: a level whose label the nodes have"},
		},
		"in the rack that it selects itself, without another selector": {
			map[string]int{"a": 4, "b": 2}, func(w *world) {
				w.job("train", 2, 8, required(rack), func(j *demand.Job) { j.PodSets[0].Place.NodeSelector = map[string]string{rack: "a"} })
			},
			map[string]string{"train": "all in example.com/rack=a a-0,a-1"}, map[string]string{},
		},
		"with fewer pods where not all fit into one": {
			map[string]int{"a": 3, "b": 2}, func(w *world) {
				w.job("train", 4, 8, required(rack), func(j *demand.Job) { j.PodSets[0].MinCount = 2 })
			},
			map[string]string{"train": "a all in example.com/rack=a a-0,a-1,a-2"}, map[string]string{},
		},
		"not where pods of others may still land": {
			map[string]int{"a": 2, "b": 1}, func(w *world) {
				w.pod("stranger", "", "", 8)
				w.job("train", 2, 8, required(rack))
			},
			map[string]string{}, map[string]string{"train": "WaitingForMachines: 16 nvidia.com/gpu asked, 24 free on the machines of gpu; waits until others are placed there (1 pod)"},
		},
		"beside another in the same plan, each in a rack of its own": {
			map[string]int{"a": 3, "b": 2}, func(w *world) {
				w.job("one", 2, 8, required(rack))
				w.job("two", 2, 8, required(rack))
				w.job("three", 1, 8, required(rack))
				w.job("four", 1, 8, required(rack))
			},
			map[string]string{"one": inB, "two": "a all in example.com/rack=a a-0,a-1", "three": "a all in example.com/rack=a a-2"},
			map[string]string{"four": "WaitingForMachines: 8 nvidia.com/gpu asked, 40 free on the machines of gpu; waits until others are placed there (5 pods)"},
		},
		"preferred, all in the tightest that holds it": {
			map[string]int{"a": 4, "b": 2, "c": 3}, func(w *world) { w.job("train", 2, 8, preferred(rack)) },
			map[string]string{"train": "preferred in example.com/rack=b b-0,b-1"}, map[string]string{},
		},
		"preferred, in as few as there is room for": {
			map[string]int{"a": 1, "b": 3, "c": 2}, func(w *world) { w.job("train", 4, 8, preferred(rack)) },
			map[string]string{"train": "preferred in example.com/rack=a, b a-0,b-0,b-1,b-2"}, map[string]string{},
		},
		"preferred, and where there is no label as well": {
			map[string]int{"a": 1}, func(w *world) {
				w.node("lone", 8)
				w.job("train", 2, 8, preferred(rack))
			},
			map[string]string{"train": "preferred in example.com/rack=a a-0,lone"}, map[string]string{},
		},
		"by the flavor that has the level": {
			map[string]int{"a": 2}, func(w *world) {
				w.catalog.Flavors["cpus"] = policies.Flavor{}
				q := queue(1000)
				q.Flavors = []string{"cpus", "gpu"}
				q.Quota["cpus"] = map[string]policies.Limit{"cpu": {Nominal: 1000000}}
				q.Groups = []policies.Group{{Resources: []string{"cpu"}, Flavors: []string{"cpus"}}, {Resources: []string{gpu}, Flavors: []string{"gpu"}}}
				w.catalog.Queues["research"] = q
				w.job("train", 2, 8, required(rack), func(j *demand.Job) { j.PodSets[0].Requests["cpu"] = 1000 })
			},
			map[string]string{"train": "a all in example.com/rack=a a-0,a-1"}, map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := racked(t, c.free)
			c.do(w)
			r := w.plan()
			if diff := cmp.Diff(c.want, where(r)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.said, said(r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAGangStaysInItsDomain: what a Job was given is what its pods that are not there
// yet are promised, also by a book that was read anew.
func TestAGangStaysInItsDomain(t *testing.T) {
	w := racked(t, map[string]int{"a": 4, "b": 2})
	w.job("train", 2, 8, required(rack))
	w.carryOut(w.plan())
	w.job("next", 2, 8, required(rack))
	w.job("last", 2, 8, required(rack))
	w.job("none", 1, 8)
	r := w.plan()
	want := map[string]string{"next": "a all in example.com/rack=a a-0,a-1", "last": "a all in example.com/rack=a a-2,a-3"}
	if diff := cmp.Diff(want, where(r)); diff != "" {
		t.Error(diff)
	}
}

// TestRoomIsMadeInOneDomain: who has to go for a gang is whose going gives it room in
// one domain, and nobody else.
func TestRoomIsMadeInOneDomain(t *testing.T) {
	w := racked(t, map[string]int{"a": 1, "b": 0})
	w.catalog.Queues["research"] = func() policies.Queue {
		q := queue(1000)
		q.Preemption.WithinQueue = policies.VictimsLowerPriority
		return q
	}()
	w.in.Since = 1
	for i, node := range []string{"c-0", "d-0", "c-1", "d-1", "e-0"} { // who started last goes first
		name := "on-" + node
		w.node(node, 8, labels(rack, node[:1]))
		j := w.job(name, 1, 8)
		w.admitAs(j, demand.Reservation{UID: j.UID, Queue: "research", Time: start - int64(10-i)*second, PodSets: []demand.ReservedPodSet{
			{Name: "main", Count: 1, Requests: j.PodSets[0].Requests, Flavors: map[string]string{gpu: "gpu", "pods": "gpu"}}}})
		w.pod("p-"+name, node, name, 8, func(p *supply.Pod) { p.Ready = true })
	}
	w.job("train", 2, 8, required(rack))
	w.priority("train", 100)
	r := w.plan()
	var gone []string
	for _, s := range r.Suspend {
		gone = append(gone, s.Job.Name)
	}
	slices.Sort(gone)
	if want := []string{"on-d-0", "on-d-1"}; !slices.Equal(gone, want) {
		t.Fatalf("taken back: %v, want %v; %v", gone, want, said(r))
	}
	for _, s := range r.Suspend {
		back := *s.Job
		back.Suspended, back.Started, back.Reservation, back.Preempted = true, false, nil, s.Preempted
		w.book.SetJob(&back)
		w.book.DeletePod("pod-p-" + back.Name)
	}
	if diff := cmp.Diff(map[string]string{"train": "d all in example.com/rack=d d-0,d-1"}, where(w.plan())); diff != "" {
		t.Error(diff)
	}
}

// TestAGangNeverStraddles: it starts exactly if some rack has room for all of its pods,
// and then in the one that leaves the least over.
func TestAGangNeverStraddles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.catalog.Flavors["gpu"] = policies.Flavor{Topology: []string{rack}}
		w.catalog.Queues["research"] = queue(1000)
		pods, gpus := rapid.Int64Range(1, 5).Draw(rt, "pods"), rapid.Int64Range(1, 8).Draw(rt, "gpus")
		slots, racks := map[string]int64{}, map[string]string{}
		for i := range rapid.IntRange(1, 10).Draw(rt, "nodes") {
			name, in := fmt.Sprint("n", i), rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "rack")
			has, taken := rapid.Int64Range(0, 8).Draw(rt, "has"), rapid.Int64Range(0, 8).Draw(rt, "taken")
			racks[name] = in
			w.node(name, has, labels(rack, in))
			if taken = min(taken, has); taken > 0 {
				w.pod("on-"+name, name, "", taken)
			}
			slots[in] += (has - taken) / gpus
		}
		delete(slots, "")
		best, least := "", int64(1<<40)
		for _, name := range []string{"a", "b", "c"} {
			if n := slots[name]; n >= pods && n < least {
				best, least = name, n
			}
		}
		w.job("train", pods, gpus, required(rack))
		r := w.plan()
		switch {
		case best == "" && len(r.Admit) > 0:
			rt.Fatalf("it starts: %v", where(r))
		case best == "":
			return
		case len(r.Admit) == 0:
			rt.Fatalf("it waits, with room in %s: %v", best, said(r))
		}
		a := r.Admit[0]
		if a.NodeSelector[rack] != best || planned(a) != pods {
			rt.Fatalf("got %s with %d pods planned, want %s", a.NodeSelector[rack], planned(a), best)
		}
		for _, n := range a.PreferNodes {
			if got := racks[n]; got != best {
				rt.Fatalf("%s is in %s", n, got)
			}
		}
	})
}

func planned(a effect.Admit) int64 {
	n := int64(0)
	for _, pods := range a.Reservation.Plan {
		n += pods
	}
	return n
}
