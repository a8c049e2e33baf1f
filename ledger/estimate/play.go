package estimate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// play is one way in which things may go on.
type play struct {
	*stage
	late    func(uid string) bool // a run takes as long as it can
	book    *book.Book
	planner *decide.Planner
	in      decide.Input
	now     int64
	plans   int
	ended   bool // all that there was to be done has been: nobody ended it
	jobs    map[string]*job
	events  []event // the next one last
	seq     int64
	free    *floor
	elastic []supply.Elastic
	idle    int              // plans since anything happened
	began   map[string]Start // who started about whom there is a question, by UID
	first   map[string]int64 // when anybody started, by UID
	ground  ground
}

// ground is what a play has been told from so far.
type ground struct {
	limits bool
	past   map[string]int // queue → runs
	open   int            // runs that nobody knows the end of
}

type job struct {
	is   *demand.Job
	pods []*pod
	runs int64 // which of its runs it is in: what belongs to another has no effect
}

type event struct {
	at, seq int64
	do      func()
}

// play goes on from now until everybody has started about whom there is a question,
// or nothing more happens.
func (s *stage) play(late func(uid string) bool) *play {
	p := &play{
		stage: s, late: late, book: book.New(), planner: decide.NewPlanner(), in: s.Plan, now: s.Plan.Now,
		jobs: map[string]*job{}, free: newFloor(s.Counted.Extended), began: map[string]Start{}, first: map[string]int64{}, ground: ground{past: map[string]int{}},
	}
	p.in.Memory, p.in.AskHold, p.in.AskProtect, p.in.Survey, p.in.Limit = nil, false, false, false, 0
	p.in.Busy, p.in.Since = nil, p.now
	p.in.Verdicts = make(map[string]decide.Outcome, len(s.cast))
	for _, is := range s.cast {
		if outcome, judged := s.Plan.Verdicts[is.UID]; judged {
			p.in.Verdicts[is.UID] = outcome
		}
	}
	p.in.Holds, p.in.Protects = maps.Clone(s.Plan.Holds), maps.Clone(s.Plan.Protects)
	p.begin()
	p.run()
	return p
}

func (p *play) run() {
	for p.plans < plansMax && p.going() {
		wake := p.decide()
		p.ask(p.firstInLine())
		if p.answered() {
			return
		}
		next := wake
		if n := len(p.events); n > 0 && (next == 0 || p.events[n-1].at < next) {
			next = p.events[n-1].at
		}
		if next == 0 || next-p.Plan.Now > farthest || p.idle > idleMax {
			p.ended = true
			return
		}
		p.now = max(next, p.now)
		p.happen()
	}
}

// firstInLine is who waits after the first plan.
func (p *play) firstInLine() []decide.Waiting {
	if p.wants != nil {
		return nil
	}
	return p.planner.Waiting()
}

func (p *play) answered() bool {
	for uid := range p.wants {
		if _, began := p.began[uid]; !began {
			return false
		}
	}
	return true
}

func (p *play) happen() {
	for len(p.events) > 0 && p.events[len(p.events)-1].at <= p.now {
		last := len(p.events) - 1
		do := p.events[last].do
		p.idle = 0
		p.events = p.events[:last]
		do()
	}
}

// at has something happen, after what happens at the same moment by now.
func (p *play) at(when int64, do func()) {
	p.seq++
	e := event{max(when, p.now), p.seq, do}
	i, _ := slices.BinarySearchFunc(p.events, e, func(a, b event) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.seq, a.seq))
	})
	p.events = slices.Insert(p.events, i, e)
}

// decide plans until a plan wants nothing done, and says when time alone makes
// another one of it; 0: never.
func (p *play) decide() int64 {
	overdue := p.book.Tick(p.now)
	for p.plans < plansMax {
		p.plans++
		p.idle++
		p.in.Snapshot, p.in.Now = p.book.Snapshot(), p.now
		plan := p.planner.Plan(p.in)
		p.in.Touched = nil
		for i := range plan.Suspend {
			p.suspend(&plan.Suspend[i])
		}
		for i := range plan.Admit {
			p.admit(&plan.Admit[i])
		}
		if len(plan.Admit)+len(plan.Suspend) == 0 && !plan.More {
			return p.later(plan.WakeAt, overdue)
		}
	}
	return 0
}

