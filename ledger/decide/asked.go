package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

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
	u := policies.Usage{Queue: policies.ResourceUsage{}, Cohort: policies.ResourceUsage{}, User: policies.ResourceUsage{}}
	for _, row := range p.rows(l) {
		limit := p.now.Potential(l.node, p.now.Pair(row.Flavor, row.Resource))
		put(u.Queue, row.Key, policies.UsageAmount{Used: row.Usage, Nominal: row.Nominal, Limit: limit})
		put(u.User, row.Key, policies.UsageAmount{Nominal: row.Nominal, Limit: limit})
	}
	for _, e := range p.Snapshot.Running(l.name) {
		if userOf(p.Verdicts[e.UID()].Verdict, e.Subject()) == user {
			u.Running++
			e.EachCharge(func(k quota.Key, n int64) { add(u.User, k, policies.UsageAmount{Used: n}) })
		}
	}
	for _, other := range l.started {
		if userOf(other.verdict, other.job) == user {
			u.Running++
			p.eachTaken(other, func(k quota.Key, n int64) { add(u.User, k, policies.UsageAmount{Used: n}) })
		}
	}
	for _, items := range [][]*item{l.items, l.parked} {
		for _, other := range items {
			if other.state == waits && userOf(other.verdict, other.job) == user {
				u.Waiting++
			}
		}
	}
	p.cohortUsage(l, u.Cohort)
	p.reserved(l, user, u)
	return u
}

// cohortUsage is what the queues of a line's cohort have, of what the line's own
// queue has a quota of.
func (p *planner) cohortUsage(l *line, of policies.ResourceUsage) {
	cohort := p.now.Parent(l.node)
	if cohort == quota.None {
		return
	}
	below := p.now.QueuesBelow(cohort)
	for _, pair := range pairsOf(l.queue) {
		id := p.now.Pair(pair.Flavor, pair.Resource)
		if id == quota.None {
			continue
		}
		amount := policies.UsageAmount{Nominal: p.nominalBelow(cohort, id)}
		// What queues keep for themselves is no part of what the cohort counts.
		kept := resource.Sub(amount.Nominal, p.now.Subtree(cohort, id))
		amount.Limit = resource.Add(p.now.Potential(cohort, id), kept)
		for _, queue := range below {
			amount.Used = resource.Add(amount.Used, p.now.Usage(queue, id))
		}
		put(of, quota.Key{Flavor: pair.Flavor, Resource: pair.Resource}, amount)
	}
}

// nominalBelow is the quotas of a node and of all that is below it.
func (p *planner) nominalBelow(n quota.NodeID, pair quota.PairID) int64 {
	sum := p.now.Nominal(n, pair)
	for _, child := range p.now.Children(n) {
		sum = resource.Add(sum, p.nominalBelow(child, pair))
	}
	return sum
}

// reserved adds what is charged for pods that are on no node yet: all of what
// starts in this plan.
func (p *planner) reserved(l *line, user string, u policies.Usage) {
	note := func(of *line, owner string, k quota.Key, n int64) {
		amount := policies.UsageAmount{Reserved: n}
		add(u.Cohort, k, amount)
		if of == l {
			add(u.Queue, k, amount)
			if owner == user {
				add(u.User, k, amount)
			}
		}
	}
	if p.owing == nil {
		p.owing = p.Snapshot.Owing()
	}
	for _, e := range p.owing {
		of := p.lines[e.Reservation().Queue]
		if !p.together(l, of) {
			continue
		}
		owner := userOf(p.Verdicts[e.UID()].Verdict, e.Subject())
		e.EachReserved(func(k quota.Key, n int64) { note(of, owner, k, n) })
	}
	for _, of := range p.order {
		if !p.together(l, of) {
			continue
		}
		for _, it := range of.started {
			p.eachTaken(it, func(k quota.Key, n int64) { note(of, userOf(it.verdict, it.job), k, n) })
		}
	}
}

// together tells whether another line is of the same queue, or of its cohort.
func (p *planner) together(l, other *line) bool {
	if other == nil || other.name == "" {
		return false
	}
	cohort := p.now.Parent(l.node)
	return other == l || cohort != quota.None && p.now.Below(other.node, cohort)
}

// eachTaken calls f for each row of what a Job was given in this plan.
func (p *planner) eachTaken(it *item, f func(k quota.Key, n int64)) {
	for _, taken := range it.taken {
		pair := p.tree.PairOf(taken.pair)
		f(quota.Key{Queue: it.line.name, Flavor: pair.Flavor, Resource: pair.Resource}, taken.amount)
	}
}

func userOf(v policies.Verdict, j *demand.Job) string {
	if v.User != "" || j == nil || j.Policy == nil {
		return v.User
	}
	return j.Policy.User
}

func put(u policies.ResourceUsage, k quota.Key, amount policies.UsageAmount) {
	if u[k.Resource] == nil {
		u[k.Resource] = map[string]policies.UsageAmount{}
	}
	u[k.Resource][k.Flavor] = amount
}

// add counts more as used and as reserved, where there is a quota of it. What is kept
// for when others have gone is not used yet.
func add(u policies.ResourceUsage, k quota.Key, more policies.UsageAmount) {
	if amount, limited := u[k.Resource][k.Flavor]; limited {
		amount.Used = resource.Add(amount.Used, more.Used)
		amount.Reserved = min(resource.Add(amount.Reserved, more.Reserved), amount.Used)
		u[k.Resource][k.Flavor] = amount
	}
}
