package quota_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/quota"
)

// What is lent is what a queue would have of its own, did nobody else use it.
func TestWhatIsLent(t *testing.T) {
	for name, c := range map[string]struct {
		queues, cohorts []quota.Member
		usage, want     map[string]int64
	}{
		"one lends what the other borrows": {
			[]quota.Member{member("a", "R", limit(4)), member("b", "R", limit(4))}, nil,
			map[string]int64{"a": 7}, map[string]int64{"a": 0, "b": 3},
		},
		"a limit of lending keeps the rest": {
			[]quota.Member{member("a", "R", limit(4)), member("b", "R", limit(6, "LL2"))}, nil,
			map[string]int64{"a": 5}, map[string]int64{"a": 0, "b": 1},
		},
		"what is the cohort's is lent before what is a queue's": {
			[]quota.Member{member("a", "R", limit(0)), member("b", "R", limit(2))}, []quota.Member{member("R", "", limit(6))},
			map[string]int64{"a": 7}, map[string]int64{"a": 0, "b": 1},
		},
		"alone, nobody lends, whatever is used": {
			[]quota.Member{member("a", "", limit(4))}, nil, map[string]int64{"a": 9}, map[string]int64{"a": 0},
		},
		"who uses all of its own lends nothing, though more is used than there is": {
			[]quota.Member{member("a", "R", limit(2)), member("b", "R", limit(2))}, nil,
			map[string]int64{"a": 6, "b": 2}, map[string]int64{"a": 0, "b": 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := used(t, c.queues, c.cohorts, c.usage)
			got := map[string]int64{}
			for _, q := range c.queues {
				got[q.Name] = tree.Lent(tree.Queue(q.Name), tree.Pair(one.Flavor, one.Resource))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
