package decide

import (
	"cmp"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// line is the Jobs of one queue in their order.
type line struct {
	name    string
	queue   policies.Queue
	strict  bool
	root    *root
	classes []*class
	watched []*class  // those of them of which a plan may find something new
	asks    [][]asked // what they ask for, by pair, the least first
	items   []*item   // in line
	parked  []*item   // not in line: held, or in need of the user
	fresh   []*item   // to be sorted in
	stopped *item     // the Job that a strict line waits for
	first   *item     // whose turn is before all others'
	started []*item
	kinds   map[string]policies.ResourceClass

	node    quota.NodeID
	groups  []group
	groupOf map[string]int // resource → group
	missing string         // a flavor of it that the policy does not have
	// displaces: it has some right to take others' place; displacesToBorrow: also
	// for more than is its own.
	displaces, displacesToBorrow bool

	// machines had to do with it that some class does not fit.
	machines bool

	open   byHead
	moved  bool  // something has changed since its Jobs had their turn
	active int64 // the last plan in which somebody had a turn
	along  bool  // its stopped Job has a turn as long as others have
	booked bool  // its first Job that does not fit has its room booked
	crowd  int64 // how many of its Jobs ran at the last plan
	full   bool  // it had as many as it may with those that had room kept, and may not have it now
	stale  bool  // something may be otherwise than after the last plan
	// behind is what those behind the stopped Job are told, and behindStranger the
	// same for Jobs of other namespaces, who are not told its name.
	behind, behindStranger *answer
	news                   []*item // whose reason may be another one
	tells                  bool    // some reason may be another one
	toldOf                 *item   // the stopped Job of which those behind were told
}

// backfills: who is behind the first Job that waits may go before it, where that
// does not make it wait longer.
func (l *line) backfills() bool { return l.queue.Strategy == policies.Backfill }

// crowded tells whether a queue has as many Jobs as it may.
func (p *planner) crowded(l *line) bool {
	most := l.queue.MaxWorkloads
	if most == nil || p.Snapshot.Admitted(l.name)+int64(len(l.started)) < *most {
		return false
	}
	l.full = l.full || len(l.started) > 0
	return true
}

// group is resources that get one flavor together.
type group struct{ flavors []string }

// item is one queued Job. First of it is what a plan reads of all those who wait: to go
// through them is to wait for memory.
type item struct {
	told    reason.Code // why it waits, as far as that was told
	class   *class
	line    *line
	bar     *bar            // its namespace keeps it from starting
	steady  string          // see bar, as far as that was told
	found   []reason.Reason // judged, and what it was held for at its turn: of the last plan only
	state   state           // of the last plan only, as are the next five
	parked  bool            // was tried, and waits for something to change
	looked  bool            // had its turn in an earlier round
	skipped bool            // others were before it in this round
	turned  bool            // is in Planner.dirty
	anew    bool            // while it is told: it may wait for something else

	job     *demand.Job
	entry   *book.Entry
	verdict policies.Verdict
	order   []policies.OrderKey // its place beside Jobs that have an order of their own
	judged  []reason.Reason     // why it is held, whatever is free
	wakeAt  int64               // when that may be otherwise; 0: not known

	// Of the last plan only.
	from    tried    // where the last search for flavors began
	resumed int      // how often one went on where another stopped
	tried   tried    // where the search for flavors goes on
	taken   []use    // what it was given of quota
	given   []chosen // and where
}

type state uint8

const (
	waits state = iota
	kept        // its room is kept: it was asked about, or is being written
	admitted
)

// turn notes that a Job had its turn.
func (p *planner) turn(it *item) {
	if !it.turned {
		it.turned = true
		p.dirty = append(p.dirty, it)
	}
}

// compare is the one order of Jobs: the policy's, then arrival, then UID.
func compare(a, b *item) int {
	if a.verdict.Order != nil || b.verdict.Order != nil {
		return cmp.Or(policies.CompareOrder(a.rank(), b.rank()), demand.CompareArrival(a.job, b.job))
	}
	return cmp.Or(cmp.Compare(b.verdict.Priority, a.verdict.Priority), demand.CompareArrival(a.job, b.job))
}

// rank is the order that a Job has by default beside ones that have their own.
func (it *item) rank() []policies.OrderKey {
	if it.order == nil {
		it.order = it.verdict.Order
	}
	if it.order == nil {
		it.order = []policies.OrderKey{{Number: negated(it.verdict.Priority)}, {Number: it.job.Arrival.Effective}}
	}
	return it.order
}

func negated(n int64) int64 {
	if -n == n && n != 0 {
		return -(n + 1)
	}
	return -n
}

// judge finds what keeps a Job out of line whatever is free, and its class if
// nothing does.
func (p *planner) judge(it *item) {
	if p.Catalog == nil {
		it.found = append(it.found, reason.NoPolicy())
		return
	}
	outcome, judged := p.Verdicts[it.job.UID]
	it.verdict = outcome.Verdict
	it.line = p.lines[it.verdict.Queue]
	if it.job.HeldByOwner {
		it.found = append(it.found, reason.OwnerHolds())
	}
	if it.job.Problem != nil {
		it.found = append(it.found, *it.job.Problem)
	}
	if outcome.Reason != nil {
		it.found = append(it.found, *outcome.Reason)
		p.wakeItem(it, outcome.Reason.Until)
	}
	if !judged {
		it.found = append(it.found, reason.NotJudged())
		return
	}
	// A policy that failed said nothing about the queue.
	if it.line == nil && outcome.Reason == nil {
		it.found = append(it.found, reason.NoSuchQueue(it.verdict.Queue, p.open(it.job.Namespace)))
	}
	if it.line == nil {
		return
	}
	p.judgeInQueue(it)
	if it.found == nil {
		it.class = p.classOf(it)
		if !p.HopelessBlock {
			it.found = append(it.found, it.class.never...)
		}
	}
}

func (p *planner) judgeInQueue(it *item) {
	j := it.job
	if missing := it.line.missing; missing != "" {
		it.found = append(it.found, reason.NoSuchFlavor(it.line.name, missing))
	}
	if !p.accepted(it.line, j.Namespace) {
		it.found = append(it.found, reason.NotAccepted(it.line.name, j.Namespace))
	}
	switch name := it.line.name; {
	case p.Drained[name]:
		it.found = append(it.found, reason.OperatorDrains(name))
	case p.Held[name]:
		it.found = append(it.found, reason.OperatorHolds(name))
	}
	if j.Problem == nil && pods(j) <= 0 {
		it.found = append(it.found, reason.NoPods())
	}
	live := max(it.entry.Live(), j.Active+j.Terminating)
	switch {
	case live > 0:
		it.found = append(it.found, reason.StillEnding(live, it.entry.MadeRoomFor() != nil))
	case j.Started:
		it.found = append(it.found, reason.StillStopping())
	}
	if r := outOfTime(j, it.verdict); r != nil {
		it.found = append(it.found, *r)
	}
	p.tried(it)
}

func pods(j *demand.Job) int64 {
	total := int64(0)
	for i := range j.PodSets {
		total = max(total, j.PodSets[i].Count)
	}
	return total
}

// accepted tells whether a queue takes Jobs of a namespace.
func (p *planner) accepted(l *line, namespace string) bool {
	key := [2]string{l.name, namespace}
	ok, known := p.accepts[key]
	if !known {
		ok = l.queue.Accepts(namespace, p.Namespaces[namespace])
		p.accepts[key] = ok
	}
	return ok
}

// open is the queues that take Jobs of a namespace.
func (p *planner) open(namespace string) []string {
	var names []string
	for _, l := range p.order {
		if p.accepted(l, namespace) {
			names = append(names, l.name)
		}
	}
	return names
}
