package book

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// busy is a book with something in each of its sums.
func busy() *Book {
	b := New()
	b.SetNode(&supply.Node{Name: "n1", Ready: true, Allocatable: resource.List{"gpu": 8, "pods": 9}})
	one := resource.List{"gpu": 1, "pods": 1}
	flavors := map[string]string{"gpu": "f", "pods": "f"}
	job := func(uid string) *demand.Job {
		return &demand.Job{UID: uid, Suspended: true, PodSets: []demand.PodSet{{Name: "main", Count: 3, Requests: one}}}
	}
	runs, loose, going := job("runs"), job("loose"), job("going")
	runs.Suspended = false
	runs.Reservation = &demand.Reservation{UID: "runs", Queue: "q", Time: 1, PodSets: []demand.ReservedPodSet{
		{Name: "main", Count: 3, Requests: one, Flavors: flavors},
	}}
	loose.Suspended = false
	for _, j := range []*demand.Job{runs, loose, going, job("waits")} {
		b.SetJob(j)
	}
	b.SetNamespaceQuota(&nsquota.Quota{Name: "q", Rows: []nsquota.Row{{Name: "pods", Of: nsquota.Pods, Hard: 9}}})
	b.SetPod(&supply.Pod{UID: "p1", Node: "n1", JobUID: "runs", Requests: one, Queue: "q", Flavors: flavors, Ready: true})
	b.SetPod(&supply.Pod{UID: "p2", JobUID: "runs", Requests: one, Queue: "q", Flavors: flavors})
	b.SetPod(&supply.Pod{UID: "p3", Requests: one})
	b.SetPod(&supply.Pod{UID: "p4", Node: "n1", JobUID: "going", Requests: one, Queue: "q", Flavors: flavors, Deleting: true})
	b.SetPod(&supply.Pod{UID: "p5", Node: "gone", Requests: one, Queue: "q", Flavors: flavors})
	return b
}

// TestRebuildHealsEverySum spoils each sum in turn: the audit names it, and after
// Rebuild the book is what it was, for whoever reads only what is new, too.
func TestRebuildHealsEverySum(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Book)
		names string
	}{
		"charge of a queue":    {func(b *Book) { b.usage[quota.Key{Queue: "q", Flavor: "f", Resource: "gpu"}] = resource.Wide{} }, "charge q f gpu"},
		"charge of nobody":     {func(b *Book) { b.charge(quota.Key{Queue: "x", Flavor: "f", Resource: "gpu"}, 1) }, "charge x f gpu"},
		"promise":              {func(b *Book) { clear(b.promises) }, "promise "},
		"rival":                {func(b *Book) { clear(b.pending) }, "rival "},
		"held on a node":       {func(b *Book) { b.nodes.Hold("n1", b.pods["p1"].holds) }, "held n1 gpu"},
		"held on none":         {func(b *Book) { b.nodes.Hold("n2", b.pods["p1"].holds) }, "held n2 gpu"},
		"admitted":             {func(b *Book) { clear(b.admitted) }, "admitted q"},
		"queued":               {func(b *Book) { clear(b.queued) }, "queued waits"},
		"going":                {func(b *Book) { clear(b.leaving) }, "going going"},
		"loose":                {func(b *Book) { clear(b.loose) }, "loose loose gpu"},
		"pods of a namespace":  {func(b *Book) { clear(b.spaces[""].pods) }, "pods of namespace "},
		"owed in a namespace":  {func(b *Book) { clear(b.spaces[""].owed) }, "owed in namespace  runs"},
		"all that a Job holds": {func(b *Book) { b.uncount(b.entries["runs"]); b.refresh(b.entries["runs"]) }, "promise "},
	} {
		t.Run(name, func(t *testing.T) {
			b := busy()
			mark := b.Snapshot().Since(Mark{}).Mark
			have, _ := b.Snapshot().Machines()
			c.spoil(b)
			diffs := b.Audit().Check()
			if !slices.ContainsFunc(diffs, func(d string) bool { return strings.HasPrefix(d, c.names) }) {
				t.Fatalf("the audit says %q, and nothing of %q", diffs, c.names)
			}
			b.Rebuild()
			if err := b.SelfCheck(); err != nil {
				t.Error(err)
			}
			if diffs := b.Diff(busy()); len(diffs) > 0 {
				t.Errorf("it is not what it was: %q", diffs)
			}
			if !b.Snapshot().Since(mark).All {
				t.Error("a reader of what is new is not told to read everything")
			}
			if now, _ := b.Snapshot().Machines(); now == have {
				t.Error("the machines look as if nothing had changed")
			}
			want := busy().Snapshot()
			shape := want.Shape(demand.Place{}, resource.List{"gpu": 1})
			mine := b.Snapshot().Shape(demand.Place{}, resource.List{"gpu": 1})
			if got, want := b.Snapshot().Room().Slots(mine), want.Room().Slots(shape); got != want {
				t.Errorf("%d slots are free, want %d", got, want)
			}
		})
	}
}

// TestAuditIsOfOneMoment: what changes after the copy was taken is no difference.
func TestAuditIsOfOneMoment(t *testing.T) {
	b := busy()
	audit, done := b.Audit(), make(chan []string)
	go func() { done <- audit.Check() }()
	for _, uid := range slices.Sorted(maps.Keys(b.pods)) {
		b.DeletePod(uid)
	}
	for _, uid := range []string{"runs", "loose", "going", "waits"} {
		b.DeleteJob(uid)
	}
	b.DeleteNode("n1")
	if diffs := <-done; len(diffs) > 0 {
		t.Error(diffs)
	}
}
