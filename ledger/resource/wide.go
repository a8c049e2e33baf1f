package resource

import (
	"math"
	"math/bits"
)

// Wide is an integer of 128 bits, in two's complement: a sum of amounts that
// stays exact however much it holds, so that what was added can be taken off
// again. Its zero value is 0.
type Wide struct {
	high int64
	low  uint64
}

// Plus adds n.
func (w Wide) Plus(n int64) Wide {
	low, carry := bits.Add64(w.low, uint64(n), 0)
	return Wide{high: w.high + n>>63 + int64(carry), low: low}
}

// Int64 is the sum, or the nearest number that there is.
func (w Wide) Int64() int64 {
	switch {
	case w.high > 0 || w.high == 0 && w.low > math.MaxInt64:
		return math.MaxInt64
	case w.high < -1 || w.high == -1 && w.low <= math.MaxInt64:
		return math.MinInt64
	}
	return int64(w.low)
}
