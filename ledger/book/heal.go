package book

import (
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// Rebuild throws every sum away and counts all pods and Jobs again. What has happened
// since an admission, and what was assumed, is no sum, and stays. Whoever read the book before reads all of it again.
func (b *Book) Rebuild() {
	b.usage, b.promises, b.pending = map[quota.Key]resource.Wide{}, map[promiseKey]int64{}, map[*fit.Shape]int64{}
	b.admitted = map[string]map[*Entry]struct{}{}
	for _, set := range []map[*Entry]struct{}{b.queued, b.watched, b.loose, b.owing, b.leaving} {
		clear(set)
	}
	b.uncount(b.orphans)
	for _, e := range b.entries {
		b.uncount(e)
	}
	b.nodes.HoldNothing()
	b.emptySpaces()
	for _, p := range b.pods {
		b.count(p, 1)
	}
	b.nodes.Recount()
	b.refresh(b.orphans)
	for _, e := range b.entries {
		member(b.queued, e, e.isQueued())
		b.refresh(e)
	}
	b.journal.entries.forget()
	b.journal.rows.forget()
}

// uncount has an entry hold nothing, and be counted nowhere.
func (b *Book) uncount(e *Entry) {
	e.groups, e.kinds, e.unbound, e.bound = nil, nil, nil, nil
	e.otherKinds = true
	e.live, e.deleting, e.active, e.readyPods = 0, 0, 0, 0
	e.charges, e.promised, e.counted = nil, nil, ""
}
