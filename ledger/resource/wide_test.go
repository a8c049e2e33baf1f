package resource_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/resource"
)

func TestAWideSumIsExactAndReadsAsTheNearestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum resource.Wide
		exact := new(big.Int)
		for _, n := range rapid.SliceOf(rapid.OneOf(rapid.Int64(), rapid.Just(int64(math.MaxInt64)), rapid.Just(int64(math.MinInt64)))).Draw(t, "amounts") {
			sum = sum.Plus(n)
			exact.Add(exact, big.NewInt(n))
			want := int64(math.MaxInt64)
			switch {
			case exact.IsInt64():
				want = exact.Int64()
			case exact.Sign() < 0:
				want = math.MinInt64
			}
			if got := sum.Int64(); got != want {
				t.Fatalf("the sum reads %d, want %d", got, want)
			}
			if (sum == resource.Wide{}) != (exact.Sign() == 0) {
				t.Fatalf("a sum of %v looks like another", exact)
			}
		}
	})
}
