package decide

import (
	"cmp"
	"slices"

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
	items   []*item // in line
	parked  []*item // not in line: held, or in need of the user
	next    int
	stopped *item   // the Job that a strict line waits for
	behind  *answer // what those behind it are told
	// behindStranger is the same for Jobs of other namespaces, who are not told its
	// name.
	behindStranger *answer
	started        []*item
	kinds          map[string]policies.ResourceClass

	node    quota.NodeID
	groups  []group
	groupOf map[string]int // resource → group
	booked  bool           // its first Job that does not fit has its room booked
	missing string         // a flavor of it that the policy does not have
	// displaces: it has some right to take others' place; displacesToBorrow: also
	// for more than is its own.
	displaces, displacesToBorrow bool
}

// backfills: who is behind the first Job that waits may go before it, where that
// does not make it wait longer.
func (l *line) backfills() bool { return l.queue.Strategy == policies.Backfill }

// crowded tells whether a queue has as many Jobs as it may.
func (p *planner) crowded(l *line) bool {
	most := l.queue.MaxWorkloads
	return most != nil && p.Snapshot.Admitted(l.name)+int64(len(l.started)) >= *most
}

// group is resources that get one flavor together.
type group struct{ flavors []string }

// item is one queued Job.
type item struct {
	job     *demand.Job
	entry   *book.Entry
	verdict policies.Verdict
	line    *line
	class   *class
	state   state
	from    tried           // where the last search for flavors began
	resumed int             // how often one went on where another stopped
	tried   tried           // where the search for flavors goes on
	parked  bool            // was tried, and waits for something to change
	looked  bool            // had its turn in an earlier round
	skipped bool            // others were before it in this round
	taken   []use           // what it was given of quota
	given   []chosen        // and where
	found   []reason.Reason // why it is held, whatever is free
}

type state int

const (
	waits state = iota
	kept        // its room is kept: it was asked about, or is being written
	admitted
)

// openLines sorts the queued Jobs into lines.
func (p *planner) openLines() {
	queued := p.Snapshot.Queued()
	items := make([]item, len(queued))
	nowhere := &line{} // Jobs whose queue is not known
	for i, e := range queued {
		it := &items[i]
		it.job, it.entry = e.Job(), e
		p.judge(it)
		if it.line == nil {
			it.line = nowhere
		}
		if it.found != nil || it.class == nil {
			it.line.parked = append(it.line.parked, it)
		} else {
			it.line.items = append(it.line.items, it)
		}
		p.ordered = p.ordered || it.verdict.Order != nil
	}
	p.order = append([]*line{nowhere}, p.order...)
	for _, l := range p.order {
		slices.SortFunc(l.items, p.compare)
		slices.SortFunc(l.parked, p.compare)
	}
}

// head is the Job of a line whose turn it is, nil if there is none.
func (l *line) head() *item {
	for l.next < len(l.items) {
		if it := l.items[l.next]; it.state == waits && !it.parked && len(it.found) == 0 {
			return it
		}
		l.next++
	}
	return nil
}

// compare is the one order of Jobs: the policy's, then arrival, then UID.
func (p *planner) compare(a, b *item) int {
	if p.ordered {
		return cmp.Or(policies.CompareOrder(a.rank(), b.rank()), demand.CompareArrival(a.job, b.job))
	}
	return cmp.Or(cmp.Compare(b.verdict.Priority, a.verdict.Priority), demand.CompareArrival(a.job, b.job))
}

// rank is the order that a Job has by default beside ones that have their own.
func (it *item) rank() []policies.OrderKey {
	if it.verdict.Order == nil {
		it.verdict.Order = []policies.OrderKey{{Number: negated(it.verdict.Priority)}, {Number: it.job.Arrival.Effective}}
	}
	return it.verdict.Order
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
		p.wake(outcome.Reason.Until)
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
		it.found = append(it.found, reason.StillEnding(live))
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
