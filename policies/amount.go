package policies

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// mostZeros may end an amount; an int64 has fewer.
const mostZeros = 30

// Amount converts a quantity to the integer unit of its resource: thousandths
// for cpu, bytes or whole units for everything else, rounded up like the API
// server does. It refuses what an int64 cannot hold, so nothing ever wraps.
func Amount(name string, q resource.Quantity) (int64, error) {
	// To be compared it would be written out, and a billion zeros take minutes.
	exact := q // AsDec changes what it is asked of
	if _, small := q.AsInt64(); !small && exact.AsDec().Scale() < -mostZeros {
		return 0, fmt.Errorf("%s: more than can be counted", name)
	}
	limit := int64(math.MaxInt64)
	if name == "cpu" {
		limit /= 1000
	}
	if q.CmpInt64(limit) > 0 || q.CmpInt64(-limit) < 0 {
		return 0, fmt.Errorf("%s %s: more than can be counted (at most %d)", name, q.String(), limit)
	}
	if name == "cpu" {
		return q.MilliValue(), nil
	}
	return q.Value(), nil
}
