package resource

import (
	"cmp"
	"slices"
)

// Rates say what is charged for a resource instead of it: whole numbers for each
// unit, so that it is the same whether pods are charged one by one or their sum.
// What has no rate is charged as itself. Immutable; the zero value has no rates.
type Rates struct{ of map[string][]Rate }

// Rate is how much of a resource is charged for one unit of another.
type Rate struct {
	Resource string
	Each     int64
}

// NewRates of a table: resource → what is charged instead → how much of it.
func NewRates(table map[string]map[string]int64) Rates {
	if len(table) == 0 {
		return Rates{}
	}
	r := Rates{of: make(map[string][]Rate, len(table))}
	for name, instead := range table {
		for charged, each := range instead {
			r.of[name] = append(r.of[name], Rate{charged, each})
		}
		slices.SortFunc(r.of[name], func(a, b Rate) int { return cmp.Compare(a.Resource, b.Resource) })
	}
	return r
}

// Converts tells whether a resource is charged as others.
func (r Rates) Converts(name string) bool { return len(r.of[name]) > 0 }

// Of is what is charged for a resource, by name: itself, if it has no rate.
func (r Rates) Of(name string) []Rate {
	if rates := r.of[name]; len(rates) > 0 {
		return rates
	}
	return []Rate{{name, 1}}
}

// Each calls f for what is charged for an amount of a resource.
func (r Rates) Each(name string, amount int64, f func(charged string, amount int64)) {
	rates := r.of[name]
	if len(rates) == 0 {
		f(name, amount)
		return
	}
	for _, rate := range rates {
		f(rate.Resource, Mul(amount, rate.Each))
	}
}

// Charged is what is charged for a list.
func (r Rates) Charged(list List) List {
	if len(r.of) == 0 {
		return list
	}
	charged := make(List, len(list))
	for name, amount := range list {
		r.Each(name, amount, func(name string, amount int64) { charged[name] = Add(charged[name], amount) })
	}
	return charged
}

// Sources is what a resource is charged for, by name, with how much of it for each
// unit: itself among it, unless it has rates.
func (r Rates) Sources(charged string) []Rate {
	var sources []Rate
	if !r.Converts(charged) {
		sources = append(sources, Rate{charged, 1})
	}
	for name, rates := range r.of {
		for _, rate := range rates {
			if rate.Resource == charged {
				sources = append(sources, Rate{name, rate.Each})
			}
		}
	}
	slices.SortFunc(sources, func(a, b Rate) int { return cmp.Compare(a.Resource, b.Resource) })
	return sources
}

// Targets is every name that something else is charged as, sorted.
func (r Rates) Targets() []string {
	var names []string
	for _, rates := range r.of {
		for _, rate := range rates {
			if !slices.Contains(names, rate.Resource) {
				names = append(names, rate.Resource)
			}
		}
	}
	slices.Sort(names)
	return names
}
