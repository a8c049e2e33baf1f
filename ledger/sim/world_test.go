package sim_test

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const (
	gpu    = "nvidia.com/gpu"
	part   = "nvidia.com/mig-1g.10gb"
	second = int64(1e9)
	start  = 1_000_000 * second
)

// wanted narrows down what worlds are drawn.
type wanted struct {
	queues      int
	jobs        int
	oneFlavor   bool
	noCohort    bool
	noPreempt   bool
	allStrict   bool
	noMinCount  bool
	instant     bool // nothing takes time but what pods do
	outside     bool // nodes, policy, priorities change, and Jobs are deleted
	bigMachines bool // quota is all that there can be too little of
	preempts    bool // every queue lets the more important displace others
	noCaps      bool // queues may run as many Jobs as they have room for
	noBackfill  bool // no queue lets Jobs overtake its head
	units       bool // cards may be charged in slices, and parts of them asked for
	plain       bool // no Backfill, no caps on counts, no minimum run times
	crowd       bool // all queues are in one cohort, not by shares, and only take back what is theirs; large Jobs come first
}

func pick[T any](t *rapid.T, what string, of ...T) T { return rapid.SampledFrom(of).Draw(t, what) }

func some(t *rapid.T, what string, most int64) *int64 {
	if rapid.Bool().Draw(t, "no "+what) {
		return nil
	}
	n := rapid.Int64Range(0, most).Draw(t, what)
	return &n
}

func drawWeight(t *rapid.T) *policies.Weight {
	w := pick[policies.Weight](t, "weight", 1_000_000, 0, 500_000, 2_000_000)
	if w == 1_000_000 {
		return nil
	}
	return &w
}

func drawWorld(t *rapid.T, want wanted) sim.World {
	w := sim.World{Catalog: drawCatalog(t, want), Seed: rapid.Uint64().Draw(t, "seed")}
	if !want.instant {
		w.Delays = sim.Delays{
			Write: pick(t, "write", 0, second), React: pick(t, "react", 0, second/2), Schedule: pick(t, "schedule", 0, second),
			Ready: 2 * second, Grace: pick(t, "grace", 0, 5*second, 40*second),
		}
	}
	for _, n := range drawNodes(t, want) {
		w.Changes = append(w.Changes, sim.Change{At: start, Node: n})
	}
	for i := range rapid.IntRange(1, want.jobs).Draw(t, "jobs") {
		job := drawWorkload(t, want, w.Catalog, i)
		w.Changes = append(w.Changes, sim.Change{At: start + drawArrival(t, want, job), Arrive: job})
	}
	if want.outside {
		w.Until = start + 3600*second // whose machines are gone for good tries again for ever
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			w.Changes = append(w.Changes, drawChange(t, want))
		}
	}
	return w
}

// drawArrival is when a Job comes: of a crowd the large ones first, so that small ones
// meet those who want some of it back.
func drawArrival(t *rapid.T, want wanted, job *sim.Workload) int64 {
	switch {
	case !want.crowd:
		return rapid.Int64Range(0, 60).Draw(t, "arrives") * second
	case rapid.IntRange(0, 2).Draw(t, "large") == 0:
		return 0
	}
	job.PodSets[0].Count = 1
	return 5 * second
}

func drawCatalog(t *rapid.T, want wanted) *policies.Catalog {
	c := &policies.Catalog{
		Flavors: map[string]policies.Flavor{"a": {NodeLabels: map[string]string{"kind": "a"}}},
		Queues:  map[string]policies.Queue{}, Cohorts: map[string]policies.Cohort{},
	}
	flavors := []string{"a"}
	if !want.oneFlavor && rapid.Bool().Draw(t, "two flavors") {
		flavors = []string{"a", "b"}
		c.Flavors["b"] = policies.Flavor{
			NodeLabels: map[string]string{"kind": "b"}, Verify: pick(t, "verify", policies.VerifyNodes, policies.VerifyNone),
		}
	}
	if !want.noCohort && !want.crowd && rapid.Bool().Draw(t, "fair") {
		c.FairSharing = policies.FairSharing{Enabled: true, Strategies: pick(t, "strategies", nil,
			[]policies.ShareStrategy{policies.LessThanOrEqualToFinalShare}, []policies.ShareStrategy{policies.LessThanInitialShare},
			[]policies.ShareStrategy{policies.LessThanOrEqualToFinalShare, policies.LessThanInitialShare})}
	}
	if !want.noCohort {
		for _, name := range []string{"left", "right"} {
			g := policies.Cohort{Parent: pick(t, "parent", "", "top"), Weight: drawWeight(t)}
			if rapid.IntRange(0, 3).Draw(t, "own quota") == 0 {
				g.Quota = drawQuota(t, flavors, true)
			}
			c.Cohorts[name] = g
		}
	}
	for i := range rapid.IntRange(1, want.queues).Draw(t, "queues") {
		c.Queues[fmt.Sprint("q", i)] = drawQueue(t, want, flavors)
	}
	if want.units && rapid.Bool().Draw(t, "slices") {
		inSlices(t, c)
	}
	return c
}

