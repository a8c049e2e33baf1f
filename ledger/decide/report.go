package decide

import (
	"fmt"
	"slices"

	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
)

// conclude ends a plan: it finds out whom to tell something new, and notes what the
// next plan is to compare with.
func (p *planner) conclude() {
	p.nextWake()
	p.sharers = nil // of an earlier moment of the plan
	for _, l := range p.active {
		l.moved = l.stopped == nil && l.head() != nil
		p.res.More = p.res.More || l.moved && !p.OneRound
	}
	p.doubt()
	for _, it := range p.dirty {
		it.line.news, it.line.tells = append(it.line.news, it), true
	}
	for _, l := range p.order {
		if l.tells || len(l.news) > 0 {
			p.tell(l)
		}
	}
	p.res.Changed = uidsOf(p.changed)
	p.changed = p.changed[:0]
	if p.OneRound { // what is kept for this round only is part of why others wait
		p.res.Waiting = p.Waiting()
	}
	p.giveBack()
	p.countRuns()
	p.res.Stale = p.stale()
	survey := p.Survey && p.Catalog != nil
	if survey {
		p.survey()
	}
	if len(p.res.Asks) > 0 || survey {
		p.res.AskCapacity = p.capacity()
	}
	p.keepLast()
}

// doubt has the reasons found again of those who may wait for something else by
// now, since others took it.
func (p *planner) doubt() {
	for _, r := range p.roots {
		if !r.used {
			continue
		}
		r.used, r.changed = false, true // to be seen by the next plan, too
		for _, l := range r.lines {
			for _, c := range l.watched {
				if c.failed != nil && !c.shut {
					c.code, l.tells = "", true
				}
			}
		}
	}
}

// keepLast notes how the plan leaves things.
func (p *planner) keepLast() {
	last := &p.last
	p.buffer, last.shares = last.Tree, p.tree
	last.have, last.free = p.Snapshot.Machines()
	last.leaving = p.leaving.uids()
	last.promises = make(map[*fit.Shape]int64, len(p.machines.promises))
	for _, promise := range p.machines.promises {
		last.promises[promise.Shape] = promise.Pods
	}
}

