package decide

import (
	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// quotasOf is the ResourceQuotas of a namespace, with what this plan took of them.
func (p *planner) quotasOf(namespace string) []book.NamespaceQuota {
	quotas, known := p.spaces[namespace]
	if !known {
		quotas = p.Snapshot.NamespaceQuotas(namespace)
		if p.spaces == nil {
			p.spaces = map[string][]book.NamespaceQuota{}
		}
		p.spaces[namespace] = quotas
	}
	return quotas
}

// exceeds is why the API server would not let all pods of a Job in, if each set has so
// many; nil: it would.
func (p *planner) exceeds(it *item, pods func(set int) int64) *reason.Reason {
	for _, q := range p.quotasOf(it.job.Namespace) {
		if r := p.exceedsOne(it, q, pods); r != nil {
			return r
		}
	}
	return nil
}

func (p *planner) exceedsOne(it *item, q book.NamespaceQuota, pods func(set int) int64) *reason.Reason {
	sets := it.entry.Form().Sets
	for k := range q.Rows {
		row, need := &q.Rows[k], int64(0)
		about := reason.NamespaceLimit{Name: q.Name, Row: row.Name, Resource: row.Resource, Used: q.Used[k], Hard: row.Hard}
		for i := range sets {
			terms := sets[i].Set.Terms
			if !q.Covers(terms) {
				continue
			}
			pod := p.podOf(it, i)
			need = resource.Add(need, resource.Mul(row.Takes(&pod), pods(i)))
			if _, drawn := row.Draws(&pod); drawn != "" {
				from := p.source(it.class, i, drawn)
				about.Drawn, about.Sure, about.Mixed = drawn, from == fit.ByDevices, from == fit.ByPlugin|fit.ByDevices
			}
			if row.Needs&terms.Unset != 0 {
				r := reason.NamespaceQuotaUnset(q.Name, row.Name)
				return &r
			}
		}
		about.Asked = need
		switch {
		case need == 0:
		case need > row.Hard:
			r := reason.BeyondNamespaceQuota(about)
			return &r
		case q.Used[k] == nsquota.Unknown:
			r := reason.NamespaceQuotaUncounted(about)
			return &r
		case resource.Add(q.Used[k], need) > row.Hard:
			r := reason.NoNamespaceQuota(about)
			return &r
		}
	}
	return nil
}

// takeQuota counts the pods of a Job that starts, or whose room is kept.
func (p *planner) takeQuota(it *item, a *assignment) {
	quotas := p.quotasOf(it.job.Namespace)
	if len(quotas) == 0 {
		return
	}
	for k := range a.sets {
		pod := p.podOf(it, k)
		for i := range quotas {
			quotas[i].Take(&pod, a.sets[k].count)
		}
	}
	if p.took == nil {
		p.took = map[string]bool{}
	}
	p.took[it.job.Namespace] = true
}

// bar is Jobs that take the same of their namespace, and that it keeps from starting: they
// are passed over, at no cost, until something else may be left there.
type bar struct {
	key     barKey
	items   map[*item]struct{}
	version int64  // of the namespace; unsettled: this plan took something of it
	have    uint64 // of the machines: what counts may hang on how they give it
	found   []reason.Reason
	steady  string // of what was found: to be told anew when it is another one
}

// find notes why.
func (b *bar) find(r reason.Reason) {
	b.found, b.steady = []reason.Reason{r}, reason.Steady(r.Message)
}

// says is what those whom it keeps are told of that does not move all the time.
func (b *bar) says() string {
	if b == nil {
		return ""
	}
	return b.steady
}

type barKey struct {
	namespace string
	class     *class
	terms     string
}

// unsettled is no version: the next plan looks again.
const unsettled = int64(-1)

// barred tells whether a Job's namespace keeps it from starting with as few pods as it
// would take, whatever else there is. What is left there only gets less within a plan.
func (p *planner) barred(it *item) bool {
	namespace := it.job.Namespace
	if len(p.quotasOf(namespace)) == 0 {
		return false
	}
	key := barKey{namespace, it.class, it.entry.Form().Terms}
	b := p.bars[key]
	if b == nil {
		r := p.exceedsAtLeast(it)
		if r == nil {
			return false
		}
		b = &bar{key: key, items: map[*item]struct{}{}, version: p.Snapshot.NamespaceVersion(namespace)}
		b.find(*r)
		b.have, _ = p.Snapshot.Machines()
		if p.took[namespace] {
			b.version = unsettled
		}
		if p.bars == nil {
			p.bars = map[barKey]*bar{}
		}
		p.bars[key] = b
	}
	b.items[it] = struct{}{}
	it.bar = b
	it.bars(b.found)
	return true
}

func (p *planner) exceedsAtLeast(it *item) *reason.Reason {
	return p.exceeds(it, func(set int) int64 { return it.class.sets[set].least })
}

// bars says why, or with nothing that it is no longer so.
func (it *item) bars(found []reason.Reason) {
	it.found = found
	it.line.news, it.line.tells = append(it.line.news, it), true
}

// unbar forgets that a namespace keeps a Job from starting.
func (p *planner) unbar(it *item) {
	b := it.bar
	if b == nil {
		return
	}
	it.bar = nil
	if delete(b.items, it); len(b.items) == 0 {
		delete(p.bars, b.key)
	}
}

// reopenBarred has those looked at whose namespace may have enough left by now, and lines
// that stop at a Job that its namespace bars by now.
func (p *planner) reopenBarred() {
	have, _ := p.Snapshot.Machines()
	for key, b := range p.bars {
		if version := p.Snapshot.NamespaceVersion(key.namespace); b.version != version || b.have != have {
			b.have = have
			p.reopenBar(b, version)
		}
	}
	for _, l := range p.order {
		if it := l.stopped; it != nil && len(p.quotasOf(it.job.Namespace)) > 0 && p.exceedsAtLeast(it) != nil {
			l.moved = true
		}
	}
}

func (p *planner) reopenBar(b *bar, version int64) {
	var r *reason.Reason
	for it := range b.items { // one is as good as the other
		r = p.exceedsAtLeast(it)
		break
	}
	if r == nil {
		delete(p.bars, b.key)
		for it := range b.items {
			it.bar = nil
			it.bars(it.judged)
		}
		b.key.class.line.moved = true
		return
	}
	was, told := b.found[0], b.steady
	b.version = version
	b.find(*r)
	b.key.class.line.stale = b.key.class.line.stale || was.Message != r.Message // the head's message stands in the status
	other := was.Code != r.Code || told != b.steady
	for it := range b.items {
		if it.found = b.found; other {
			it.bars(b.found)
		}
	}
}
