package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/reason"
)

// report says of every Job that was not admitted why it waits, line by line.
// Numbers are those at the end of the plan.
func (p *planner) report() {
	p.sharers = nil // of an earlier moment of the plan
	total := 0
	for _, l := range p.order {
		total += len(l.items) + len(l.parked)
	}
	p.res.Waiting = make([]Waiting, 0, total-len(p.res.Admit))
	for _, l := range p.order {
		p.reportLine(l)
		p.res.More = p.res.More || l.stopped == nil && l.head() != nil && !p.OneRound
	}
}

func (p *planner) reportLine(l *line) {
	rank := 0
	first := len(p.res.Waiting)
	for _, it := range l.items {
		if it.state == admitted {
			continue
		}
		a := p.why(it)
		w := it.waiting(a)
		w.StartBy = p.startBy(it)
		if !a.parked {
			rank++
			w.Rank = rank
		}
		p.res.Waiting = append(p.res.Waiting, w)
	}
	for _, it := range l.parked {
		p.res.Waiting = append(p.res.Waiting, it.waiting(answerOf(it.found)))
	}
	// In line first, in order; then those that are not in line.
	slices.SortStableFunc(p.res.Waiting[first:], func(a, b Waiting) int { return inLine(b) - inLine(a) })
}

func inLine(w Waiting) int { return min(w.Rank, 1) }

// answer is why a Job waits, the main reason first. It is the same for all Jobs
// of a class.
type answer struct {
	main   reason.Reason
	others []reason.Reason
	parked bool // it is not in line: something else has to change first
}

func answerOf(found []reason.Reason) *answer {
	a := &answer{}
	a.main, a.others = reason.Main(found)
	a.parked = !reason.Of(a.main.Code).Group.InLine()
	return a
}

// why is all that keeps a Job of a line from starting.
func (p *planner) why(it *item) *answer {
	switch {
	case len(it.found) > 0:
		return answerOf(it.found)
	case it.state == kept, !it.seen() && it.line.stopped == nil:
		return p.later()
	}
	a := it.class.answer
	if a == nil || p.OneRound {
		a = p.later()
		if found := p.lacks(it.class, it.from); len(found) > 0 {
			a = answerOf(found)
		} else if owner := p.ownerBefore(it.line); owner != "" && !p.OneRound && !p.full() {
			a = answerOf([]reason.Reason{reason.KeptForQueue(owner)})
		}
		it.class.answer = a
	}
	if stop := it.line.stopped; stop != nil && stop != it && (!a.parked || p.HopelessBlock) {
		return p.behind(it)
	}
	return a
}

// seen tells whether the Job has had its turn, in vain.
func (it *item) seen() bool { return it.parked || it.skipped || it.looked }

// later is for a Job that this plan did not get to.
func (p *planner) later() *answer {
	if p.next == nil {
		p.next = answerOf([]reason.Reason{reason.NextRound()})
	}
	return p.next
}

// behind is for a Job behind the one that a strict line waits for.
func (p *planner) behind(it *item) *answer {
	l := it.line
	told := &l.behind
	if it.job.Namespace != l.stopped.job.Namespace {
		told = &l.behindStranger
	}
	if *told == nil {
		*told = answerOf([]reason.Reason{reason.InLine(l.name, named(l.stopped, it.job.Namespace))})
	}
	return *told
}

func (it *item) waiting(a *answer) Waiting {
	w := Waiting{UID: it.job.UID, Key: it.job.Key(), Priority: it.verdict.Priority, Reason: a.main, Others: a.others}
	if it.line != nil {
		w.Queue = it.line.name
	}
	return w
}
