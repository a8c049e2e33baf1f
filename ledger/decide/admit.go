package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
)

// preferNodesMax is the most nodes that a plan names; a plan for more is left
// out, as the annotation and the affinity would outgrow the Job.
const preferNodesMax = 100

// admit makes the effect that lets a Job go with what it was assigned.
func (p *planner) admit(it *item, a *assignment) {
	it.state = admitted
	reservation := demand.Reservation{
		UID: it.job.UID, Queue: it.line.name, Revision: p.Revision, Time: p.Now, MaxRuntimeSec: it.mayRun(),
		Ended: it.job.Ended, Succeeded: it.job.Succeeded,
	}
	admit := effect.Admit{Job: it.job}
	var where []fit.Placed
	for i := range a.sets {
		set := &a.sets[i]
		asked := it.entry.Form().Sets[i].Set
		given := demand.ReservedPodSet{
			Name: asked.Name, Count: set.count, Requests: positive(asked.Requests), Claimed: asked.Place.Claimed,
			Unverified:   asked.Place.Unverified,
			Flavors:      p.chargedOn(it.class, i, set),
			NodeSelector: set.machines.selector, Tolerations: set.machines.tolerations,
			Existing: set.machines.place.Existing,
		}
		if asked.Together > 0 { // from here on they are so many pods
			each, _ := asked.Each()
			given.Count, given.Requests, given.Claimed, given.Shared = asked.Pods(), positive(each), nil, asked.Place.Claimed
		}
		reservation.PodSets = append(reservation.PodSets, given)
		admit.NodeSelector, admit.Tolerations = set.machines.selector, set.machines.tolerations
		if set.machines.verified && !p.QuotaOnly {
			there, more, domains := p.machines.plan(set)
			for k := range there {
				there[k].Pods *= max(1, asked.Together)
			}
			where = append(where, there...)
			reservation.Machines += more
			reservation.PodSets[i].Domains = domains
			if domains != nil && !domains.Required {
				admit.PreferDomains = domains
			}
		}
	}
	reservation.Plan, admit.PreferNodes = hints(where)
	admit.Reservation = reservation
	p.res.Admit = append(p.res.Admit, admit)
}

// positive leaves out what is none.
func positive(requests resource.List) resource.List {
	list := make(resource.List, len(requests))
	for name, n := range requests {
		if n > 0 {
			list[name] = n
		}
	}
	return list
}

// chargedOn is where each limited resource of a pod set is charged, what it is charged
// for, and the pods themselves.
func (p *planner) chargedOn(c *class, set int, got *chosen) map[string]string {
	flavors := map[string]string{}
	for part, at := range got.flavors {
		this := &c.sets[set].parts[part]
		flavor := this.offers[at].flavor
		for _, w := range this.wants {
			flavors[w.resource] = flavor
		}
		if _, set := flavors[resource.Pods]; !set {
			flavors[resource.Pods] = flavor
		}
	}
	for asked := range c.form.Sets[set].Set.Requests {
		for _, rate := range p.rates.Of(asked) {
			flavor, limited := flavors[rate.Resource]
			if _, set := flavors[asked]; limited && !set {
				flavors[asked] = flavor
			}
		}
	}
	return flavors
}

func hints(placed []fit.Placed) (map[string]int64, []string) {
	if len(placed) == 0 || len(placed) > preferNodesMax {
		return nil, nil
	}
	plan := map[string]int64{}
	for _, node := range placed {
		plan[node.Node] += node.Pods
	}
	nodes := make([]string, 0, len(plan))
	for name := range plan {
		nodes = append(nodes, name)
	}
	slices.Sort(nodes)
	return plan, nodes
}