// later is the first of the moments that is still to come.
func (p *play) later(moments ...int64) int64 {
	next := int64(0)
	for _, at := range moments {
		if at > 0 && at <= p.now {
			at = p.now + second // it is overdue: somebody waits for it, but not in a circle
		}
		if at > 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// admit starts a Job: its pods come up at once, where they were planned to.
func (p *play) admit(a *effect.Admit) {
	j := p.jobs[a.Job.UID]
	if j == nil {
		return
	}
	next, given := *j.is, a.Reservation
	next.Suspended, next.Started, next.Reservation, next.Preempted = false, true, &given, nil
	p.book.Assume(j.is, given)
	j.is = &next
	p.book.SetJob(j.is)
	p.book.Settle(next.UID)
	if _, again := p.first[next.UID]; !again {
		p.first[next.UID] = p.now
	}
	if _, again := p.began[next.UID]; !again && p.wants[next.UID] || p.wants == nil {
		p.began[next.UID] = p.moment()
	}
	p.populate(j)
	p.endLater(j)
}

// moment is now, with what it is told from.
func (p *play) moment() Start {
	s := Start{Earliest: p.now, Limits: p.ground.limits}
	for _, n := range p.ground.past {
		s.Runs += n
	}
	return s
}

// endLater has a Job end that runs, if anybody knows when.
func (p *play) endLater(j *job) {
	j.runs++
	run, queue, began := j.runs, p.queueOf(j.is), p.now
	limit := int64(0)
	if r := j.is.Reservation; r != nil {
		queue, began = r.Queue, min(r.Time, p.now)
		limit = limitOf(j.is, r, began)
	}
	is := p.spans.span(queue, limit, p.now-began)
	p.ground.limits = p.ground.limits || is.limited
	if is.runs > 0 {
		p.ground.past[queue] = is.runs
	}
	end := resource.Add(began, is.low)
	if p.late(j.is.UID) {
		if is.high == 0 {
			p.ground.open++
			return
		}
		end = resource.Add(resource.Add(began, is.high), p.Lag)
	}
	p.at(end, func() {
		if j.runs == run {
			p.finish(j)
		}
	})
}

// limitOf is how long an admission lasts at most, from its beginning; 0: no limit.
func limitOf(j *demand.Job, r *demand.Reservation, began int64) int64 {
	limit := int64(0)
	if j.Policy != nil && j.Policy.ActiveDeadlineSec > 0 {
		limit = resource.Mul(second, j.Policy.ActiveDeadlineSec)
	}
	if by := j.EndsBy(demand.Shorter(r.MaxRuntimeSec, j.MaxRuntimeSec), began); by > 0 {
		limit = demand.Shorter(limit, max(1, by-began))
	}
	return limit
}

// finish ends a Job that ran.
func (p *play) finish(j *job) {
	j.runs++
	over := *j.is
	over.Finished = true
	j.is = &over
	p.book.SetJob(j.is)
	p.empty(j)
	p.book.DeleteJob(over.UID)
	delete(p.jobs, over.UID)
}

// suspend takes a Job back. It will run anew, if it may.
func (p *play) suspend(s *effect.Suspend) {
	j := p.jobs[s.Job.UID]
	if j == nil {
		return
	}
	j.runs++
	if s.Preempted != nil {
		p.book.Evict(*s.Preempted)
	}
	next := *j.is
	next.Suspended, next.Reservation, next.Preempted, next.Ran = true, nil, s.Preempted, s.Ran
	if s.Backoff != nil {
		next.Backoff = *s.Backoff
	}
	j.is = &next
	p.book.SetJob(j.is)
	p.leaveLater(j)
}

// leaveLater has what is left of a Job's last run go.
func (p *play) leaveLater(j *job) {
	if len(j.pods) == 0 && !j.is.Started && j.is.Active+j.is.Terminating == 0 {
		return
	}
	p.leave(j)
	run := j.runs
	p.at(p.now+p.goes(j.is.UID), func() {
		if j.runs == run {
			p.left(j)
		}
	})
}

// left is a Job whose pods have gone since it was taken back.
func (p *play) left(j *job) {
	p.empty(j)
	next := *j.is
	next.Started, next.Active, next.Terminating = false, 0, 0
	j.is = &next
	p.book.SetJob(j.is)
}
