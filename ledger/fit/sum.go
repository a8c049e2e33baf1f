package fit

import "github.com/holdshort/holdshort/ledger/resource"

// Sum adds up vectors. It is exact however much it holds, so that what was added
// can be taken off again; what is read of it saturates.
type Sum struct{ amounts []resource.Wide } // by resource index

// Add adds a vector, sign times.
func (s *Sum) Add(v *Vector, sign int64) {
	for _, a := range v.amounts {
		for int(a.res) >= len(s.amounts) {
			s.amounts = append(s.amounts, resource.Wide{})
		}
		s.amounts[a.res] = s.amounts[a.res].Plus(sign * a.n)
	}
}

// EachOf calls f for every resource of which the sum has any.
func (n *Nodes) EachOf(s *Sum, f func(name string, amount int64)) {
	for res, amount := range s.amounts {
		if amount != (resource.Wide{}) {
			f(n.resources[res], amount.Int64())
		}
	}
}
