package decide

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/policies"
)

// Limits makes the quotas of a catalog's queues and cohorts ready to count with.
// It fails on cohorts that are their own ancestors.
func Limits(catalog *policies.Catalog) (*quota.Limits, error) {
	var queues, cohorts []quota.Member
	for name, q := range catalog.Queues {
		m := quota.Member{Name: name, Cohort: q.Cohort, Weight: weight(q.Weight), Limits: map[quota.Pair]quota.Limit{}}
		for _, pair := range pairsOf(q) {
			m.Limits[pair] = limitOf(q.Quota[pair.Flavor][pair.Resource])
		}
		queues = append(queues, m)
	}
	for name, c := range catalog.Cohorts {
		m := quota.Member{Name: name, Cohort: c.Parent, Weight: weight(c.Weight), Limits: map[quota.Pair]quota.Limit{}}
		for flavor, limits := range c.Quota {
			for resourceName, limit := range limits {
				m.Limits[quota.Pair{Flavor: flavor, Resource: resourceName}] = limitOf(limit)
			}
		}
		cohorts = append(cohorts, m)
	}
	return quota.Compile(queues, cohorts)
}

func limitOf(l policies.Limit) quota.Limit {
	return quota.Limit{Nominal: l.Nominal, Borrow: l.BorrowingLimit, Lend: l.LendingLimit}
}

func weight(w *policies.Weight) int64 {
	if w == nil {
		return quota.WholeWeight
	}
	return int64(*w)
}

// pairsOf is every resource that a quota of the queue names, on every flavor that
// may give it: one without a quota of it has 0.
func pairsOf(q policies.Queue) []quota.Pair {
	var pairs []quota.Pair
	for _, g := range groupsOf(q) {
		for _, flavor := range g.Flavors {
			for _, resourceName := range g.Resources {
				pairs = append(pairs, quota.Pair{Flavor: flavor, Resource: resourceName})
			}
		}
	}
	return pairs
}

// groupsOf is the queue's groups of resources; without any, all that its quotas
// name are one, on all of its flavors.
func groupsOf(q policies.Queue) []policies.Group {
	if len(q.Groups) > 0 {
		return q.Groups
	}
	named, flavors := map[string]bool{}, slices.Clone(q.Flavors)
	for _, flavor := range slices.Sorted(maps.Keys(q.Quota)) {
		if !slices.Contains(flavors, flavor) {
			flavors = append(flavors, flavor)
		}
		for resourceName := range q.Quota[flavor] {
			named[resourceName] = true
		}
	}
	return []policies.Group{{Resources: slices.Sorted(maps.Keys(named)), Flavors: flavors}}
}

func (p *planner) newLine(name string, q policies.Queue) *line {
	l := &line{
		name: name, queue: q, strict: q.Strict(), kinds: map[string]policies.ResourceClass{},
		node: p.base.Queue(name), groupOf: map[string]int{},
	}
	for i, g := range groupsOf(q) {
		own := group{flavors: g.Flavors}
		if len(q.Groups) == 0 {
			own.flavors = q.Flavors
		}
		l.groups = append(l.groups, own)
		for _, resourceName := range g.Resources {
			l.groupOf[resourceName] = i
		}
	}
	for _, flavor := range q.Flavors {
		if _, there := p.Catalog.Flavors[flavor]; !there {
			l.missing = flavor
		}
	}
	displaces := func(v policies.Victims) bool { return v != "" && v != policies.VictimsNever }
	rights := q.Preemption
	l.displacesToBorrow = displaces(rights.BorrowWithinCohort.Policy) ||
		p.Catalog.FairSharing.Enabled && displaces(rights.ReclaimWithinCohort)
	l.displaces = displaces(rights.WithinQueue) || displaces(rights.ReclaimWithinCohort) || l.displacesToBorrow
	return l
}

// charge counts what is used by a queue of the policy.
func (p *planner) charge(k quota.Key, amount int64) {
	if node, pair := p.row(k); node != quota.None && pair != quota.None {
		p.tree.Add(node, pair, amount)
	}
}

// row is where something is charged in the tree: nowhere if the queue does not
// limit it, whoever else does, as nothing is charged for it when a Job starts.
func (p *planner) row(k quota.Key) (quota.NodeID, quota.PairID) {
	l := p.lines[k.Queue]
	if l == nil {
		return quota.None, quota.None
	}
	if _, limited := l.groupOf[k.Resource]; !limited {
		return quota.None, quota.None
	}
	return l.node, p.base.Pair(k.Flavor, k.Resource)
}

// chargeLoose charges a Job that was never admitted to its queue, on the first
// flavor that its pods agree with. A queue that does not take the Jobs of the
// namespace has nothing to do with it: anybody can write a label.
func (p *planner) chargeLoose(loose book.Loose) {
	j := loose.Entry.Job()
	l := p.lines[p.queueOf(j)]
	if l == nil || len(l.queue.Flavors) == 0 || !p.accepted(l, j.Namespace) {
		return
	}
	flavor := l.queue.Flavors[0]
	for _, name := range l.queue.Flavors {
		if len(j.PodSets) > 0 && agrees(name, p.Catalog.Flavors[name], j.PodSets[0].Place) == nil {
			flavor = name
			break
		}
	}
	for _, name := range loose.Amount.Names() {
		p.charge(quota.Key{Queue: l.name, Flavor: flavor, Resource: name}, loose.Amount[name])
	}
}

// has tells whether the policy has the queue and the queue the flavor.
func (p *planner) has(queue, flavor string) bool {
	l := p.lines[queue]
	if l == nil {
		return false
	}
	_, limited := l.queue.Quota[flavor]
	return limited || slices.Contains(l.queue.Flavors, flavor)
}

// capacity is what the machines of each flavor have, for hold.
func (p *planner) capacity() map[string]policies.FlavorCapacity {
	all := map[string]policies.FlavorCapacity{}
	counted := countedIn(p.Snapshot, p.rates)
	for name, f := range p.Catalog.Flavors {
		shape := flavorShape(p.Snapshot, f)
		amounts := policies.FlavorCapacity{}
		for resourceName, sources := range counted {
			t := p.Snapshot.Room().Totals(shape, sources...)
			unhealthy := stockOf(p.Snapshot, shape, sources).Unhealthy
			if t.Allocatable > 0 || t.Held > 0 || unhealthy > 0 {
				amounts[resourceName] = policies.CapacityAmount{
					Allocatable: t.Allocatable, Unhealthy: unhealthy, Held: t.Held, Free: t.Free, LargestSlot: t.Largest,
					Promised: p.machines.promisedOf(shape, sources),
				}
			}
		}
		all[name] = amounts
	}
	return all
}

func tolerating(taints []policies.Taint) []policies.Toleration {
	all := make([]policies.Toleration, 0, len(taints))
	for _, t := range taints {
		all = append(all, policies.Toleration{Key: t.Key, Operator: "Exists", Effect: t.Effect})
	}
	return all
}
