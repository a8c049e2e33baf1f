package decide

import (
	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// setResource is a resource that pods of a set ask for.
type setResource struct {
	set  int
	name string
}

// podOf is what ResourceQuotas look at in a pod of a set.
func (p *planner) podOf(it *item, set int) nsquota.Pod {
	asked := it.entry.Form().Sets[set].Set
	return nsquota.Pod{Requests: asked.Requests, Limits: asked.Limits, Terms: asked.Terms, Draws: func(name string) bool {
		return p.source(it.class, set, name).Draws()
	}}
}

// source is how machines give a resource where pods of a set may run, with whatever flavors.
func (p *planner) source(c *class, set int, name string) fit.Source {
	if have, _ := p.Snapshot.Machines(); c.sources == nil || c.sourcesHave != have {
		c.sources, c.sourcesHave = map[setResource]fit.Source{}, have
	}
	key := setResource{set, name}
	known, found := c.sources[key]
	if !found {
		known = p.findSource(c, set, name)
		c.sources[key] = known
	}
	return known
}

// findSource: pods are given a flavor of each part, and run where all of these have machines.
func (p *planner) findSource(c *class, set int, name string) fit.Source {
	place, all := c.form.Sets[set].Set.Place, fit.ByPlugin|fit.ByDevices
	for _, part := range c.sets[set].parts {
		var some fit.Source
		for _, o := range part.offers {
			if o.clash != nil {
				continue
			}
			selector, tolerations := injection(p.Catalog.Flavors[o.flavor], place)
			shape := p.Snapshot.Shape(book.Inject(place, selector, tolerations), resource.List{resource.Pods: 1})
			some |= p.Snapshot.Source(shape, name)
		}
		all &= some
	}
	return all
}
