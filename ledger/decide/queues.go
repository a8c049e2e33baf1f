package decide

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
)

// Queues is every queue after the last plan, by name.
func (s *Planner) Queues() []QueueState {
	names := map[string]bool{}
	for name := range s.lines {
		names[name] = true
	}
	for key := range s.other {
		names[key.Queue] = true
	}
	sorted := make([]QueueState, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		state, _ := s.Queue(name)
		sorted = append(sorted, state)
	}
	return sorted
}

// Queue is one queue after the last plan; false if the policy does not have it and
// nothing is charged to it.
func (s *Planner) Queue(name string) (QueueState, bool) {
	p, l := s.current, s.lines[name]
	state := QueueState{Name: name, InPolicy: l != nil, Admitted: int(p.Snapshot.Admitted(name))}
	if l != nil {
		state.Pending, state.Rows = len(l.items)+len(l.parked), p.rows(l)
		for _, it := range l.started {
			if it.state != admitted {
				continue
			}
			if state.Pending--; it.entry.Counted() == "" {
				state.Admitted++ // not in the book yet
			}
		}
		p.waitingIn(l, &state)
	}
	left := s.leftovers(name)
	state.Rows = append(state.Rows, left...)
	slices.SortFunc(state.Rows, func(a, b quota.Row) int { return quota.CompareKeys(a.Key, b.Key) })
	return state, l != nil || len(left) > 0
}

// Has tells whether the policy has a queue, or anything is charged to it.
func (s *Planner) Has(name string) bool { return s.lines[name] != nil || len(s.leftovers(name)) > 0 }

// waitingIn says who is at the head of a line and why how many wait.
func (p *planner) waitingIn(l *line, state *QueueState) {
	for _, list := range [][]*item{l.items, l.parked} {
		for _, it := range list {
			if it.state == admitted {
				continue
			}
			code := p.codeOf(it)
			if state.Reasons == nil {
				state.Reasons = map[reason.Code]int64{}
			}
			state.Reasons[code]++
			if state.Head == nil && reason.Of(code).Group.InLine() {
				head := it.waiting(p.why(it))
				head.Rank = 1
				state.Head = &head
			}
		}
	}
}

// leftovers are what is charged to a queue though the policy no longer has it, or it
// no longer has the flavor: nothing may be used there, and what is shows.
func (s *Planner) leftovers(name string) []quota.Row {
	var rows []quota.Row
	for key, n := range s.other {
		if key.Queue == name {
			rows = append(rows, quota.Row{Key: key, Usage: n})
		}
	}
	return rows
}

// rows is what a queue may use and does, by key.
func (p *planner) rows(l *line) []quota.Row {
	var rows []quota.Row
	for _, pair := range pairsOf(l.queue) {
		if id := p.now.Pair(pair.Flavor, pair.Resource); id != quota.None {
			rows = append(rows, quota.Row{
				Key:     quota.Key{Queue: l.name, Flavor: pair.Flavor, Resource: pair.Resource},
				Nominal: p.now.Nominal(l.node, id), Usage: p.now.Usage(l.node, id),
				Left:     max(0, p.tree.Available(l.node, id)),
				Borrowed: p.now.Borrowed(l.node, id), Lent: p.now.Lent(l.node, id),
			})
		}
	}
	slices.SortFunc(rows, func(a, b quota.Row) int { return quota.CompareKeys(a.Key, b.Key) })
	return rows
}
