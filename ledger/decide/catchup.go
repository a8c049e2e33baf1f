package decide

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// catchUp brings what the planner remembers in line with the book, the verdicts and
// the clock, and opens the trees of quotas.
func (p *planner) catchUp() {
	news := p.Snapshot.Since(p.mark)
	p.mark = news.Mark
	p.undo()
	if news.All || !p.basis.same(&p.Input) {
		p.restart()
	} else {
		p.read(news)
	}
	p.openTrees()
}

// undo takes back what only the last plan knew of Jobs.
func (p *planner) undo() {
	for _, it := range p.dirty {
		l := it.line
		l.started = nil
		l.news, l.tells = append(l.news, it), true
		l.moved = l.moved || !it.parked && l.stopped != it
		if it.state == admitted {
			it.told = "" // it is here again
		}
		*it = item{
			job: it.job, entry: it.entry, verdict: it.verdict, order: it.order, line: it.line, class: it.class,
			judged: it.judged, found: it.judged, wakeAt: it.wakeAt, told: it.told, bar: it.bar, steady: it.steady,
		}
	}
	p.dirty = p.dirty[:0]
	p.desks.clear()
	p.needs = p.needs[:0]
	for _, v := range p.taken {
		v.gone = false
		r := p.rootOf(v.node)
		r.victims = true
		for _, u := range v.uses {
			r.freed.add(u.pair) // after some had their turn
		}
	}
	p.last.made, p.taken = len(p.taken) > 0, p.taken[:0]
}

// restart forgets everything.
func (p *planner) restart() {
	s := p.Planner
	s.letAll()
	*s = Planner{
		mark: s.mark, tally: s.tally, current: p, desks: s.desks,
		basis: basis{p.Catalog, p.Options, maps.Clone(p.Held), maps.Clone(p.Drained)},
		lines: map[string]*line{}, nowhere: &line{}, roots: map[quota.NodeID]*root{}, items: map[string]*item{},
		classes: map[classKey]*class{}, running: map[quota.NodeID][]*victim{}, other: map[quota.Key]int64{},
	}
	p.openQueues()
	for _, row := range p.Snapshot.Charged() {
		if node, pair := p.row(row.Key); node != quota.None && pair != quota.None {
			p.base.Add(node, pair, row.Usage)
		}
		p.elsewhere(row.Key, row.Usage)
	}
	queued := p.Snapshot.Queued()
	items := make([]item, len(queued))
	for i, e := range queued {
		p.enter(e, &items[i])
	}
	p.file()
}

// read takes up what changed in the book, whom the caller names, and for whom a
// moment has come.
func (p *planner) read(news book.News) {
	touched := map[string]bool{}
	for _, e := range news.Entries {
		touched[e.UID()] = true
	}
	for _, uid := range p.Touched {
		touched[uid] = true
	}
	p.wakes.due(p.Now, func(uid string, at int64) {
		if it := p.items[uid]; it != nil && it.wakeAt == at {
			touched[uid] = true
		}
	})
	queues := map[string]bool{}
	for _, key := range news.Rows {
		queues[key.Queue] = true
		usage := p.Snapshot.Usage(key)
		if node, pair := p.row(key); node != quota.None && pair != quota.None {
			p.base.Set(node, pair, usage)
			if r := p.rootOf(node); r != nil {
				r.stale = true // also where it was known before that this comes free
			}
		}
		p.elsewhere(key, usage)
	}
	delete(touched, "") // pods whose Job is not known
	for _, uid := range slices.Sorted(maps.Keys(touched)) {
		e := p.Snapshot.Entry(uid)
		if it := p.items[uid]; it != nil {
			p.leave(it)
		}
		if e == nil {
			continue
		}
		queues[e.Counted()] = true
		if p.Snapshot.Queues(e) {
			p.enter(e, &item{})
		}
	}
	p.file()
	for name := range queues {
		p.recast(name)
	}
}

// elsewhere keeps what is charged where the policy has no place for it.
func (p *planner) elsewhere(key quota.Key, usage int64) {
	if key.Queue == "" || key.Flavor == "" || usage <= 0 || p.has(key.Queue, key.Flavor) {
		delete(p.other, key)
		return
	}
	p.other[key] = usage
}

// recast looks again at who may be displaced of a queue.
func (p *planner) recast(queue string) {
	l := p.lines[queue]
	if l == nil {
		return
	}
	before, known := p.running[l.node]
	delete(p.running, l.node)
	after := p.runningIn(l.node)
	switch {
	case known && slices.EqualFunc(before, after, sameVictim):
	case !known, p.Catalog.FairSharing.Enabled: // by shares, also who is gone counts
		l.root.victims = true
	default:
		l.root.newVictims(before, after)
	}
}

// newVictims notes the least important of those who may be displaced now and were not
// there before. Who is not there any more matters to those alone who ask for something
// that it has.
func (r *root) newVictims(before, after []*victim) {
	was := make(map[*book.Entry]*victim, len(before))
	for _, v := range before {
		was[v.entry] = v
	}
	for _, v := range after {
		old := was[v.entry]
		if old != nil && sameVictim(old, v) {
			delete(was, v.entry)
			continue
		}
		r.least = cmp.Or(r.least, v)
		if v.priority < r.least.priority {
			r.least = v
		}
	}
	for _, v := range was {
		for _, u := range v.uses {
			r.freed.add(u.pair)
		}
	}
}

