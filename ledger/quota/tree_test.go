package quota_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/quota"
)

func key(queue, resource string) quota.Key {
	return quota.Key{Queue: queue, Flavor: "f", Resource: resource}
}

func TestAvailable(t *testing.T) {
	for _, c := range []struct {
		name           string
		nominal, usage int64
		more           int64
		want           int64
	}{
		{"all of it while nobody uses any", 4, 0, 0, 4},
		{"what is left", 4, 3, 0, 1},
		{"less after more is used", 4, 1, 2, 1},
		{"below zero when the quota was lowered", 4, 6, 0, -2},
		{"never wraps", 4, math.MaxInt64, math.MaxInt64, 4 - math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := quota.New([]quota.Row{{Key: key("q", "r"), Nominal: c.nominal, Usage: c.usage}})
			tree.Add(key("q", "r"), c.more)
			if got := tree.Available(key("q", "r")); got != c.want {
				t.Errorf("available %d, want %d", got, c.want)
			}
		})
	}
}

func TestARowThatIsNotThereHasNothing(t *testing.T) {
	tree := quota.New(nil)
	tree.Add(key("q", "r"), 1)
	if got := tree.Available(key("q", "r")); got != 0 {
		t.Errorf("available %d", got)
	}
}

func TestRowsAreInTheOrderOfTheirKeys(t *testing.T) {
	tree := quota.New([]quota.Row{{Key: key("b", "r")}, {Key: key("a", "s")}, {Key: key("a", "r")}})
	var got []quota.Key
	for _, r := range tree.Rows() {
		got = append(got, r.Key)
	}
	if diff := cmp.Diff([]quota.Key{key("a", "r"), key("a", "s"), key("b", "r")}, got); diff != "" {
		t.Error(diff)
	}
}
