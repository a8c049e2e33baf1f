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
func (c *class) eachAsk(f func(pair quota.PairID, amount int64)) {
	if !c.simple() {
		return // it is never shut
	}
	s := &c.sets[0]
	this := &s.parts[0]
	for i := range this.offers {
		o := &this.offers[i]
		for k, w := range this.wants {
			if pair := o.pairs[k]; o.clash == nil && pair != quota.None {
				f(pair, resource.Mul(w.perPod, s.least))
			}
		}
	}
}

// list files what a class asks for.
func (l *line) list(c *class) {
	c.eachAsk(func(pair quota.PairID, amount int64) {
		for len(l.asks) <= int(pair) {
			l.asks = append(l.asks, nil)
		}
		list := &l.asks[pair]
		at, _ := slices.BinarySearchFunc(*list, asked{amount: amount}, compareAsked)
		*list = slices.Insert(*list, at, asked{amount, c})
	})
}

// unlist forgets a class that nobody is of.
func (l *line) unlist(c *class) {
	c.eachAsk(func(pair quota.PairID, amount int64) {
		list := &l.asks[pair]
		at, _ := slices.BinarySearchFunc(*list, asked{amount: amount}, compareAsked)
		for (*list)[at].class != c {
			at++
		}
		*list = slices.Delete(*list, at, at+1)
	})
}

// watchFreed has those of a line looked at that ask for no more than may be had of
// what was freed.
func (p *planner) watchFreed(l *line) {
	for pair := range l.root.freed.all() {
		if int(pair) >= len(l.asks) {
			continue
		}
		list := l.asks[pair]
		if len(list) == 0 {
			continue
		}
		most := resource.Limit
		if !l.displaces { // who may displace others needs not wait until it is free
			most = max(0, p.tree.Available(l.node, pair))
		}
		for _, a := range list {
			if a.amount > most {
				break
			}
			a.class.watch()
		}
	}
}
