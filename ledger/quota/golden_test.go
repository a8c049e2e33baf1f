package quota_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/quota"
)

// one is the only pair of these trees.
var one = quota.Pair{Flavor: "f", Resource: "r"}

// limit is a nominal quota with "BL2" for a borrowing limit of 2, "LL3" for a
// lending limit of 3.
func limit(nominal int64, limits ...string) map[quota.Pair]quota.Limit {
	l := quota.Limit{Nominal: nominal}
	for _, text := range limits {
		var n int64
		if _, err := fmt.Sscanf(text[2:], "%d", &n); err != nil {
			panic(err)
		}
		if text[:2] == "BL" {
			l.Borrow = &n
		} else {
			l.Lend = &n
		}
	}
	return map[quota.Pair]quota.Limit{one: l}
}

func member(name, cohort string, l map[quota.Pair]quota.Limit) quota.Member {
	return quota.Member{Name: name, Cohort: cohort, Weight: quota.WholeWeight, Limits: l}
}

func weighing(m quota.Member, millionths int64) quota.Member {
	m.Weight = millionths
	return m
}

// used is a tree of which its queues use so much.
func used(t *testing.T, queues, cohorts []quota.Member, usage map[string]int64) *quota.Tree {
	t.Helper()
	limits, err := quota.Compile(queues, cohorts)
	if err != nil {
		t.Fatal(err)
	}
	tree := quota.NewTree(limits)
	for _, q := range queues {
		tree.Add(limits.Queue(q.Name), limits.Pair(one.Flavor, one.Resource), usage[q.Name])
	}
	return tree
}

// figures are available/potential of each queue and of the cohorts above it.
func figures(tree *quota.Tree, queues []quota.Member) map[string]string {
	all := map[string]string{}
	p := tree.Pair(one.Flavor, one.Resource)
	for _, q := range queues {
		for n := tree.Queue(q.Name); n != quota.None; n = tree.Parent(n) {
			all[tree.Name(n)] = fmt.Sprintf("%d/%d", tree.Available(n, p), tree.Potential(n, p))
		}
	}
	return all
}

func lending() ([]quota.Member, []quota.Member) {
	return []quota.Member{member("a", "R", limit(6, "LL2")), member("b", "R", limit(4))}, nil
}

func borrowing() ([]quota.Member, []quota.Member) {
	return []quota.Member{member("a", "R", limit(10, "BL2")), member("b", "R", limit(10))}, nil
}

func nested() ([]quota.Member, []quota.Member) {
	return []quota.Member{member("x", "M", limit(2)), member("y", "M", limit(0)), member("z", "R", limit(3))},
		[]quota.Member{member("R", "", limit(10)), member("M", "R", limit(5, "BL4", "LL3"))}
}

func cut() ([]quota.Member, []quota.Member) {
	return []quota.Member{member("a", "R", limit(1)), member("b", "R", limit(3))}, nil
}

func weighed() ([]quota.Member, []quota.Member) {
	return []quota.Member{
		weighing(member("a", "R", limit(4)), 2*quota.WholeWeight), member("b", "R", limit(4)), member("c", "R", limit(2, "LL0")),
	}, nil
}