// stale is the queues of which something may be otherwise than after the last plan.
func (p *planner) stale() []string {
	all := p.last.Tree == nil
	if !all {
		p.tree.EachChange(p.last.Tree, func(n quota.NodeID, _ quota.PairID, _ bool) {
			if r := p.rootOf(n); r != nil {
				r.stale = true
			}
		})
	}
	for _, l := range slices.Concat(p.active, p.told) {
		l.stale = true
	}
	var names []string
	for _, l := range p.order {
		if l.root != nil && (all || l.stale || l.root.stale) {
			names = append(names, l.name)
		}
		l.stale = false
	}
	for _, r := range p.roots {
		r.stale = false
	}
	if len(p.other) == 0 {
		return names
	}
	for key := range p.other {
		names = append(names, key.Queue)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tell finds out who waits for another reason than he was told of.
func (p *planner) tell(l *line) {
	p.told = append(p.told, l)
	every := (l.toldOf == nil) != (l.stopped == nil)
	if l.toldOf != l.stopped {
		l.news = append(l.news, l.toldOf, l.stopped)
	}
	l.toldOf, l.tells = l.stopped, false
	anew := 0
	for _, c := range l.looks() {
		code := reason.Code("") // of an open class, everybody may have another
		if c.failed != nil || l.stopped != nil {
			code = p.codeOfClass(c)
		}
		if c.anew = every || code != c.told; c.anew {
			anew += len(c.items)
			c.told = code
		}
	}
	p.retellAnew(l, anew)
	l.news = l.news[:0]
	l.unwatch()
}

func uidsOf(items []*item) []string {
	uids := make([]string, len(items))
	for i, it := range items {
		uids[i] = it.job.UID
	}
	return uids
}

// retellAnew looks at all those of a line whose reason may be another one: so many are of
// classes of which that is so, and there is who had his turn. It leaves them in order.
func (p *planner) retellAnew(l *line, ofClasses int) {
	l.news = slices.DeleteFunc(l.news, func(it *item) bool { return it == nil || p.items[it.job.UID] != it })
	for _, it := range l.news {
		it.anew = true
	}
	first := len(p.changed)
	through := len(l.news)+ofClasses > len(l.items)/8
	if through { // cheaper than to sort
		for _, it := range l.items {
			if it.anew || it.class.anew {
				p.retell(it)
			}
		}
		ofClasses = 0
	}
	for _, c := range l.looks() {
		if c.anew && ofClasses > 0 {
			p.retellAll(c.items)
		}
		c.anew = false
	}
	inOrder := len(p.changed)
	p.retellAll(l.news) // who is not in line, too
	for _, it := range l.news {
		it.anew = false
	}
	if !through || len(p.changed) > inOrder {
		slices.SortFunc(p.changed[first:], compare)
	}
}

func (p *planner) retellAll(items []*item) {
	for _, it := range items {
		p.retell(it)
	}
}

// retell notes who waits for another reason. Most of those who are looked at don't, so
// only those are put in order.
func (p *planner) retell(it *item) {
	if it.state == admitted {
		return
	}
	if code, steady := p.codeOf(it), it.bar.says(); code != it.told || steady != it.steady {
		it.told, it.steady = code, steady
		p.changed = append(p.changed, it)
	}
}

// Why says why a Job waits; false if it does not.
func (s *Planner) Why(uid string) (Waiting, bool) {
	it := s.items[uid]
	if it == nil || it.state == admitted {
		return Waiting{}, false
	}
	return it.waiting(s.current.why(it)), true
}

// Brief is what of Why is told anew when it changes, without all the words.
type Brief struct {
	Code   reason.Code
	Steady string
}

// Brief of Why.
func (s *Planner) Brief(uid string) (Brief, bool) {
	it := s.items[uid]
	if it == nil || it.state == admitted {
		return Brief{}, false
	}
	return Brief{s.current.codeOf(it), it.bar.says()}, true
}

// Waiting is everybody who waits after the last plan, line by line, with numbers as
// they are at its end.
func (s *Planner) Waiting() []Waiting {
	total := 0
	for _, l := range s.order {
		total += len(l.items) + len(l.parked)
	}
	all := make([]Waiting, 0, total)
	for _, l := range s.order {
		all = s.current.reportLine(all, l)
	}
	return all
}

func (p *planner) reportLine(all []Waiting, l *line) []Waiting {
	rank := 0
	first := len(all)
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
		all = append(all, w)
	}
	for _, it := range l.parked {
		all = append(all, it.waiting(answerOf(it.found)))
	}
	// In line first, in order; then those that are not in line.
	slices.SortStableFunc(all[first:], func(a, b Waiting) int { return inLine(b) - inLine(a) })
	return all
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
	if len(a.others) > 0 && reason.Of(a.main.Code).Group == reason.GroupHeld && reason.Of(a.others[0].Code).Group == reason.GroupNeedsUser {
		// Who is held would be surprised by that afterwards.
		a.main.Message += fmt.Sprintf("; besides, %s: %s", a.others[0].Code, a.others[0].Message)
	}
	a.parked = !reason.Of(a.main.Code).Group.InLine()
	return a
}

// why is all that keeps a Job from starting.
func (p *planner) why(it *item) *answer {
	switch {
	case len(it.found) > 0:
		return answerOf(it.found)
	case it.state == kept, !it.seen() && it.line.stopped == nil:
		return p.later()
	}
	a := p.answerOfClass(it.class, it.from)
	if p.hides(it, a.main.Code) {
		return p.behind(it)
	}
	return a
}

// hides: a Job behind the one that a strict line waits for is told of that, unless
// it could not start anyway.
func (p *planner) hides(it *item, code reason.Code) bool {
	stop := it.line.stopped
	return stop != nil && stop != it && (reason.Of(code).Group.InLine() || p.HopelessBlock)
}

func (p *planner) answerOfClass(c *class, from tried) *answer {
	if c.answer != nil && c.answered == p.tally && !p.OneRound {
		return c.answer
	}
	if !p.OneRound {
		from = nil
	}
	c.answer, c.answered = p.later(), p.tally
	if found := p.lacks(c, from); len(found) > 0 {
		c.answer = answerOf(found)
		c.answer.main = p.withVain(c, c.answer.main)
	} else if owner := p.ownerBefore(c.line); owner != "" && !p.OneRound && !p.full() {
		c.answer = answerOf([]reason.Reason{reason.KeptForQueue(owner)})
	}
	return c.answer
}

// seen tells whether the Job has had its turn, in vain, or needs none, as nobody of its
// class would fit, whatever his rank.
func (it *item) seen() bool {
	c := it.class
	return it.parked || it.skipped || it.looked || c.fails(it) || c.failed != nil && c.shut
}

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
	w := Waiting{UID: it.job.UID, Key: it.job.Key(), Priority: it.verdict.Priority, Reason: it.pinned(a.main), Steady: it.bar.says(), Others: a.others}
	if it.line != nil {
		w.Queue = it.line.name
	}
	return w
}

// pinned is a reason that has to do with machines, with what of the Job ties it to some
// of them beside its selectors: others of its class are tied to the same by other claims.
func (it *item) pinned(r reason.Reason) reason.Reason {
	switch {
	case it.class == nil || len(it.class.never) > 0:
		return r
	case r.Code != reason.WaitingForMachines && r.Code != reason.Fragmented && r.Code != reason.NeverFits:
		return r
	}
	for _, set := range it.job.PodSets {
		for _, pin := range set.Place.Pins {
			r = r.With(reason.Pinned(pin.Name, pin.Is))
		}
		if len(set.Place.Features) > 0 {
			r = r.With(reason.Needed(set.Place.Features))
		}
		if set.Together > 0 {
			r = r.With(reason.AsOne(set.Together))
		}
	}
	return r
}