// inSlices has cards and parts of them charged in slices, by the quota that there was of
// cards.
func inSlices(t *rapid.T, c *policies.Catalog) {
	each := rapid.Int64Range(1, 4).Draw(t, "slices of a card")
	c.Resources.Conversions = map[string]map[string]int64{gpu: {"slices": each}, part: {"slices": 1}}
	renamed := func(quota map[string]map[string]policies.Limit) {
		for _, limits := range quota {
			limits["slices"] = limits[gpu]
			delete(limits, gpu)
		}
	}
	for _, name := range sortedNames(c.Cohorts) {
		renamed(c.Cohorts[name].Quota)
	}
	for _, name := range sortedNames(c.Queues) {
		renamed(c.Queues[name].Quota)
		for i, g := range c.Queues[name].Groups {
			if slices.Contains(g.Resources, gpu) {
				c.Queues[name].Groups[i].Resources = []string{"slices"}
			}
		}
	}
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func drawQuota(t *rapid.T, flavors []string, borrow bool) map[string]map[string]policies.Limit {
	quota := map[string]map[string]policies.Limit{}
	cpu := rapid.Bool().Draw(t, "limits cpu")
	for _, f := range flavors {
		quota[f] = map[string]policies.Limit{}
		for _, name := range []string{gpu, "cpu"} {
			if name == "cpu" && !cpu {
				continue
			}
			limit := policies.Limit{Nominal: rapid.Int64Range(0, 6).Draw(t, "quota of "+name)}
			if borrow {
				limit.BorrowingLimit, limit.LendingLimit = some(t, "borrow", 4), some(t, "lend", limit.Nominal)
			}
			quota[f][name] = limit
		}
	}
	return quota
}

func drawQueue(t *rapid.T, want wanted, flavors []string) policies.Queue {
	q := policies.Queue{
		Namespaces: policies.NamespaceRule{All: true}, Flavors: slices.Clone(flavors),
		Strategy: pick(t, "strategy", policies.BestEffortFIFO, policies.StrictFIFO), Weight: drawWeight(t),
	}
	switch {
	case want.allStrict:
		q.Strategy = policies.StrictFIFO
	case want.plain, want.noBackfill:
	case rapid.IntRange(0, 3).Draw(t, "backfills") == 0:
		q.Strategy = policies.Backfill
	}
	if !want.plain && !want.noCaps && rapid.IntRange(0, 3).Draw(t, "has a cap") == 0 {
		most := rapid.Int64Range(1, 3).Draw(t, "most Jobs")
		q.MaxWorkloads = &most
	}
	if !want.noCohort {
		q.Cohort = pick(t, "cohort", "left", "right", "top", "")
	}
	if want.crowd {
		q.Cohort = "left"
	}
	q.Quota = drawQuota(t, flavors, q.Cohort != "")
	if _, limited := q.Quota["a"]["cpu"]; limited && rapid.Bool().Draw(t, "groups") {
		q.Groups = []policies.Group{{Resources: []string{gpu}, Flavors: flavors}, {Resources: []string{"cpu"}, Flavors: flavors}}
	}
	q.Fungibility = policies.Fungibility{
		WhenCanBorrow:  pick(t, "when can borrow", policies.MayStopSearch, policies.TryNextFlavor),
		WhenCanPreempt: pick(t, "when can preempt", policies.TryNextFlavor, policies.MayStopSearch),
		Preference:     pick(t, "preference", policies.BorrowingOverPreemption, policies.PreemptionOverBorrowing),
	}
	if want.preempts {
		q.Preemption.WithinQueue = policies.VictimsLowerPriority
	} else if !want.noPreempt {
		q.Preemption = policies.Preemption{
			WithinQueue:         pick(t, "within queue", policies.VictimsNever, policies.VictimsLowerPriority, policies.VictimsLowerOrNewerEqual),
			ReclaimWithinCohort: pick(t, "reclaim", policies.VictimsNever, policies.VictimsLowerPriority, policies.VictimsAny),
		}
		if pick(t, "borrows by priority", false, true) {
			q.Preemption.BorrowWithinCohort = policies.BorrowVictim{Policy: policies.VictimsLowerPriority, MaxPriorityThreshold: some(t, "threshold", 3)}
		}
	}
	if want.crowd {
		q.Preemption = policies.Preemption{ReclaimWithinCohort: policies.VictimsAny}
	}
	return q
}

func drawNodes(t *rapid.T, want wanted) []*supply.Node {
	if want.bigMachines {
		return []*supply.Node{node("a0", "a", 10_000), node("b0", "b", 10_000)}
	}
	// Of b there is enough: where it is not verified, nobody is to wait for machines.
	nodes := []*supply.Node{node("b0", "b", 10_000)}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		nodes = append(nodes, node(fmt.Sprint("a", i), "a", rapid.Int64Range(1, 8).Draw(t, "gpus")))
	}
	return nodes
}

