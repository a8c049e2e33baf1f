package fit

import (
	"math"
	"math/bits"
)

// Sum adds up vectors. It is exact however much it holds, so that what was added
// can be taken off again; what is read of it saturates.
type Sum struct{ amounts []wide } // by resource index

// Add adds a vector, sign times.
func (s *Sum) Add(v *Vector, sign int64) {
	for _, a := range v.amounts {
		for int(a.res) >= len(s.amounts) {
			s.amounts = append(s.amounts, wide{})
		}
		s.amounts[a.res] = s.amounts[a.res].plus(sign * a.n)
	}
}

// EachOf calls f for every resource of which the sum has any.
func (n *Nodes) EachOf(s *Sum, f func(name string, amount int64)) {
	for res, amount := range s.amounts {
		if amount != (wide{}) {
			f(n.resources[res], amount.saturated())
		}
	}
}

// wide is an integer of 128 bits, in two's complement.
type wide struct {
	high int64
	low  uint64
}

func (w wide) plus(n int64) wide {
	low, carry := bits.Add64(w.low, uint64(n), 0)
	return wide{high: w.high + n>>63 + int64(carry), low: low}
}

func (w wide) saturated() int64 {
	switch {
	case w.high > 0 || w.high == 0 && w.low > math.MaxInt64:
		return math.MaxInt64
	case w.high < -1 || w.high == -1 && w.low <= math.MaxInt64:
		return math.MinInt64
	}
	return int64(w.low)
}
