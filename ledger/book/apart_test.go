package book_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// away is an anti-affinity to pods of an app.
func away(app string) []demand.Apart {
	return []demand.Apart{{
		Name: resource.Apart("app=" + app), Namespaces: []string{"team"},
		Labels: []demand.NodeRequirement{{Key: "app", Operator: "In", Values: []string{app}}},
	}}
}

func app(name string) map[string]string { return map[string]string{"app": name} }

// apartPod is bound, with an app and those it keeps away from.
func apartPod(name, node, of string, from []demand.Apart) *supply.Pod {
	return &supply.Pod{
		UID: name, Namespace: "team", Name: name, Node: node, Started: true, Requests: resource.List{"pods": 1},
		Labels: app(of), Place: demand.Place{Apart: from},
	}
}

func apartJob(name, of string, place demand.Place) *demand.Job {
	return &demand.Job{
		UID: name, Namespace: "team", Name: name, Suspended: true,
		PodSets: []demand.PodSet{{Name: "main", Count: 1, Requests: resource.List{"pods": 1}, Place: place, Labels: app(of)}},
	}
}

func slotsOf(b *book.Book) map[string]int64 {
	slots := map[string]int64{}
	for _, e := range b.Snapshot().Queued() {
		slots[e.Job().Name] = b.Nodes().Room().Slots(e.Form().Sets[0].Shape)
	}
	return slots
}

func TestPodsThatKeepApartAreNotPutTogether(t *testing.T) {
	port := demand.Place{Once: resource.List{resource.Port("TCP", "80"): resource.Whole}}
	for _, c := range []struct {
		name string
		pod  *supply.Pod
		job  *demand.Job
		want int64 // of two nodes with room for 10 each, the pod on one
	}{
		{"a sibling of another Job", apartPod("p", "n1", "red", away("red")), apartJob("j", "red", demand.Place{Apart: away("red")}), 1},
		{"one of those it keeps away from", apartPod("p", "n1", "red", nil), apartJob("j", "blue", demand.Place{Apart: away("red")}), 10},
		{"one that keeps away from it", apartPod("p", "n1", "blue", away("red")), apartJob("j", "red", demand.Place{}), 10},
		{"one that keeps away from the same", apartPod("p", "n1", "blue", away("red")), apartJob("j", "blue", demand.Place{Apart: away("red")}), 20},
		{"one that keeps away from others", apartPod("p", "n1", "blue", away("green")), apartJob("j", "red", demand.Place{}), 20},
		{"one of the same app, where nobody keeps away", apartPod("p", "n1", "red", nil), apartJob("j", "red", demand.Place{}), 20},
		{"one with the same port", &supply.Pod{UID: "p", Node: "n1", Place: port}, apartJob("j", "", port), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, first := range []string{"pod", "job"} {
				b := book.New()
				b.SetNode(apartNode("n1"))
				b.SetNode(apartNode("n2"))
				if first == "job" {
					b.SetJob(c.job)
				}
				b.SetPod(c.pod)
				b.SetJob(c.job)
				want := c.want
				if want == 20 {
					want-- // the pod takes a slot itself
				}
				if c.pod.Requests == nil {
					want = c.want
				}
				if got := slotsOf(b)["j"]; got != want {
					t.Errorf("the %s comes first: %d slots, want %d", first, got, want)
				}
				if err := b.SelfCheck(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func apartNode(name string) *supply.Node {
	return &supply.Node{Name: name, Ready: true, Allocatable: resource.List{"pods": 10}}
}

// In whatever order pods and Jobs come and change, the same is free in the end.
func TestAnAntiAffinityCountsWheneverItIsHeardOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		apps := []string{"red", "green"}
		one, other := book.New(), book.New()
		for _, b := range []*book.Book{one, other} {
			b.SetNode(apartNode("n0"))
			b.SetNode(apartNode("n1"))
		}
		draw := func(i int) *supply.Pod {
			var from []demand.Apart
			if rapid.IntRange(0, 2).Draw(t, "keeps away") == 0 {
				from = away(rapid.SampledFrom(apps).Draw(t, "from"))
			}
			node := rapid.SampledFrom([]string{"", "n0", "n1"}).Draw(t, "node")
			return apartPod(fmt.Sprint("p", i), node, rapid.SampledFrom(apps).Draw(t, "app"), from)
		}
		last := map[int]*supply.Pod{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			i := rapid.IntRange(0, 4).Draw(t, "pod")
			last[i] = draw(i)
			one.SetPod(last[i])
		}
		var jobs []*demand.Job
		for i, of := range apps {
			jobs = append(jobs, apartJob(fmt.Sprint("j", i), of, demand.Place{Apart: away(rapid.SampledFrom(apps).Draw(t, "job keeps away from"))}))
			one.SetJob(jobs[i])
		}
		for i := len(jobs) - 1; i >= 0; i-- {
			other.SetJob(jobs[i])
		}
		for i := 4; i >= 0; i-- {
			if last[i] != nil {
				other.SetPod(last[i])
			}
		}
		if diff := cmp.Diff(slotsOf(other), slotsOf(one)); diff != "" {
			t.Fatalf("slots (-Jobs first +pods first):\n%s", diff)
		}
		for _, b := range []*book.Book{one, other} {
			if err := b.SelfCheck(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What a node has once is the machines' own: no quota sees it.
func TestWhatANodeHasOnceIsChargedToNobody(t *testing.T) {
	b := book.New()
	b.SetNode(apartNode("n1"))
	p := apartPod("p", "n1", "red", away("red"))
	p.Queue, p.Flavors = "q", map[string]string{"pods": "any"}
	p.Place.Once = resource.List{resource.Port("TCP", "80"): resource.Whole}
	b.SetPod(p)
	if diff := cmp.Diff([]string{"pods"}, b.Snapshot().Resources()); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	for key := range b.Usage() {
		if resource.IsOnce(key.Resource) {
			t.Errorf("%s is charged", key.Resource)
		}
	}
}

// A thing of its own for every Job must not widen the rows for ever.
func TestBeyondWhatIsToldApartANodeStillTakesOneOfAJob(t *testing.T) {
	b := book.New()
	b.SetNode(apartNode("n1"))
	for i := range 100 {
		port := demand.Place{Once: resource.List{resource.Port("TCP", fmt.Sprint(i)): resource.Whole}}
		b.SetJob(apartJob(fmt.Sprint("j", i), "", port))
	}
	for name, n := range slotsOf(b) {
		if n != 1 {
			t.Errorf("%s has %d slots on one node, want 1", name, n)
		}
	}
}
