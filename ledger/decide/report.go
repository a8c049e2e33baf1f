package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/reason"
)

// report says of every Job that was not admitted why it waits, line by line.
// Numbers are those at the end of the plan.
func (p *planner) report() {
	total := 0
	for _, l := range p.order {
		total += len(l.items) + len(l.parked)
	}
	p.res.Waiting = make([]Waiting, 0, total-len(p.res.Admit))
	for _, l := range p.order {
		p.reportLine(l)
		p.res.More = p.res.More || l.next < len(l.items)
	}
}

func (p *planner) reportLine(l *line) {
	rank := 0
	first := len(p.res.Waiting)
	for i, it := range l.items {
		if it.state == admitted {
			continue
		}
		w := p.waiting(it, p.why(it, i >= l.next))
		if reason.Of(w.Reason.Code).Group != reason.GroupNeedsUser {
			rank++
			w.Rank = rank
		}
		p.res.Waiting = append(p.res.Waiting, w)
	}
	for _, it := range l.parked {
		p.res.Waiting = append(p.res.Waiting, p.waiting(it, it.found))
	}
	// In line first, in order; then those that are not in line.
	slices.SortStableFunc(p.res.Waiting[first:], func(a, b Waiting) int { return inLine(b) - inLine(a) })
}

func inLine(w Waiting) int { return min(w.Rank, 1) }

// why is all that keeps a Job of a line from starting.
func (p *planner) why(it *item, unseen bool) []reason.Reason {
	switch {
	case len(it.found) > 0:
		return it.found
	case it.state == kept || unseen:
		return p.later()
	}
	c := it.class
	if c.lacking == nil {
		if c.lacking = p.lacks(c); len(c.lacking) == 0 {
			c.lacking = p.later()
		}
	}
	if stop := it.line.stopped; stop != nil && stop != it {
		return p.behind(it.line, c)
	}
	return c.lacking
}

func (p *planner) later() []reason.Reason { return []reason.Reason{reason.NextRound()} }

// behind: in a strict line, a Job that could never start is told so; any other
// waits for the one before it first.
func (p *planner) behind(l *line, c *class) []reason.Reason {
	if main, _ := reason.Main(c.lacking); reason.Of(main.Code).Group == reason.GroupNeedsUser {
		return c.lacking
	}
	return []reason.Reason{reason.InLine(l.name, l.stopped.job.Key())}
}

func (p *planner) waiting(it *item, found []reason.Reason) Waiting {
	main, others := reason.Main(found)
	w := Waiting{
		UID: it.job.UID, Key: it.job.Key(), Priority: it.verdict.Priority, Reason: main, Others: others,
	}
	if it.line != nil {
		w.Queue = it.line.name
	}
	return w
}
