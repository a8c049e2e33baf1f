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

// admit makes the effect that lets a Job go on a flavor.
func (p *planner) admit(it *item, o *option) {
	it.state = admitted
	reservation := demand.Reservation{UID: it.job.UID, Queue: it.line.name, Revision: p.Revision, Time: p.Now}
	var placed []fit.Placed
	for i, set := range o.sets {
		asked := it.entry.Form().Sets[i].Set
		reservation.PodSets = append(reservation.PodSets, demand.ReservedPodSet{
			Name: asked.Name, Count: asked.Count, Requests: charged(asked.Requests), Flavors: o.flavors(),
			NodeSelector: o.selector, Tolerations: o.tolerations,
		})
		if o.verified {
			placed = append(placed, p.machines.plan(set)...)
		}
	}
	admit := effect.Admit{Job: it.job, NodeSelector: o.selector, Tolerations: o.tolerations}
	reservation.Plan, admit.PreferNodes = hints(placed)
	admit.Reservation = reservation
	p.res.Admit = append(p.res.Admit, admit)
}

// charged leaves out what is none.
func charged(requests resource.List) resource.List {
	list := make(resource.List, len(requests))
	for name, n := range requests {
		if n > 0 {
			list[name] = n
		}
	}
	return list
}

// flavors is where each limited resource is charged, and the pods themselves.
func (o *option) flavors() map[string]string {
	flavors := map[string]string{resource.Pods: o.flavor}
	for _, c := range o.cells {
		flavors[c.key.Resource] = o.flavor
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
