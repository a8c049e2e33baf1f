package fit

import (
	"math"
	"testing"
)

func TestASumIsExactBeyondWhatCanBeRead(t *testing.T) {
	nodes := New()
	huge, small := nodes.Vector(map[string]int64{"gpu": 1 << 50}), nodes.Vector(map[string]int64{"gpu": 3})
	read := func(s *Sum) (amount int64) {
		nodes.EachOf(s, func(_ string, n int64) { amount = n })
		return amount
	}
	var sum Sum
	const much = 1 << 12 // of 2^50, the most that one pod counts for
	for range 100 {
		sum.Add(huge, much)
	}
	sum.Add(small, 1)
	if got := read(&sum); got != math.MaxInt64 {
		t.Errorf("a hundred times 2^62 reads as %d, want the most that there is", got)
	}
	for range 200 {
		sum.Add(huge, -much)
	}
	if got := read(&sum); got != math.MinInt64 {
		t.Errorf("a hundred times 2^62 too few reads as %d, want the least that there is", got)
	}
	for range 100 {
		sum.Add(huge, much)
	}
	if got := read(&sum); got != 3 {
		t.Errorf("with all of them added and taken off, %d are left of 3", got)
	}
	sum.Add(small, -2)
	if got := read(&sum); got != -3 {
		t.Errorf("3 less than nothing reads as %d", got)
	}
}
