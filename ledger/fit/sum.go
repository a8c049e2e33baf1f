package fit

// Sum adds up vectors.
type Sum struct{ amounts []int64 } // by resource index

// Add adds a vector, sign times.
func (s *Sum) Add(v *Vector, sign int64) {
	for _, a := range v.amounts {
		for int(a.res) >= len(s.amounts) {
			s.amounts = append(s.amounts, 0)
		}
		s.amounts[a.res] += sign * a.n
	}
}

// EachOf calls f for every resource of which the sum has any.
func (n *Nodes) EachOf(s *Sum, f func(name string, amount int64)) {
	for res, amount := range s.amounts {
		if amount != 0 {
			f(n.resources[res], amount)
		}
	}
}
