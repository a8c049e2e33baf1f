package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const (
	gpu    = "nvidia.com/gpu"
	second = int64(1e9)
	start  = 1000 * second
)

// world is a cluster and a policy, small enough to write down in a test.
type world struct {
	t        testing.TB
	book     *book.Book
	catalog  *policies.Catalog
	verdicts map[string]decide.Outcome
	in       decide.Input // what a test sets beyond the usual
	arrived  int64
	running  []string // the Jobs of a scale, in the order of their starts
}

// newWorld has the queue research with 4 GPUs of the flavor gpu, which is any
// node, and no nodes.
func newWorld(t testing.TB) *world {
	return &world{
		t: t, book: book.New(), verdicts: map[string]decide.Outcome{},
		catalog: &policies.Catalog{
			Flavors: map[string]policies.Flavor{"gpu": {}},
			Queues:  map[string]policies.Queue{"research": queue(4)},
		},
	}
}

func queue(gpus int64) policies.Queue {
	return policies.Queue{
		Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"gpu"},
		Quota: map[string]map[string]policies.Limit{"gpu": {gpu: {Nominal: gpus}}},
	}
}

func (w *world) plan() decide.Result { return decide.Plan(w.all()) }

// all is the input of a plan.
func (w *world) all() decide.Input {
	in := w.in
	in.Snapshot, in.Catalog, in.Verdicts, in.Revision = w.book.Snapshot(), w.catalog, w.verdicts, "r1"
	if in.Now == 0 {
		in.Now = start
	}
	return in
}

// carryOut does at once what a plan wants.
func (w *world) carryOut(r decide.Result) {
	for _, a := range r.Admit {
		w.admitAs(a.Job, a.Reservation)
	}
}

func (w *world) admitAs(j *demand.Job, r demand.Reservation) {
	running := *j
	running.Suspended, running.Started, running.Reservation = false, true, &r
	w.book.SetJob(&running)
}

// node adds a node with 8 cores, 64Gi, room for 110 pods and some GPUs.
func (w *world) node(name string, gpus int64, change ...func(*supply.Node)) {
	n := &supply.Node{
		Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}, Ready: true,
		Allocatable: resource.List{"cpu": 8000, "memory": 64 << 30, "pods": 110, gpu: gpus},
	}
	for _, f := range change {
		f(n)
	}
	w.book.SetNode(n)
}

// job queues a Job of so many pods with so many GPUs each.
func (w *world) job(name string, pods, gpus int64, change ...func(*demand.Job)) *demand.Job {
	w.arrived++
	j := &demand.Job{
		UID: "uid-" + name, Namespace: "team", Name: name, Queue: "research", Suspended: true,
		Arrival: demand.Arrival{Effective: start + w.arrived, Stamp: start + w.arrived},
		PodSets: []demand.PodSet{{Name: "main", Count: pods, Requests: resource.List{"pods": 1}}},
	}
	if gpus != 0 {
		j.PodSets[0].Requests[gpu] = gpus
	}
	for _, f := range change {
		f(j)
	}
	w.book.SetJob(j)
	v := w.verdicts[j.UID]
	if v.Verdict.Queue == "" {
		v.Verdict.Queue = j.Queue
	}
	w.verdicts[j.UID] = v
	return j
}

func (w *world) priority(name string, p int64) {
	w.verdicts["uid-"+name] = decide.Outcome{Verdict: policies.Verdict{Queue: "research", Priority: p}}
}

// pod adds a bound pod, of a Job if one is named.
func (w *world) pod(name, node, job string, gpus int64, change ...func(*supply.Pod)) {
	p := &supply.Pod{UID: "pod-" + name, Namespace: "team", Name: name, Node: node, Requests: resource.List{"pods": 1}, Started: node != ""}
	if gpus > 0 {
		p.Requests[gpu] = gpus
	}
	if job != "" {
		p.JobUID = "uid-" + job
	}
	for _, f := range change {
		f(p)
	}
	w.book.SetPod(p)
}

func started(r decide.Result) []string {
	names := []string{}
	for _, a := range r.Admit {
		names = append(names, a.Job.Name)
	}
	return names
}

// said is the main reason of each waiting Job, by name.
func said(r decide.Result) map[string]string {
	all := map[string]string{}
	for _, w := range r.Waiting {
		_, name, _ := strings.Cut(w.Key, "/")
		all[name] = fmt.Sprintf("%s: %s", w.Reason.Code, w.Reason.Message)
	}
	return all
}

func queueOf(r decide.Result, name string) decide.QueueState {
	i := slices.IndexFunc(r.Queues, func(q decide.QueueState) bool { return q.Name == name })
	if i < 0 {
		return decide.QueueState{}
	}
	return r.Queues[i]
}

func labels(pairs ...string) func(*supply.Node) {
	return func(n *supply.Node) {
		n.Labels = maps.Clone(n.Labels)
		for i := 0; i < len(pairs); i += 2 {
			n.Labels[pairs[i]] = pairs[i+1]
		}
	}
}