func sameVictim(a, b *victim) bool {
	return a.entry == b.entry && a.priority == b.priority && a.admitted == b.admitted && slices.Equal(a.uses, b.uses)
}

// enter judges a Job that waits and puts it in line.
func (p *planner) enter(e *book.Entry, it *item) {
	it.job, it.entry = e.Job(), e
	p.judge(it)
	if it.line == nil {
		it.line = p.nowhere
	}
	if it.judged = it.found; it.class != nil {
		it.class.jobs++
	}
	p.items[it.job.UID] = it
	l := it.line
	l.moved, l.fresh = true, append(l.fresh, it)
	if len(l.fresh) == 1 {
		p.unfiled = append(p.unfiled, l)
	}
}

// inLine: nothing but share, machines and policy keeps it from starting.
func (it *item) inLine() bool { return len(it.judged) == 0 && it.class != nil }

// file sorts in those that are new in their lines.
func (p *planner) file() {
	for _, l := range p.unfiled {
		slices.SortFunc(l.fresh, compare)
		var items, parked []*item
		byClass := map[*class][]*item{}
		for _, it := range l.fresh {
			if !it.inLine() {
				parked = append(parked, it)
				continue
			}
			items = append(items, it)
			byClass[it.class] = append(byClass[it.class], it)
		}
		l.items, l.parked = merge(l.items, items), merge(l.parked, parked)
		for c, fresh := range byClass {
			c.items = merge(c.items, fresh)
		}
		l.news, l.fresh = append(l.news, l.fresh...), nil
	}
	p.unfiled = p.unfiled[:0]
}

// merge makes one sorted list of two.
func merge(list, more []*item) []*item {
	if len(list) == 0 {
		return more
	}
	if len(more) > len(list)/16+8 {
		list = append(list, more...)
		slices.SortFunc(list, compare)
		return list
	}
	for _, it := range more {
		at, _ := slices.BinarySearchFunc(list, it, compare)
		list = slices.Insert(list, at, it)
	}
	return list
}

// leave takes a Job out of its line.
func (p *planner) leave(it *item) {
	l := it.line
	l.moved = true
	delete(p.items, it.job.UID)
	p.unbar(it)
	c := it.class
	if it.inLine() {
		l.items, c.items = without(l.items, it), without(c.items, it)
	} else {
		l.parked = without(l.parked, it)
	}
	if c == nil {
		return
	}
	if l.root != nil && c.keeps() {
		l.root.unkept = true
	}
	if c.jobs--; c.jobs == 0 {
		p.dropClass(c)
	}
}

func without(list []*item, it *item) []*item {
	at, found := slices.BinarySearchFunc(list, it, compare)
	if !found {
		return list
	}
	return slices.Delete(list, at, at+1)
}

// dropClass forgets a class that nobody is of.
func (p *planner) dropClass(c *class) {
	p.let(c)
	delete(p.classes, c.key)
	l := c.line
	same := func(other *class) bool { return other == c }
	l.classes, l.watched = slices.DeleteFunc(l.classes, same), slices.DeleteFunc(l.watched, same)
	l.unlist(c)
}

// openTrees makes the trees of this plan: what the book charges, with what Jobs
// hold that were never admitted, and who leaves.
func (p *planner) openTrees() {
	tree := p.buffer
	p.buffer = nil
	if tree == nil || tree.Limits != p.base.Limits {
		tree = p.base.Clone()
	} else {
		tree.CopyFrom(p.base.Tree)
	}
	p.tree = shares{tree}
	p.now = p.tree
	if p.Catalog == nil {
		return
	}
	for _, loose := range p.Snapshot.Loose() {
		p.chargeLoose(loose)
	}
	p.openLeaving()
}

// openQueues makes a line for every queue of the policy.
func (p *planner) openQueues() {
	var limits *quota.Limits
	if p.Catalog != nil {
		var err error
		if limits, err = Limits(p.Catalog); err != nil {
			p.Catalog = nil // nobody knows what is left: nothing is admitted
		}
	}
	if p.Catalog == nil {
		limits, _ = Limits(&policies.Catalog{})
	}
	p.base = shares{quota.NewTree(limits)}
	p.order = []*line{p.nowhere}
	if p.Catalog == nil {
		return
	}
	p.rates = resource.NewRates(p.Catalog.Resources.Conversions)
	for _, name := range slices.Sorted(maps.Keys(p.Catalog.Queues)) {
		l := p.newLine(name, p.Catalog.Queues[name])
		p.lines[name] = l
		p.order = append(p.order, l)
		node := p.base.Root(l.node)
		r := p.roots[node]
		if r == nil {
			r = &root{node: node}
			p.roots[node] = r
		}
		l.root = r
		r.lines = append(r.lines, l)
	}
}

func (p *planner) rootOf(n quota.NodeID) *root { return p.roots[p.base.Root(n)] }
