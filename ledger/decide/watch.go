package decide

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// asked is how much a class asks for, at least, of a pair.
type asked struct {
	amount int64
	class  *class
	offer  int // that has the pair
}

func compareAsked(a, b asked) int { return cmp.Compare(a.amount, b.amount) }

// watch has a class looked at by every plan that is about its line, until it is shut.
func (c *class) watch() {
	if !c.watched {
		c.watched = true
		c.line.watched = append(c.line.watched, c)
	}
}

// unwatch leaves those to themselves that are shut, and told why: until more is free
// of what they ask for, nothing is new about them.
func (l *line) unwatch() {
	l.watched = slices.DeleteFunc(l.watched, func(c *class) bool {
		c.watched = c.failed == nil || !c.shut || c.lends || c.code == "" || c.code != c.told
		return !c.watched
	})
}

// looks are the classes that a plan looks at one by one. A strict line stops at Jobs
// whatever they lack.
func (l *line) looks() []*class {
	if l.strict {
		return l.classes
	}
	return l.watched
}

// eachAsk calls f for everything that a class with one flavor to find could have.
func (c *class) eachAsk(f func(quota.PairID, asked)) {
	if !c.simple() {
		return // it is never shut
	}
	s := &c.sets[0]
	this := &s.parts[0]
	for at := range this.offers {
		o := &this.offers[at]
		for i, w := range this.wants {
			if pair := o.pairs[i]; o.clash == nil && pair != quota.None {
				f(pair, asked{resource.Mul(w.perPod, s.least), c, at})
			}
		}
	}
}

// list files what a class asks for.
func (l *line) list(c *class) {
	c.eachAsk(func(pair quota.PairID, a asked) {
		for len(l.asks) <= int(pair) {
			l.asks = append(l.asks, nil)
		}
		list := &l.asks[pair]
		at, _ := slices.BinarySearchFunc(*list, a, compareAsked)
		*list = slices.Insert(*list, at, a)
	})
}

// unlist forgets a class that nobody is of.
func (l *line) unlist(c *class) {
	c.eachAsk(func(pair quota.PairID, a asked) {
		list := &l.asks[pair]
		at, _ := slices.BinarySearchFunc(*list, a, compareAsked)
		for (*list)[at].class != c {
			at++
		}
		*list = slices.Delete(*list, at, at+1)
	})
}

// openFreed opens the classes of a line that lacked quota, and that what was freed may
// be enough for.
func (p *planner) openFreed(l *line) {
	for pair := range l.root.freed.all() {
		if int(pair) >= len(l.asks) || len(l.asks[pair]) == 0 {
			continue
		}
		list := l.asks[pair]
		after, most := p.between(l, pair)
		at, _ := slices.BinarySearchFunc(list, asked{amount: after + 1}, compareAsked)
		for ; at < len(list) && list[at].amount <= most; at++ {
			a := list[at]
			c := a.class
			if c.failed == nil || !c.shut {
				continue
			}
			this := &c.sets[0].parts[0]
			if p.mightGive(l, &c.sets[0], this, &this.offers[a.offer]) {
				c.reopen(false)
				c.hint, l.moved = a.offer, true
			}
		}
	}
}

// between is what a line could have of a pair after the last plan, and what it can now:
// who asks for less lacked something else, if it is still so. Who may displace others
// may need less than that.
func (p *planner) between(l *line, pair quota.PairID) (after, most int64) {
	if l.displaces || l.strict {
		return -1, resource.Limit
	}
	after, most = -1, max(0, p.tree.Available(l.node, pair))
	if p.last.Tree != nil && !l.root.victims {
		after = max(-1, p.last.Available(l.node, pair))
	}
	return after, most
}
