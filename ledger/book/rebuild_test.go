package book_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// later is long after everything.
const later = int64(time.Hour)

// objects is what the API server has right now.
type objects struct {
	nodes   map[string]*supply.Node
	pods    map[string]*supply.Pod
	jobs    map[string]*demand.Job
	assumed map[string]*demand.Job
	given   map[string]demand.Reservation
	rules   policies.ResourceRules
}

// book makes a new book of the objects, in an order that is drawn.
func (o *objects) book(t *rapid.T) *book.Book {
	b := book.New()
	var feed []func()
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		feed = append(feed, func() { b.SetNode(o.nodes[name]) })
	}
	for _, uid := range slices.Sorted(maps.Keys(o.pods)) {
		feed = append(feed, func() { b.SetPod(o.pods[uid]) })
	}
	for _, uid := range slices.Sorted(maps.Keys(o.jobs)) {
		feed = append(feed, func() { b.SetJob(o.jobs[uid]) })
	}
	for _, uid := range slices.Sorted(maps.Keys(o.assumed)) {
		feed = append(feed, func() { b.Assume(o.assumed[uid], o.given[uid]) })
	}
	feed = append(feed, func() { b.SetRules(o.rules) })
	for _, f := range rapid.Permutation(feed).Draw(t, "order") {
		f()
	}
	return b
}

// TestRunningBookEqualsRebuiltOne changes a small cluster step by step: at every
// moment the sums add up, and a book made from the objects alone is the same
// (I8). In the end everything goes, and nothing may be left (I4).
func TestRunningBookEqualsRebuiltOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := book.New()
		o := &objects{
			nodes: map[string]*supply.Node{}, pods: map[string]*supply.Pod{}, jobs: map[string]*demand.Job{},
			assumed: map[string]*demand.Job{}, given: map[string]demand.Reservation{},
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			o.step(t, b)
			if err := b.SelfCheck(); err != nil {
				t.Fatal(err)
			}
		}
		b.Tick(later) // nothing more is expected of who was deleted, which no object tells
		again := o.book(t)
		again.Tick(later)
		if err := b.SelfCheck(); err != nil {
			t.Fatal(err)
		}
		if diffs := b.Diff(again); len(diffs) > 0 {
			t.Fatalf("running and rebuilt differ: %v", diffs)
		}
		for uid := range o.pods {
			b.DeletePod(uid)
		}
		for _, uid := range []string{"j0", "j1", "j2"} {
			b.DeleteJob(uid)
		}
		b.Tick(2 * later)
		if diffs := b.Diff(book.New()); len(diffs) > 0 {
			t.Fatalf("left when everything is gone: %v", diffs)
		}
	})
}

func (o *objects) step(t *rapid.T, b *book.Book) {
	uid := fmt.Sprint("j", rapid.IntRange(0, 2).Draw(t, "job"))
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0:
		o.stepNode(t, b)
	case 1, 2, 3:
		p := drawPod(t)
		o.pods[p.UID] = p
		b.SetPod(p)
	case 4:
		gone := fmt.Sprint("p", rapid.IntRange(0, 5).Draw(t, "gone"))
		delete(o.pods, gone)
		b.DeletePod(gone)
	case 5, 6:
		o.jobs[uid] = drawJob(t, uid)
		b.SetJob(o.jobs[uid])
	case 7:
		delete(o.jobs, uid)
		delete(o.assumed, uid)
		b.DeleteJob(uid)
	case 8:
		if j := o.jobs[uid]; j != nil && j.Suspended && o.assumed[uid] == nil {
			o.assumed[uid], o.given[uid] = j, drawReservation(t, uid)
			b.Assume(j, o.given[uid])
			return
		}
		delete(o.assumed, uid)
		b.Settle(uid)
	case 9:
		o.rules = policies.ResourceRules{
			Ignored:     rapid.SampledFrom([][]string{nil, {"ignored.example/*"}}).Draw(t, "ignored"),
			Conversions: drawTable(t),
		}
		b.SetRules(o.rules)
		b.Snapshot()
	}
}

func (o *objects) stepNode(t *rapid.T, b *book.Book) {
	name := fmt.Sprint("n", rapid.IntRange(0, 2).Draw(t, "node"))
	if rapid.Bool().Draw(t, "goes") {
		delete(o.nodes, name)
		b.DeleteNode(name)
		return
	}
	o.nodes[name] = &supply.Node{
		Name: name, Ready: rapid.Bool().Draw(t, "ready"),
		Allocatable: resource.List{gpu: rapid.Int64Range(0, 8).Draw(t, "gpus"), "pods": 10},
	}
	b.SetNode(o.nodes[name])
}

