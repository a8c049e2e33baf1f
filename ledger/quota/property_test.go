package quota_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// both is a tree and its naive twin.
type both struct {
	t     *rapid.T
	tree  *quota.Tree
	naive *naive
}

func drawBoth(t *rapid.T, amount *rapid.Generator[int64]) both {
	queues, cohorts, pairs := drawTree(t, amount)
	limits, err := quota.Compile(queues, cohorts)
	if err != nil {
		t.Fatal(err)
	}
	return both{t, quota.NewTree(limits), newNaive(queues, cohorts, pairs)}
}

func (b both) add(queue string, p quota.Pair, amount int64) {
	n, pair := b.tree.Queue(queue), b.pair(p)
	if pair == quota.None {
		return
	}
	b.naive.nodes["queue "+queue].add(p, amount)
	if amount < 0 {
		b.tree.Remove(n, pair, -amount)
	} else {
		b.tree.Add(n, pair, amount)
	}
}

func (b both) pair(p quota.Pair) quota.PairID { return b.tree.Pair(p.Flavor, p.Resource) }

// node finds the tree's node of a naive one: from a queue up.
func (b both) node(of *naiveNode) quota.NodeID {
	depth, at := 0, of
	for at.used == nil {
		if len(at.children) == 0 {
			return quota.None // no queue below: nobody asks for it
		}
		at, depth = at.children[0], depth+1
	}
	n := b.tree.Queue(at.Name)
	for range depth {
		n = b.tree.Parent(n)
	}
	return n
}

// each calls f for every node that a queue is in, and every pair.
func (b both) each(f func(name string, naive *naiveNode, n quota.NodeID, p quota.Pair, pair quota.PairID)) {
	for _, name := range b.naive.names() {
		node := b.naive.nodes[name]
		n := b.node(node)
		for _, p := range b.naive.pairs {
			if pair := b.pair(p); n != quota.None && pair != quota.None {
				f(name, node, n, p, pair)
			}
		}
	}
}

func (b both) same(name, what string, got int64, want *big.Int) {
	if want.Cmp(big.NewInt(got)) != 0 {
		b.t.Fatalf("%s of %s is %d, want %v", what, name, got, want)
	}
}

func (b both) queue() string {
	var queues []string
	for _, name := range b.naive.names() {
		if queue, ok := strings.CutPrefix(name, "queue "); ok {
			queues = append(queues, queue)
		}
	}
	return rapid.SampledFrom(queues).Draw(b.t, "queue")
}

// use adds and removes, never more than is there.
func (b both) use(amount *rapid.Generator[int64]) {
	for range rapid.IntRange(0, 12).Draw(b.t, "changes") {
		queue, p := b.queue(), rapid.SampledFrom(b.naive.pairs).Draw(b.t, "pair")
		n := amount.Draw(b.t, "amount")
		if had := b.naive.nodes["queue "+queue].used[p]; had != nil && rapid.Bool().Draw(b.t, "removes") {
			n = -min(n, had.Int64())
		}
		b.add(queue, p, n)
	}
}

func small() *rapid.Generator[int64] { return rapid.Int64Range(0, 12) }

func TestATreeIsWhatTheFormulasSayOfItsLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoth(t, small())
		b.use(small())
		more := rapid.Int64Range(0, 30).Draw(t, "more")
		b.each(func(name string, node *naiveNode, n quota.NodeID, p quota.Pair, pair quota.PairID) {
			b.same(name, "usage", b.tree.Usage(n, pair), node.usage(p))
			b.same(name, "what is available", b.tree.Available(n, pair), node.available(p))
			b.same(name, "potential", b.tree.Potential(n, pair), node.potential(p))
			b.same(name, "subtree", b.tree.Subtree(n, pair), node.subtree(p))
			b.same(name, "what it can't take of its own", b.tree.Beyond(n, pair, more), positive(minus(big.NewInt(more), node.localAvailable(p))))
			borrowed := new(big.Int)
			if node.parent != nil {
				borrowed = positive(minus(node.usage(p), node.subtree(p)))
			}
			b.same(name, "what it borrows", b.tree.Borrowed(n, pair), borrowed)
			if got, want := b.tree.Within(n, pair, more), plus(node.usage(p), big.NewInt(more)).Cmp(node.subtree(p)) <= 0; got != want {
				t.Fatalf("%s within its own with %d more: %v", name, more, got)
			}
			if node.used == nil {
				return
			}
			if got, want := b.tree.Fits(n, pair, more), big.NewInt(more).Cmp(positive(node.available(p))) <= 0; got != want {
				t.Fatalf("%d more fits %s: %v", more, name, got)
			}
			level, below := b.tree.Level(n, pair, more)
			if wantLevel, wantBelow := node.level(p, big.NewInt(more)); level != wantLevel || below != wantBelow {
				t.Fatalf("%s borrows %d from level %d, %v; want %d, %v", name, more, level, below, wantLevel, wantBelow)
			}
		})
	})
}

func TestSharesAreOrderedAsFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.SampledFrom([]*rapid.Generator[int64]{small(), rapid.Int64Range(0, math.MaxInt64/64)}).Draw(t, "amounts")
		b := drawBoth(t, amount)
		b.use(amount)
		type share struct {
			quota.Share
			exact  *big.Rat
			weight int64
		}
		var shares []share
		for _, name := range b.naive.names() {
			node := b.naive.nodes[name]
			n := b.node(node)
			if n == quota.None {
				continue
			}
			s := b.tree.Share(n)
			exact, where, borrows := node.share(b.naive.pairs)
			if s.Resource != where || s.Borrowing != borrows || s.Infinite() != (exact != nil && node.Weight == 0) {
				t.Fatalf("the share of %s is %+v, want that of %q: %v (borrows: %v)", name, s, where, exact, borrows)
			}
			shares = append(shares, share{s, exact, node.Weight})
		}
		for _, x := range shares {
			for _, y := range shares {
				if got, want := x.Compare(y.Share), compareShares(x.exact, y.exact, x.weight, y.weight); got != want {
					t.Fatalf("%v/%d compared with %v/%d: %d, want %d", x.exact, x.weight, y.exact, y.weight, got, want)
				}
			}
		}
	})
}

func TestRemoveUndoesAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoth(t, small())
		b.use(small())
		before := b.usages()
		queue, p := b.queue(), rapid.SampledFrom(b.naive.pairs).Draw(t, "pair")
		amount := rapid.Int64Range(0, 100).Draw(t, "amount")
		b.add(queue, p, amount)
		b.add(queue, p, -amount)
		for name, was := range before {
			if now := b.usages()[name]; now != was {
				t.Fatalf("%s used %d before and %d after", name, was, now)
			}
		}
	})
}

func (b both) usages() map[string]int64 {
	all := map[string]int64{}
	b.each(func(name string, _ *naiveNode, n quota.NodeID, p quota.Pair, pair quota.PairID) {
		all[name+" "+p.Flavor+" "+p.Resource] = b.tree.Usage(n, pair)
	})
	return all
}

func TestACloneGoesItsOwnWay(t *testing.T) {
	queues, cohorts := nested()
	tree := used(t, queues, cohorts, map[string]int64{"y": 6})
	clone := tree.Clone()
	clone.Add(clone.Queue("y"), clone.Pair("f", "r"), 1)
	if got := tree.Usage(tree.Queue("y"), tree.Pair("f", "r")); got != 6 {
		t.Errorf("y uses %d after its clone used more", got)
	}
}

// Sums that are held at the limit of an integer err on the side of less room.
func TestWhatCannotBeCountedNeverFits(t *testing.T) {
	huge := rapid.OneOf(small(), rapid.Int64Range(math.MaxInt64-12, math.MaxInt64), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoth(t, huge)
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			b.add(b.queue(), rapid.SampledFrom(b.naive.pairs).Draw(t, "pair"), huge.Draw(t, "amount"))
		}
		more := max(1, huge.Draw(t, "more"))
		b.each(func(name string, node *naiveNode, n quota.NodeID, p quota.Pair, pair quota.PairID) {
			asked := big.NewInt(more)
			if more == resource.Limit { // this much, or any amount beyond
				asked.Lsh(asked, 70)
			}
			if b.tree.Fits(n, pair, more) && asked.Cmp(node.available(p)) > 0 {
				t.Fatalf("%d fits %s, though %v are available", more, name, node.available(p))
			}
		})
	})
}
