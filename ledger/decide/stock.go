package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// Stock is what the machines of each flavor have right now, for a catalog that
// reads it.
func Stock(snapshot *book.Snapshot, flavors map[string]policies.Flavor) policies.CatalogCapacity {
	all := policies.CatalogCapacity{}
	for name, f := range flavors {
		shape := flavorShape(snapshot, f)
		totals := map[string]policies.Totals{}
		for _, resourceName := range snapshot.Resources() {
			if s := snapshot.Stock(shape, resourceName); s != (fit.Stock{}) {
				totals[resourceName] = policies.Totals{Allocatable: s.Allocatable, Unhealthy: s.Unhealthy, Held: s.Held}
			}
		}
		all[name] = totals
	}
	return all
}

// flavorShape is a pod of a flavor that asks for nothing in particular.
func flavorShape(snapshot *book.Snapshot, f policies.Flavor) *fit.Shape {
	place := book.Inject(demand.Place{}, f.NodeLabels, append(slices.Clone(f.Tolerations), tolerating(f.Taints)...))
	return snapshot.Shape(place, resource.List{resource.Pods: 1})
}