func drawRequests(t *rapid.T) resource.List {
	list := resource.List{"pods": 1, gpu: rapid.Int64Range(0, 3).Draw(t, "gpus each")}
	if rapid.Bool().Draw(t, "asks for what may be ignored") {
		list["ignored.example/x"] = 1
	}
	return list
}

// drawTable converts GPUs and what may be ignored, to units that are the same or not.
func drawTable(t *rapid.T) map[string]map[string]int64 {
	return rapid.SampledFrom([]map[string]map[string]int64{
		nil, {gpu: {"slices": 7}}, {gpu: {"slices": 2, "memory-gi": 80}, "ignored.example/x": {"slices": 1}},
	}).Draw(t, "conversions")
}

func drawPod(t *rapid.T) *supply.Pod {
	p := &supply.Pod{
		UID:      fmt.Sprint("p", rapid.IntRange(0, 5).Draw(t, "pod")),
		Node:     rapid.SampledFrom([]string{"", "n0", "n1", "n2"}).Draw(t, "on"),
		JobUID:   rapid.SampledFrom([]string{"", "j0", "j1", "j2"}).Draw(t, "of"),
		Deleting: rapid.Bool().Draw(t, "deleting"), DeletingSince: rapid.Int64Range(0, 3).Draw(t, "since"), Ready: rapid.Bool().Draw(t, "pod ready"), Gated: rapid.Bool().Draw(t, "gated"),
		Started:  rapid.Bool().Draw(t, "started"),
		Requests: drawRequests(t),
	}
	if rapid.Bool().Draw(t, "says whom to charge") {
		p.Queue = rapid.SampledFrom([]string{"q", "r"}).Draw(t, "queue")
		p.Flavors = map[string]string{"pods": rapid.SampledFrom([]string{"f", "g"}).Draw(t, "flavor"), gpu: "f"}
		if rapid.Bool().Draw(t, "was charged as slices") {
			p.Flavors["slices"] = "g"
		}
	}
	return p
}

func drawReservation(t *rapid.T, uid string) demand.Reservation {
	return demand.Reservation{UID: uid, Queue: rapid.SampledFrom([]string{"q", "r"}).Draw(t, "reserved in"), Time: 7,
		PodSets: []demand.ReservedPodSet{{
			Name: "main", Count: 2, Requests: drawRequests(t), Flavors: map[string]string{"pods": "f"},
			NodeSelector: rapid.SampledFrom([]map[string]string{nil, {"kind": "f"}}).Draw(t, "injected"),
		}}}
}

func drawJob(t *rapid.T, uid string) *demand.Job {
	j := &demand.Job{
		UID: uid, Suspended: rapid.Bool().Draw(t, "suspended"), Finished: rapid.IntRange(0, 4).Draw(t, "finished") == 0,
		Deleting: rapid.IntRange(0, 4).Draw(t, "job deleting") == 0,
		PodSets:  []demand.PodSet{{Name: "main", Count: rapid.Int64Range(0, 4).Draw(t, "wants"), Requests: drawRequests(t)}},
	}
	if rapid.Bool().Draw(t, "reserved") {
		r := drawReservation(t, uid)
		j.Reservation = &r
	}
	return j
}

func TestRoomIsNotKeptForWhoHasHadIt(t *testing.T) {
	by := &demand.Job{UID: "by", Reservation: &demand.Reservation{UID: "by", Queue: "q", Time: 2, PodSets: []demand.ReservedPodSet{{Name: "main", Count: 1}}}}
	over := *by
	over.Finished = true
	takenBack := func(at int64) *demand.Job {
		return &demand.Job{UID: "by", Suspended: true, Preempted: &demand.Preempted{UID: "by", By: "third", Time: at}}
	}
	gave := &demand.Job{UID: "gave", Suspended: true, Preempted: &demand.Preempted{UID: "gave", By: "by", Time: 1}}
	for name, c := range map[string]struct {
		by   *demand.Job
		kept bool
	}{
		"it runs": {by, false}, "it is over": {&over, false},
		"it made room itself since then":              {takenBack(3), false},
		"it made room itself before, and waits":       {takenBack(0), true},
		"it waits, and nobody else had to do with it": {&demand.Job{UID: "by", Suspended: true}, true},
	} {
		for seen, order := range map[string][]*demand.Job{"and is seen first": {c.by, gave}, "and is seen last": {gave, c.by}} {
			t.Run(name+", "+seen, func(t *testing.T) {
				b := book.New()
				for _, j := range order {
					b.SetJob(j)
				}
				kept := slices.ContainsFunc(b.Snapshot().Leaving(), func(e *book.Entry) bool { return e.UID() == "gave" })
				if kept != c.kept {
					t.Fatalf("room is kept that was made for it: %t, want %t", kept, c.kept)
				}
			})
		}
	}
}
