package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// Autoscaler adds machines of elastic flavors for pods that find no node, up to as
// many as the policy says that there may be. It takes none away.
type Autoscaler struct {
	After int64    // how long a machine takes to come
	Empty []string // flavors of which it has none
}

// coming is a machine that was asked for and is not there yet.
type coming struct {
	flavor string
	node   *supply.Node
	held   resource.List // by pods that it is for
}

// autoscale asks for the machines that the pods lack which found no node.
func (r *run) autoscale() {
	if r.Autoscaler == nil || len(r.pending) == 0 {
		return
	}
	elastic := supply.ElasticOf(r.Catalog)
	for _, c := range r.coming {
		clear(c.held)
	}
	for _, p := range r.pending {
		if !p.there() || p.is.Deleting || r.comes(p) {
			continue
		}
		for _, e := range elastic {
			if c := r.ask(e); c != nil && c.node.Takes(p.is, nil) {
				c.held.AddTo(p.is.Requests, 1)
				r.order(c)
				break
			}
		}
	}
}

// comes tells whether a machine that was asked for takes a pod, and counts it there.
func (r *run) comes(p *pod) bool {
	for _, c := range r.coming {
		if c.node.Takes(p.is, c.held) {
			c.held.AddTo(p.is.Requests, 1)
			return true
		}
	}
	return false
}

// ask is one more machine of a flavor, nil if there is none to be had.
func (r *run) ask(e supply.Elastic) *coming {
	count, has := int64(0), e.Has
	for _, name := range sorted(r.nodes) {
		if n := r.nodes[name]; e.Owns(n) {
			if count++; has == nil {
				has = n.Allocatable
			}
		}
	}
	for _, c := range r.coming {
		if c.flavor == e.Flavor {
			count++
		}
	}
	if count >= e.Max || has == nil || slices.Contains(r.Autoscaler.Empty, e.Flavor) {
		return nil
	}
	n := e.Machine(fmt.Sprintf("%s-added-%d", e.Flavor, r.added+1), maps.Clone(has))
	n.Coming = false
	return &coming{flavor: e.Flavor, node: n, held: resource.List{}}
}

func (r *run) order(c *coming) {
	r.added++
	r.coming = append(r.coming, c)
	r.at(resource.Add(r.now, r.Autoscaler.After), func() {
		r.coming = slices.DeleteFunc(r.coming, func(other *coming) bool { return other == c })
		r.change(&Change{Node: c.node})
	})
}
