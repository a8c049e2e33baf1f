package decide

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
)

// sharer is a cohort that has too little left of a pair.
type sharer struct {
	cohort quota.NodeID
	pair   quota.PairID
}

// sharing tells a queue that lacks something with whom it shares it, and who has
// borrowed it.
func (p *planner) sharing(n quota.NodeID, pair quota.PairID, asked int64) reason.Sharing {
	at := p.tree.Parent(n)
	if at == quota.None {
		return reason.Sharing{}
	}
	rest := p.tree.Beyond(n, pair, asked)
	if rest <= max(0, p.tree.Available(at, pair)) {
		return reason.Sharing{AtLimit: true}
	}
	for above := p.tree.Parent(at); above != quota.None; above = p.tree.Parent(at) {
		rest = p.tree.Beyond(at, pair, rest)
		if rest <= max(0, p.tree.Available(above, pair)) {
			break // it is this cohort's own limit that is in the way
		}
		at = above
	}
	s := reason.Sharing{Cohort: p.tree.Name(at)}
	for _, b := range p.borrowers(sharer{at, pair}) {
		if b.Queue != p.tree.Name(n) {
			s.Borrowers = append(s.Borrowers, b)
		}
	}
	return s
}

// borrowers are the queues below a cohort that use more than their own.
func (p *planner) borrowers(of sharer) []reason.Borrower {
	if known, ok := p.sharers[of]; ok {
		return known
	}
	var all []reason.Borrower
	for _, q := range p.tree.QueuesBelow(of.cohort) {
		if n := p.tree.Borrowed(q, of.pair); n > 0 {
			all = append(all, reason.Borrower{Queue: p.tree.Name(q), Amount: n})
		}
	}
	slices.SortFunc(all, func(a, b reason.Borrower) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.Queue, b.Queue))
	})
	if p.sharers == nil {
		p.sharers = map[sharer][]reason.Borrower{}
	}
	p.sharers[of] = all
	return all
}

// named is a Job as one of a namespace is told of it: who may read the one need not
// be allowed to know the other's name.
func named(it *item, namespace string) string {
	if it.job.Namespace == namespace {
		return it.job.Key()
	}
	return "a Job of queue " + it.line.name
}

// ownerBefore is the queue that a line's cohort keeps something for, since its first
// Job waits for more; empty if there is none.
func (p *planner) ownerBefore(l *line) string {
	if l.root == nil {
		return ""
	}
	for _, owner := range l.root.lines {
		if owner != l && slices.ContainsFunc(owner.watched, (*class).keeps) {
			return owner.name
		}
	}
	return ""
}
