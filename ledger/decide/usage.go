package decide

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// quotas makes the rows of the policy's queues, with what is in use.
func (p *planner) quotas() *quota.Tree {
	var rows []quota.Row
	for _, l := range p.order {
		for _, key := range limits(l.name, l.queue) {
			rows = append(rows, quota.Row{
				Key: key, Nominal: l.queue.Quota[key.Flavor][key.Resource].Nominal, Usage: p.Snapshot.Usage(key),
			})
		}
	}
	tree := quota.New(rows)
	for _, loose := range p.Snapshot.Loose() {
		p.chargeLoose(tree, loose)
	}
	return tree
}

// limits is every resource that a quota of the queue names, on every flavor.
func limits(name string, q policies.Queue) []quota.Key {
	named := map[string]bool{}
	flavors := map[string]bool{}
	for _, flavor := range q.Flavors {
		flavors[flavor] = true
	}
	for flavor, limits := range q.Quota {
		flavors[flavor] = true
		for resourceName := range limits {
			named[resourceName] = true
		}
	}
	keys := make([]quota.Key, 0, len(flavors)*len(named))
	for _, flavor := range slices.Sorted(maps.Keys(flavors)) {
		for _, resourceName := range slices.Sorted(maps.Keys(named)) {
			keys = append(keys, quota.Key{Queue: name, Flavor: flavor, Resource: resourceName})
		}
	}
	return keys
}

// chargeLoose charges a Job that was never admitted to its queue, on the first
// flavor that its pods agree with. A queue that does not take the Jobs of the
// namespace has nothing to do with it: anybody can write a label.
func (p *planner) chargeLoose(tree *quota.Tree, loose book.Loose) {
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
		tree.Add(quota.Key{Queue: l.name, Flavor: flavor, Resource: name}, loose.Amount[name])
	}
}

// states is every queue after the plan, by name.
func (p *planner) states() []QueueState {
	states := map[string]*QueueState{}
	for _, l := range p.order {
		if l.name == "" {
			continue
		}
		s := &QueueState{Name: l.name, InPolicy: true, Pending: len(l.items) + len(l.parked), Admitted: int(p.Snapshot.Admitted(l.name))}
		for _, it := range l.started {
			if it.state == admitted {
				s.Admitted, s.Pending = s.Admitted+1, s.Pending-1
			}
		}
		states[l.name] = s
	}
	for _, row := range p.tree.Rows() {
		s := states[row.Queue]
		s.Rows = append(s.Rows, row)
	}
	p.leftovers(states)
	sorted := make([]QueueState, 0, len(states))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		sorted = append(sorted, *states[name])
	}
	return sorted
}

// leftovers are rows that something is charged to though the policy no longer
// has the queue, or the queue no longer has the flavor: nothing may be used
// there, and what is shows.
func (p *planner) leftovers(states map[string]*QueueState) {
	for _, row := range p.Snapshot.Charged() {
		if row.Queue == "" || row.Flavor == "" || row.Usage <= 0 || p.offers(row.Queue, row.Flavor) {
			continue
		}
		s := states[row.Queue]
		if s == nil {
			s = &QueueState{Name: row.Queue, Admitted: int(p.Snapshot.Admitted(row.Queue))}
			states[row.Queue] = s
		}
		at, _ := slices.BinarySearchFunc(s.Rows, row, func(a, b quota.Row) int { return quota.CompareKeys(a.Key, b.Key) })
		s.Rows = slices.Insert(s.Rows, at, row)
	}
}

// offers tells whether the policy has the queue and the queue the flavor.
func (p *planner) offers(queue, flavor string) bool {
	l := p.lines[queue]
	if l == nil {
		return false
	}
	_, limited := l.queue.Quota[flavor]
	return limited || slices.Contains(l.queue.Flavors, flavor)
}

// ask puts a Job on the list of those that hold must be asked about, with what
// is used at this place of the plan.
func (p *planner) ask(it *item) {
	p.res.Asks = append(p.res.Asks, it.job.UID)
	if p.res.AskUsage == nil {
		p.res.AskUsage = map[string]policies.Usage{}
	}
	p.res.AskUsage[it.job.UID] = p.usageFor(it)
}

// survey tells the usage of all that wait and were not asked for; it is the same
// for the Jobs of one user in one queue.
func (p *planner) survey() {
	if p.res.AskUsage == nil {
		p.res.AskUsage = map[string]policies.Usage{}
	}
	for _, l := range p.order {
		if l.name == "" {
			continue
		}
		known := map[string]policies.Usage{}
		for _, it := range slices.Concat(l.items, l.parked) {
			if it.state != waits {
				continue
			}
			user := userOf(it.verdict, it.job)
			usage, ok := known[user]
			if !ok {
				usage = p.usageFor(it)
				known[user] = usage
			}
			p.res.AskUsage[it.job.UID] = usage
		}
	}
}

func (p *planner) usageFor(it *item) policies.Usage {
	l, user := it.line, userOf(it.verdict, it.job)
	u := policies.Usage{Queue: policies.ResourceUsage{}, User: policies.ResourceUsage{}}
	for _, row := range p.tree.Rows() {
		if row.Queue == l.name {
			put(u.Queue, row.Resource, row.Flavor, row.Usage, row.Nominal)
			put(u.User, row.Resource, row.Flavor, 0, row.Nominal)
		}
	}
	for _, e := range p.Snapshot.Running(l.name) {
		if userOf(p.Verdicts[e.UID()].Verdict, e.Subject()) != user {
			continue
		}
		u.Running++
		e.EachCharge(func(k quota.Key, n int64) { add(u.User, k, n) })
	}
	for _, other := range l.started {
		if userOf(other.verdict, other.job) == user {
			u.Running++
			for _, c := range other.taken {
				add(u.User, c.key, c.amount)
			}
		}
	}
	for _, items := range [][]*item{l.items, l.parked} {
		for _, other := range items {
			if other.state == waits && userOf(other.verdict, other.job) == user {
				u.Waiting++
			}
		}
	}
	return u
}

func userOf(v policies.Verdict, j *demand.Job) string {
	if v.User != "" || j == nil || j.Policy == nil {
		return v.User
	}
	return j.Policy.User
}

func put(u policies.ResourceUsage, name, flavor string, used, nominal int64) {
	if u[name] == nil {
		u[name] = map[string]policies.UsageAmount{}
	}
	u[name][flavor] = policies.UsageAmount{Used: used, Nominal: nominal}
}

func add(u policies.ResourceUsage, k quota.Key, n int64) {
	if amount, limited := u[k.Resource][k.Flavor]; limited {
		amount.Used = resource.Add(amount.Used, n)
		u[k.Resource][k.Flavor] = amount
	}
}

// capacity is what the machines of each flavor have, for hold.
func (p *planner) capacity() map[string]policies.FlavorCapacity {
	all := map[string]policies.FlavorCapacity{}
	for name, f := range p.Catalog.Flavors {
		shape := flavorShape(p.Snapshot, f)
		amounts := policies.FlavorCapacity{}
		for _, resourceName := range p.Snapshot.Resources() {
			t := p.Snapshot.Room().Totals(shape, resourceName)
			unhealthy := p.Snapshot.Stock(shape, resourceName).Unhealthy
			if t.Allocatable > 0 || t.Held > 0 || unhealthy > 0 {
				amounts[resourceName] = policies.CapacityAmount{
					Allocatable: t.Allocatable, Unhealthy: unhealthy, Held: t.Held, Free: t.Free, LargestSlot: t.Largest,
					Promised: p.machines.promisedOf(shape, resourceName),
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