func node(name, kind string, gpus int64) *supply.Node {
	return &supply.Node{
		Name: name, Labels: map[string]string{"kind": kind}, Ready: true,
		Allocatable: resource.List{"cpu": 10_000, "pods": 10_000, gpu: gpus, part: gpus},
	}
}

func drawWorkload(t *rapid.T, want wanted, c *policies.Catalog, i int) *sim.Workload {
	name := fmt.Sprint("j", i)
	set := demand.PodSet{Name: "main", Count: rapid.Int64Range(1, 4).Draw(t, "pods"), Requests: resource.List{"pods": 1}}
	if !want.noMinCount && rapid.IntRange(0, 3).Draw(t, "partly") == 0 {
		set.MinCount = rapid.Int64Range(1, set.Count).Draw(t, "at least")
	}
	if n := rapid.Int64Range(0, 3).Draw(t, "gpus of a pod"); n > 0 {
		set.Requests[gpu] = n
	}
	if n := rapid.Int64Range(0, 2).Draw(t, "cores of a pod"); n > 0 {
		set.Requests["cpu"] = n
	}
	if want.units {
		if n := rapid.Int64Range(0, 2).Draw(t, "parts of a pod"); n > 0 {
			set.Requests[part] = n
		}
	}
	job := &sim.Workload{
		UID: name, Namespace: "team", Name: name, PodSets: []demand.PodSet{set}, Runs: rapid.Int64Range(1, 30).Draw(t, "runs") * second,
		Verdict: policies.Verdict{
			Queue: fmt.Sprint("q", rapid.IntRange(0, len(c.Queues)-1).Draw(t, "queue")), Priority: rapid.Int64Range(0, 3).Draw(t, "priority"),
		},
	}
	if want.plain {
		return job
	}
	if rapid.IntRange(0, 3).Draw(t, "is left in peace") == 0 {
		job.Verdict.MinRuntimeSeconds = rapid.Int64Range(1, 40).Draw(t, "for at least")
	}
	if rapid.Bool().Draw(t, "says when it is over") {
		job.Policy = &policies.Workload{ActiveDeadlineSec: job.Runs/second + 1}
	}
	return job
}

func drawChange(t *rapid.T, want wanted) sim.Change {
	c := sim.Change{At: start + rapid.Int64Range(1, 120).Draw(t, "at")*second}
	uid := fmt.Sprint("j", rapid.IntRange(0, want.jobs-1).Draw(t, "whom"))
	switch rapid.IntRange(0, 4).Draw(t, "what changes") {
	case 0:
		c.Delete = uid
	case 1:
		c.Prioritize = &sim.Priority{UID: uid, Priority: rapid.Int64Range(0, 3).Draw(t, "new priority")}
	case 2:
		c.Node = node(fmt.Sprint("a", rapid.IntRange(1, 3).Draw(t, "node")), "a", rapid.Int64Range(0, 8).Draw(t, "gpus"))
	case 3:
		c.NodeGone = fmt.Sprint("a", rapid.IntRange(1, 3).Draw(t, "node"))
	default:
		c.Catalog = drawCatalog(t, want)
	}
	return c
}
