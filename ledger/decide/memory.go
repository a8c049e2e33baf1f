package decide

import (
	"maps"

	"github.com/holdshort/holdshort/ledger/quota"
)

// progress is how far the search for flavors came in a round.
type progress struct {
	tried tried
	round int
	freed int // how often something of its queue had been freed by then
}

// remember takes up where a plan of one round left off.
func (p *planner) remember() {
	if !p.OneRound {
		return
	}
	m := &Memory{parked: map[string]bool{}, first: map[string]string{}, tried: map[string]progress{}, freed: map[string]int{}, from: map[string]tried{}}
	p.memory = m
	before := p.Memory
	if before == nil {
		return
	}
	m.round = before.round + 1
	maps.Copy(m.freed, before.freed)
	maps.Copy(m.first, before.first)
	for _, l := range p.order {
		for _, it := range l.items {
			uid := it.job.UID
			it.parked = before.parked[uid]
			it.from, it.looked = before.from[uid]
			if t, ok := before.tried[uid]; ok && (m.round-t.round <= 1 || m.freed[l.name] == t.freed) {
				it.tried = t.tried
			}
		}
		if it := p.items[m.first[l.name]]; it != nil && it.line == l && it.inLine() {
			l.first = it
		}
	}
}

// keepMemory notes what the next round is to know.
func (p *planner) keepMemory() {
	m := p.memory
	if m == nil {
		return
	}
	p.res.Memory = m
	roots := map[quota.NodeID]bool{}
	for _, v := range p.evicted {
		m.freed[p.tree.Name(v.node)]++
		roots[p.tree.Root(v.node)] = true
	}
	for _, l := range p.order {
		if l.name == "" {
			continue
		}
		for _, it := range l.items {
			stays := it.parked && !roots[p.tree.Root(l.node)]
			m.keep(it, stays)
			again := !it.skipped || it.tried.pending() || p.moved
			m.untried = m.untried || it.state != admitted && !stays && l.stopped == nil && again
		}
	}
}

// keep notes what is to be known of one Job.
func (m *Memory) keep(it *item, stays bool) {
	uid, queue := it.job.UID, it.line.name
	if it.state == admitted {
		if m.first[queue] == uid {
			delete(m.first, queue)
		}
		return
	}
	if it.tried != nil {
		m.tried[uid] = progress{it.tried, m.round, m.freed[queue]}
	}
	if it.seen() {
		m.from[uid] = it.from
	}
	if stays {
		m.parked[uid] = true
	}
}
