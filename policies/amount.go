package policies

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount converts a quantity to the integer unit of its resource: thousandths
// for cpu, bytes or whole units for everything else, rounded up like the API
// server does. It refuses what an int64 cannot hold, so nothing ever wraps.
func Amount(name string, q resource.Quantity) (int64, error) {
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