func TestGoldenNumbers(t *testing.T) {
	for _, c := range []struct {
		name  string
		tree  func() (queues, cohorts []quota.Member)
		usage map[string]int64
		want  map[string]string
	}{
		{"what is lent by a limit is all that others see", lending, nil, map[string]string{"R": "6/6", "a": "10/10", "b": "6/6"}},
		{"who lends uses first what others do not see", lending, map[string]int64{"a": 5}, map[string]string{"R": "5/6", "a": "5/10", "b": "5/6"}},
		{"two use all that there is", lending, map[string]int64{"a": 5, "b": 5}, map[string]string{"R": "0/6", "a": "0/10", "b": "0/6"}},
		{"a borrower leaves alone what is not lent", lending, map[string]int64{"b": 5}, map[string]string{"R": "1/6", "a": "5/10", "b": "1/6"}},
		{"a borrowing limit bounds what one can ever use", borrowing, nil, map[string]string{"R": "20/20", "a": "12/12", "b": "20/20"}},
		{"a neighbour that uses little leaves more than one may borrow", borrowing, map[string]int64{"b": 9}, map[string]string{"R": "11/20", "a": "11/12", "b": "11/20"}},
		{"nothing is left though one may borrow more", borrowing, map[string]int64{"a": 11, "b": 9}, map[string]string{"R": "0/20", "a": "0/12", "b": "0/20"}},
		{"a cohort in a cohort lends and borrows within its limits", nested, nil, map[string]string{"R": "16/16", "M": "11/11", "x": "11/11", "y": "11/11", "z": "16/16"}},
		{"what a queue uses of its cohort's own is hidden above", nested, map[string]int64{"y": 6}, map[string]string{"R": "14/16", "M": "5/11", "x": "5/11", "y": "5/11", "z": "14/16"}},
		{"two queues use more than their cohort hides", nested, map[string]int64{"y": 6, "x": 3}, map[string]string{"R": "11/16", "M": "2/11", "x": "2/11", "y": "2/11", "z": "11/16"}},
		{"a queue above takes the rest", nested, map[string]int64{"y": 6, "x": 3, "z": 11}, map[string]string{"R": "0/16", "M": "0/11", "x": "0/11", "y": "0/11", "z": "0/16"}},
		{"a quota cut below what is in use leaves less than nothing", cut, map[string]int64{"a": 6}, map[string]string{"R": "-2/4", "a": "-2/4", "b": "-2/4"}},
		{"what is not lent stays, whatever others use", weighed, map[string]int64{"a": 7, "b": 1}, map[string]string{"R": "0/8", "a": "0/8", "b": "0/8", "c": "2/10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			queues, cohorts := c.tree()
			if diff := cmp.Diff(c.want, figures(used(t, queues, cohorts, c.usage), queues)); diff != "" {
				t.Errorf("available/potential (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGoldenShares(t *testing.T) {
	for _, c := range []struct {
		name  string
		tree  func() (queues, cohorts []quota.Member)
		usage map[string]int64
		of    string // a queue, or a cohort by the queue below it: "M above y"
		want  float64
	}{
		{"a borrower's share is of what its cohort can lend", lending, map[string]int64{"a": 5, "b": 5}, "b", 1000.0 / 6},
		{"who uses less than its own has none", lending, map[string]int64{"a": 5, "b": 5}, "a", 0},
		{"a limit on borrowing does not change the share", borrowing, map[string]int64{"a": 11, "b": 9}, "a", 50},
		{"a queue without quota borrows all it uses", nested, map[string]int64{"y": 6}, "y", 6000.0 / 11},
		{"a cohort's share is of what its parent can lend", nested, map[string]int64{"y": 6, "x": 3}, "M above x", 125},
		{"a queue in it has a share of its own", nested, map[string]int64{"y": 6, "x": 3}, "x", 1000.0 / 11},
		{"a queue of the root borrows of the root", nested, map[string]int64{"y": 6, "x": 3, "z": 11}, "z", 500},
		{"a root borrows of nobody", nested, map[string]int64{"y": 6, "x": 3, "z": 11}, "R above z", 0},
		{"a share may be more than all there is", cut, map[string]int64{"a": 6}, "a", 1250},
		{"a weight of two halves the share", weighed, map[string]int64{"a": 7, "b": 1}, "a", 187.5},
		{"what is about to be used counts when it is added", weighed, map[string]int64{"a": 7, "b": 5}, "b", 125},
	} {
		t.Run(c.name, func(t *testing.T) {
			queues, cohorts := c.tree()
			tree := used(t, queues, cohorts, c.usage)
			above, queue, higher := strings.Cut(c.of, " above ")
			n := tree.Queue(c.of)
			if higher {
				for n = tree.Queue(queue); tree.Name(n) != above; {
					n = tree.Parent(n)
				}
			}
			if got := tree.Share(n).Value(); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("share %v, want %v", got, c.want)
			}
		})
	}
}

func TestBorrowingClimbsNoHigherThanItMust(t *testing.T) {
	for _, c := range []struct {
		name  string
		queue string
		more  int64
		level int
		below bool
	}{
		{"within its own", "x", 2, 0, true},
		{"within what its cohort keeps for those below it", "y", 4, 1, true},
		{"beyond what its cohort has", "y", 8, 2, false},
		{"of the root, right above", "z", 4, 2, false},
		{"more than anybody has", "z", 99, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			queues, cohorts := nested()
			tree := used(t, queues, cohorts, nil)
			level, below := tree.Level(tree.Queue(c.queue), tree.Pair("f", "r"), c.more)
			if level != c.level || below != c.below {
				t.Errorf("level %d, below %v; want %d, %v", level, below, c.level, c.below)
			}
		})
	}
}

func TestCohortsThatAreTheirOwnAncestorsAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		name    string
		cohorts []quota.Member
		want    string
	}{
		{"one that is its own parent", []quota.Member{member("a", "a", nil)}, "cohorts are their own ancestors: a. Try: leave out the parent of one of them"},
		{"three in a ring, of which only those are named", []quota.Member{member("x", "c", nil), member("c", "b", nil), member("b", "a", nil), member("a", "c", nil), member("ok", "", nil)}, "cohorts are their own ancestors: a, b, c. Try: leave out the parent of one of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := quota.Compile([]quota.Member{member("q", "x", nil)}, c.cohorts)
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
