package quota_test

import (
	"fmt"
	"math/big"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/quota"
)

// naive is a tree that works everything out anew from what its leaves use, by the
// formulas, with integers that have no limits.
type naive struct {
	nodes map[string]*naiveNode // "queue a", "cohort b"
	pairs []quota.Pair
}

type naiveNode struct {
	quota.Member
	parent   *naiveNode
	children []*naiveNode
	used     map[quota.Pair]*big.Int // of a queue
}

func newNaive(queues, cohorts []quota.Member, pairs []quota.Pair) *naive {
	n := &naive{nodes: map[string]*naiveNode{}, pairs: pairs}
	for _, c := range cohorts {
		n.nodes["cohort "+c.Name] = &naiveNode{Member: c}
	}
	for _, q := range queues {
		n.nodes["queue "+q.Name] = &naiveNode{Member: q, used: map[quota.Pair]*big.Int{}}
	}
	for _, name := range n.names() {
		node := n.nodes[name]
		if node.Cohort != "" {
			node.parent = n.nodes["cohort "+node.Cohort]
			node.parent.children = append(node.parent.children, node)
		}
	}
	return n
}

func (n *naive) names() []string {
	var names []string
	for name := range n.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (n *naiveNode) add(p quota.Pair, amount int64) {
	if n.used[p] == nil {
		n.used[p] = new(big.Int)
	}
	n.used[p].Add(n.used[p], big.NewInt(amount))
}

func positive(n *big.Int) *big.Int {
	if n.Sign() < 0 {
		return new(big.Int)
	}
	return n
}

func plus(a, b *big.Int) *big.Int  { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

func least(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func (n *naiveNode) subtree(p quota.Pair) *big.Int {
	sum := big.NewInt(n.Limits[p].Nominal)
	for _, c := range n.children {
		sum.Add(sum, minus(c.subtree(p), c.local(p)))
	}
	return sum
}

func (n *naiveNode) local(p quota.Pair) *big.Int {
	if n.Limits[p].Lend == nil {
		return new(big.Int)
	}
	return positive(minus(n.subtree(p), big.NewInt(*n.Limits[p].Lend)))
}

func (n *naiveNode) usage(p quota.Pair) *big.Int {
	sum := new(big.Int)
	if n.used[p] != nil {
		sum.Set(n.used[p])
	}
	for _, c := range n.children {
		sum.Add(sum, positive(minus(c.usage(p), c.local(p))))
	}
	return sum
}

func (n *naiveNode) localAvailable(p quota.Pair) *big.Int {
	return positive(minus(n.local(p), n.usage(p)))
}

func (n *naiveNode) available(p quota.Pair) *big.Int {
	if n.parent == nil {
		return minus(n.subtree(p), n.usage(p))
	}
	upward := n.parent.available(p)
	if n.Limits[p].Borrow != nil {
		stored := positive(minus(n.usage(p), n.local(p)))
		upward = least(upward, plus(minus(minus(n.subtree(p), n.local(p)), stored), big.NewInt(*n.Limits[p].Borrow)))
	}
	return plus(n.localAvailable(p), upward)
}

func (n *naiveNode) potential(p quota.Pair) *big.Int {
	if n.parent == nil {
		return n.subtree(p)
	}
	most := plus(n.local(p), n.parent.potential(p))
	if n.Limits[p].Borrow != nil {
		most = least(most, plus(n.subtree(p), big.NewInt(*n.Limits[p].Borrow)))
	}
	return most
}

func (n *naiveNode) height() int {
	if len(n.children) == 0 {
		return 0
	}
	most := 1
	for _, c := range n.children {
		most = max(most, c.height()+1)
	}
	return most
}

func (n *naiveNode) level(p quota.Pair, amount *big.Int) (int, bool) {
	if n.parent == nil || plus(n.usage(p), amount).Cmp(n.subtree(p)) <= 0 {
		return 0, n.parent != nil
	}
	rest := minus(amount, n.localAvailable(p))
	for at := n.parent; ; at = at.parent {
		if plus(at.usage(p), rest).Cmp(at.subtree(p)) <= 0 {
			return at.height(), at.parent != nil
		}
		if at.parent == nil {
			return at.height(), false
		}
		rest = minus(rest, at.localAvailable(p))
	}
}

// share is the largest part over all resources, and where; nil if it borrows
// nothing that its parent could lend.
func (n *naiveNode) share(pairs []quota.Pair) (ratio *big.Rat, resource string, borrows bool) {
	if n.parent == nil {
		return nil, "", false
	}
	over, of := map[string]*big.Int{}, map[string]*big.Int{}
	var names []string
	for _, p := range pairs {
		if over[p.Resource] == nil {
			over[p.Resource], of[p.Resource] = new(big.Int), new(big.Int)
			names = append(names, p.Resource)
		}
		over[p.Resource].Add(over[p.Resource], positive(minus(n.usage(p), n.subtree(p))))
		of[p.Resource].Add(of[p.Resource], n.parent.potential(p))
	}
	slices.Sort(names)
	for _, name := range names {
		borrows = borrows || over[name].Sign() > 0
		if over[name].Sign() == 0 || of[name].Sign() == 0 {
			continue
		}
		if r := new(big.Rat).SetFrac(over[name], of[name]); ratio == nil || r.Cmp(ratio) > 0 {
			ratio, resource = r, name
		}
	}
	return ratio, resource, borrows
}

// compareShares orders shares as fractions.
func compareShares(a, b *big.Rat, weightA, weightB int64) int {
	infinite := func(r *big.Rat, w int64) bool { return r != nil && w == 0 }
	weighed := func(r *big.Rat, w int64) *big.Rat {
		if r == nil {
			return new(big.Rat)
		}
		return new(big.Rat).Quo(r, big.NewRat(w, 1))
	}
	switch x, y := infinite(a, weightA), infinite(b, weightB); {
	case x && y:
		return a.Cmp(b)
	case x:
		return 1
	case y:
		return -1
	}
	return weighed(a, weightA).Cmp(weighed(b, weightB))
}

// drawTree draws queues in cohorts of any depth, with amounts as amount says.
func drawTree(t *rapid.T, amount *rapid.Generator[int64]) (queues, cohorts []quota.Member, pairs []quota.Pair) {
	for f := range rapid.IntRange(1, 2).Draw(t, "flavors") {
		for r := range rapid.IntRange(1, 2).Draw(t, "resources") {
			pairs = append(pairs, quota.Pair{Flavor: fmt.Sprint("f", f), Resource: fmt.Sprint("r", r)})
		}
	}
	some := func(label string) *int64 {
		if rapid.Bool().Draw(t, label) {
			return nil
		}
		n := amount.Draw(t, label)
		return &n
	}
	draw := func(name string) quota.Member {
		m := quota.Member{Name: name, Weight: rapid.SampledFrom([]int64{0, 1, 500_000, 1_000_000, 3_000_000, 1_000_000_000_000}).Draw(t, "weight"), Limits: map[quota.Pair]quota.Limit{}}
		for _, p := range pairs {
			if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
				m.Limits[p] = quota.Limit{Nominal: amount.Draw(t, "nominal"), Borrow: some("borrow"), Lend: some("lend")}
			}
		}
		if at := rapid.IntRange(-1, len(cohorts)-1).Draw(t, "parent"); at >= 0 {
			m.Cohort = cohorts[at].Name
		}
		return m
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "cohorts") {
		cohorts = append(cohorts, draw(fmt.Sprint("c", i)))
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "queues") {
		queues = append(queues, draw(fmt.Sprint("q", i)))
	}
	return queues, cohorts, pairs
}
