package resource_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/resource"
)

// amount draws from everywhere, and often from where int64 ends.
func amount() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-3, 3),
		rapid.Int64Range(math.MaxInt64-3, math.MaxInt64),
		rapid.Int64Range(math.MinInt64, math.MinInt64+3),
	)
}

// clamp is the exact result held at the limits of int64.
func clamp(exact *big.Int) int64 {
	switch {
	case exact.IsInt64():
		return exact.Int64()
	case exact.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func TestArithmeticSaturatesAndNeverWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := amount().Draw(t, "a"), amount().Draw(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		if got, want := resource.Add(a, b), clamp(new(big.Int).Add(x, y)); got != want {
			t.Errorf("%d + %d = %d, want %d", a, b, got, want)
		}
		if got, want := resource.Sub(a, b), clamp(new(big.Int).Sub(x, y)); got != want {
			t.Errorf("%d - %d = %d, want %d", a, b, got, want)
		}
		if b < 0 {
			return // counts are never negative
		}
		if got, want := resource.Mul(a, b), clamp(new(big.Int).Mul(x, y)); got != want {
			t.Errorf("%d × %d = %d, want %d", a, b, got, want)
		}
	})
}

func TestLists(t *testing.T) {
	pod := resource.List{"cpu": 1500, "nvidia.com/gpu": math.MaxInt64 / 2}
	want := resource.List{"cpu": 4500, "nvidia.com/gpu": math.MaxInt64}
	if diff := cmp.Diff(want, pod.Times(3)); diff != "" {
		t.Errorf("three pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cpu", "nvidia.com/gpu"}, pod.Names()); diff != "" {
		t.Errorf("names in order (-want +got):\n%s", diff)
	}
	larger := resource.Max(resource.List{"cpu": 1, "memory": 5}, resource.List{"cpu": 2, "pods": 1})
	if diff := cmp.Diff(resource.List{"cpu": 2, "memory": 5, "pods": 1}, larger); diff != "" {
		t.Errorf("larger of each (-want +got):\n%s", diff)
	}
}

func TestWhatAmountsAreCalled(t *testing.T) {
	for name, want := range map[string]string{
		"nvidia.com/gpu": "nvidia.com/gpu",
		resource.DeviceSet + "gpu.example.com/12": "devices of class gpu.example.com",
		resource.Kit + "a+b/12":                   "sets of devices of a, b",
	} {
		if got := resource.Words(name); got != want {
			t.Errorf("%s is called %q, want %q", name, got, want)
		}
	}
}
