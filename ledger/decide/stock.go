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
func Stock(snapshot *book.Snapshot, catalog *policies.Catalog) policies.CatalogCapacity {
	all := policies.CatalogCapacity{}
	counted := countedIn(snapshot, resource.NewRates(catalog.Resources.Conversions))
	for name, f := range catalog.Flavors {
		shape := flavorShape(snapshot, f)
		totals := map[string]policies.Totals{}
		for resourceName, sources := range counted {
			if s := stockOf(snapshot, shape, sources); s != (fit.Stock{}) {
				totals[resourceName] = policies.Totals{Allocatable: s.Allocatable, Unhealthy: s.Unhealthy, Held: s.Held}
			}
		}
		all[name] = totals
	}
	return all
}

// countedIn is what machines are counted in, with what each of it is on them: all that
// they have, as it is, and what is charged for any of that.
func countedIn(snapshot *book.Snapshot, rates resource.Rates) map[string][]resource.Rate {
	counted := map[string][]resource.Rate{}
	for _, name := range snapshot.Resources() {
		counted[name] = []resource.Rate{{Resource: name, Each: 1}}
	}
	for _, name := range rates.Targets() {
		counted[name] = rates.Sources(name)
	}
	return counted
}

func stockOf(snapshot *book.Snapshot, shape *fit.Shape, sources []resource.Rate) fit.Stock {
	var sum fit.Stock
	for _, source := range sources {
		s := snapshot.Stock(shape, source.Resource)
		sum.Allocatable = resource.Add(sum.Allocatable, resource.Mul(s.Allocatable, source.Each))
		sum.Unhealthy = resource.Add(sum.Unhealthy, resource.Mul(s.Unhealthy, source.Each))
		sum.Held = resource.Add(sum.Held, resource.Mul(s.Held, source.Each))
	}
	return sum
}

// flavorShape is a pod of a flavor that asks for nothing in particular.
func flavorShape(snapshot *book.Snapshot, f policies.Flavor) *fit.Shape {
	place := book.Inject(demand.Place{}, f.NodeLabels, append(slices.Clone(f.Tolerations), tolerating(f.Taints)...))
	return snapshot.Shape(place, resource.List{resource.Pods: 1})
}
