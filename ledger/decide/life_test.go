package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// life is a cluster in which time passes: Jobs are let go, their pods appear
// late, land where the scheduler likes, and end.
type life struct {
	*cluster
	t       *rapid.T
	b       *book.Book
	flying  map[string]demand.Reservation // admissions that were not observed yet
	running map[string]*demand.Job
	pods    map[string]*supply.Pod
	left    map[string]int64 // pods that a Job has still to make
	serial  int
}

// TestLifeOfACluster: whatever the order of events, a pod that was let go always
// finds a node, quotas hold, the book balances; and when everything has ended,
// nobody is left waiting who could run.
func TestLifeOfACluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, 2)
		c.pods = slices.DeleteFunc(c.pods, func(p *supply.Pod) bool { return p.Node == "" })
		l := &life{
			cluster: c, t: t, b: c.book(nil), flying: map[string]demand.Reservation{}, running: map[string]*demand.Job{},
			pods: map[string]*supply.Pod{}, left: map[string]int64{},
		}
		steps := []func(){l.plan, l.land, l.makePod, l.makePod, l.bind, l.bind, l.end}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			rapid.SampledFrom(steps).Draw(t, "step")()
			if err := l.b.SelfCheck(); err != nil {
				t.Fatal(err)
			}
		}
		l.drain()
	})
}

func (l *life) plan() {
	r := decide.Plan(l.input(l.b))
	if over := overQuota(r); over != "" {
		l.t.Fatalf("over quota: %s", over)
	}
	if len(r.Suspend) > 0 {
		l.t.Fatalf("took back %s", r.Suspend[0].Job.Name)
	}
	for _, a := range r.Admit {
		l.b.Assume(a.Job, a.Reservation)
		l.flying[a.Job.UID] = a.Reservation
	}
}

// some is one key of a map, drawn; false if there is none.
func some[V any](t *rapid.T, m map[string]V, ok func(V) bool) (string, bool) {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if ok == nil || ok(m[key]) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return "", false
	}
	return rapid.SampledFrom(keys).Draw(t, "which"), true
}

// land: an admission's write is observed.
func (l *life) land() {
	uid, ok := some(l.t, l.flying, nil)
	if !ok {
		return
	}
	r := l.flying[uid]
	j := *l.b.Job(uid)
	j.Suspended, j.Started, j.Reservation = false, true, &r
	l.b.SetJob(&j)
	l.b.Settle(uid)
	delete(l.flying, uid)
	l.running[uid], l.left[uid] = &j, r.PodSets[0].Count
}

func (l *life) makePod() {
	uid, ok := some(l.t, l.left, func(n int64) bool { return n > 0 })
	if !ok {
		return
	}
	l.left[uid]--
	set := l.running[uid].Reservation.PodSets[0]
	l.serial++
	p := &supply.Pod{
		UID: fmt.Sprint("p", l.serial), JobUID: uid, Requests: set.Requests, Queue: l.running[uid].Reservation.Queue, Flavors: set.Flavors,
		Place: book.Inject(l.running[uid].PodSets[0].Place, set.NodeSelector, set.Tolerations),
	}
	l.pods[p.UID] = p
	l.b.SetPod(p)
}

func (l *life) bind() {
	uid, ok := some(l.t, l.pods, func(p *supply.Pod) bool { return p.Node == "" })
	if !ok {
		return
	}
	p := *l.pods[uid]
	s := newScheduler(&cluster{nodes: l.nodes, pods: slices.Concat(l.cluster.pods, slices.Collect(maps.Values(l.pods)))})
	nodes := s.fits(pendingPod{place: p.Place, requests: p.Requests})
	if len(nodes) == 0 {
		l.t.Fatalf("pod %s of %s finds no node", uid, p.JobUID)
	}
	p.Node = rapid.SampledFrom(nodes).Draw(l.t, "lands on")
	l.pods[uid] = &p
	l.b.SetPod(&p)
}

// end: a pod ends well, and the Job wants one less.
func (l *life) end() {
	uid, ok := some(l.t, l.pods, func(p *supply.Pod) bool { return p.Node != "" })
	if !ok {
		return
	}
	owner := l.pods[uid].JobUID
	delete(l.pods, uid)
	l.b.DeletePod(uid)
	j := *l.running[owner]
	j.PodSets = slices.Clone(j.PodSets)
	j.PodSets[0].Count--
	j.Ended++
	j.Finished = j.PodSets[0].Count == 0
	l.running[owner] = &j
	l.b.SetJob(&j)
}

// drain lets everything end, with all machines there.
func (l *life) drain() {
	for i, n := range l.nodes {
		ready := *n
		ready.Ready = true
		l.nodes[i] = &ready
		l.b.SetNode(&ready)
	}
	for _, p := range l.cluster.pods {
		l.b.DeletePod(p.UID)
	}
	l.cluster.pods = nil
	for range 300 {
		for len(l.flying) > 0 {
			l.land()
		}
		for _, uid := range slices.Sorted(maps.Keys(l.left)) {
			for l.left[uid] > 0 {
				l.makePod()
			}
		}
		for range l.pods {
			l.bind()
		}
		for range l.pods {
			l.end()
		}
		l.plan()
		if len(l.flying) == 0 && len(l.pods) == 0 {
			break
		}
	}
	l.settled()
}

func (l *life) settled() {
	r := decide.Plan(l.input(l.b))
	for _, w := range r.Waiting {
		if reason.Of(w.Reason.Code).Group != reason.GroupNeedsUser {
			l.t.Fatalf("nothing runs any more, and %s still waits: %s: %s", w.Key, w.Reason.Code, w.Reason.Message)
		}
	}
	if len(r.Admit) > 0 || len(l.b.Usage()) > 0 {
		l.t.Fatalf("not at rest: %d start, charged %v", len(r.Admit), l.b.Usage())
	}
	for name, held := range l.b.Nodes().Held() {
		l.t.Fatalf("nothing runs any more, and %s holds %v", name, resource.List(held))
	}
}
