package decide_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// cluster is a world as plain lists, so that books can be made of it in any
// order.
type cluster struct {
	nodes   []*supply.Node
	pods    []*supply.Pod
	jobs    []*demand.Job
	catalog *policies.Catalog
	given   map[string]decide.Outcome
}

func (c *cluster) book(r *rand.Rand) *book.Book {
	var feed []func(*book.Book)
	for _, n := range c.nodes {
		feed = append(feed, func(b *book.Book) { b.SetNode(n) })
	}
	for _, p := range c.pods {
		feed = append(feed, func(b *book.Book) { b.SetPod(p) })
	}
	for _, j := range c.jobs {
		feed = append(feed, func(b *book.Book) { b.SetJob(j) })
	}
	if r != nil {
		r.Shuffle(len(feed), func(i, k int) { feed[i], feed[k] = feed[k], feed[i] })
	}
	b := book.New()
	for _, f := range feed {
		f(b)
	}
	return b
}

func (c *cluster) input(b *book.Book) decide.Input {
	return decide.Input{Snapshot: b.Snapshot(), Catalog: c.catalog, Verdicts: c.given, Revision: "r1", Now: start}
}

func drawCluster(t *rapid.T, queues int) *cluster {
	c := &cluster{catalog: &policies.Catalog{}, given: map[string]decide.Outcome{}}
	c.catalog.Flavors = map[string]policies.Flavor{
		"any": {}, "east": {NodeLabels: map[string]string{"zone": "east"}}, "west": {NodeLabels: map[string]string{"zone": "west"}},
	}
	c.catalog.Queues = map[string]policies.Queue{}
	for i := range queues {
		q := policies.Queue{Namespaces: policies.NamespaceRule{All: true}, Quota: map[string]map[string]policies.Limit{}}
		q.Flavors = rapid.SampledFrom([][]string{{"any"}, {"east", "west"}, {"west", "any"}}).Draw(t, "flavors")
		for _, f := range q.Flavors {
			q.Quota[f] = map[string]policies.Limit{gpu: {Nominal: rapid.Int64Range(0, 12).Draw(t, "quota")}}
			if rapid.Bool().Draw(t, "limits cpu") {
				q.Quota[f]["cpu"] = policies.Limit{Nominal: rapid.Int64Range(0, 12000).Draw(t, "cpu quota")}
			}
		}
		c.catalog.Queues[fmt.Sprint("q", i)] = q
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "nodes") {
		c.nodes = append(c.nodes, &supply.Node{
			Name: fmt.Sprint("n", i), Ready: rapid.IntRange(0, 9).Draw(t, "ready") > 0,
			Labels: map[string]string{"zone": rapid.SampledFrom([]string{"east", "west"}).Draw(t, "zone")},
			Allocatable: resource.List{
				gpu:   rapid.Int64Range(0, 8).Draw(t, "gpus"),
				"cpu": rapid.Int64Range(0, 8).Draw(t, "cores") * 1000, "pods": rapid.Int64Range(1, 8).Draw(t, "slots"),
			},
		})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "strangers") {
		p := &supply.Pod{UID: fmt.Sprint("s", i), Requests: drawRequests(t), Place: drawPlace(t)}
		if len(c.nodes) > 0 && rapid.Bool().Draw(t, "bound") {
			p.Node = rapid.SampledFrom(c.nodes).Draw(t, "node").Name
		}
		c.pods = append(c.pods, p)
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "jobs") {
		c.addJob(t, i, queues)
	}
	return c
}

func (c *cluster) addJob(t *rapid.T, i, queues int) {
	arrival := start + rapid.Int64Range(0, 3).Draw(t, "arrival")
	j := &demand.Job{
		UID: fmt.Sprint("j", i), Namespace: "team", Name: fmt.Sprint("j", i), Suspended: true,
		Arrival: demand.Arrival{Effective: arrival, Stamp: arrival},
		PodSets: []demand.PodSet{{
			Name: "main", Count: rapid.Int64Range(1, 6).Draw(t, "pods"), Requests: drawRequests(t), Place: drawPlace(t),
		}},
	}
	c.jobs = append(c.jobs, j)
	c.given[j.UID] = decide.Outcome{Verdict: policies.Verdict{
		Queue:    fmt.Sprint("q", rapid.IntRange(0, queues-1).Draw(t, "queue")),
		Priority: rapid.Int64Range(0, 2).Draw(t, "priority"),
	}}
}

func drawRequests(t *rapid.T) resource.List {
	list := resource.List{"pods": 1}
	if n := rapid.Int64Range(0, 4).Draw(t, "asks gpu"); n > 0 {
		list[gpu] = n
	}
	if n := rapid.Int64Range(0, 4).Draw(t, "asks cores"); n > 0 {
		list["cpu"] = n * 500
	}
	return list
}

func drawPlace(t *rapid.T) demand.Place {
	switch rapid.IntRange(0, 5).Draw(t, "place") {
	case 0:
		return demand.Place{NodeSelector: map[string]string{"zone": "east"}}
	case 1:
		return demand.Place{Affinity: []demand.NodeTerm{{Labels: []demand.NodeRequirement{{Key: "zone", Operator: "In", Values: []string{"west"}}}}}}
	}
	return demand.Place{}
}

// overQuota is the first row of which more is used than the policy allows.
func overQuota(r decide.Result) string {
	for _, q := range r.Queues {
		for _, row := range q.Rows {
			if row.Usage > row.Nominal {
				return fmt.Sprintf("%+v", row)
			}
		}
	}
	return ""
}

func TestPlanNeverGivesMoreThanTheQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, 3)
		if over := overQuota(decide.Plan(c.input(c.book(nil)))); over != "" {
			t.Fatalf("over quota: %s", over)
		}
	})
}

func TestEveryPodThatIsLetGoFindsANodeWhereverTheOthersLand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, 3)
		r := decide.Plan(c.input(c.book(nil)))
		s := newScheduler(c)
		for _, a := range r.Admit {
			set := a.Reservation.PodSets[0]
			s.queue(book.Inject(a.Job.PodSets[0].Place, a.NodeSelector, a.Tolerations), set.Requests, set.Count)
		}
		s.placeAll(t)
	})
}

func TestSamePlanWhateverTheOrderOfObservations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, 3)
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		one, other := decide.Plan(c.input(c.book(nil))), decide.Plan(c.input(c.book(r)))
		if diff := cmp.Diff(one, other); diff != "" {
			t.Fatalf("plans differ:\n%s", diff)
		}
	})
}

// TestPlanIsAsIfOneByOne holds a plan of one queue against trying its Jobs one
// after the other: nobody is passed over who could have started (I9).
func TestPlanIsAsIfOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, 1)
		together := started(decide.Plan(c.input(c.book(nil))))
		line := slices.Clone(c.jobs)
		slices.SortFunc(line, func(a, b *demand.Job) int {
			if pa, pb := c.given[a.UID].Verdict.Priority, c.given[b.UID].Verdict.Priority; pa != pb {
				return int(pb - pa)
			}
			return demand.CompareArrival(a, b)
		})
		c.jobs = nil
		b := c.book(nil)
		alone := []string{}
		for _, j := range line {
			b.SetJob(j)
			r := decide.Plan(c.input(b))
			if len(r.Admit) == 1 {
				alone = append(alone, j.Name)
				b.Assume(j, r.Admit[0].Reservation)
				continue
			}
			b.DeleteJob(j.UID)
		}
		if diff := cmp.Diff(alone, together); diff != "" {
			t.Fatalf("one by one and together differ (-one by one +together):\n%s", diff)
		}
	})
}
