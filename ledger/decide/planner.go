package decide

import (
	"cmp"
	"maps"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// Planner makes one plan after another of the same book. It remembers who is in
// line and who did not fit, and looks again only at those for whom something has
// changed. Each plan is the one that would be made from nothing.
//
// One goroutine at a time.
type Planner struct {
	basis basis
	mark  book.Mark // how much of the book's news it has read
	tally int64     // plans made

	lines   map[string]*line
	order   []*line // by name; first those whose queue is not known
	nowhere *line
	roots   map[quota.NodeID]*root
	items   map[string]*item // by UID
	classes map[classKey]*class
	running map[quota.NodeID][]*victim
	bars    map[barKey]*bar // who waits for the namespace
	wakes   wakes           // when Jobs are to be judged again

	rates    resource.Rates      // what is charged instead of what
	base     shares              // what the book charges
	other    map[quota.Key]int64 // and what has no place in the tree
	last     last
	buffer   *quota.Tree // to be used again
	planned  *fit.Room   // memory for a copy of the machines
	dirty    []*item     // who had its turn in the last plan
	changed  []*item     // scratch: of a line, who waits for another reason
	taken    []*victim   // who was taken back by it
	desks    desks
	needs    []quota.PairID // scratch, good until the next plan
	borrowed []lent         // in this round: kept for who can't displace anybody
	unfiled  []*line        // with somebody to be sorted in
	current  *planner
}

// basis is what everything is worked out from; if it changes, all is done anew.
type basis struct {
	catalog *policies.Catalog
	options Options
	held    map[string]bool
	drained map[string]bool
}

// last is what the plan before left.
type last struct {
	shares
	have, free uint64 // versions of the machines
	promises   map[*fit.Shape]int64
	leaving    []string // UIDs
	made       bool     // somebody was taken back
}

// NewPlanner returns a planner that knows nothing yet.
func NewPlanner() *Planner { return &Planner{} }

// Plan decides who may start now, and who has to be taken back. Result.Waiting and
// Queues are left out: ask Waiting, Why and Queues for them.
func (s *Planner) Plan(in Input) Result {
	p := &planner{Input: in, Planner: s, accepts: map[[2]string]bool{}, back: map[string]bool{}}
	s.current = p
	s.tally++
	p.takeBack()
	p.machines = newMachines(in.Snapshot, in.Catalog)
	p.machines.spare = s.planned
	p.catchUp()
	p.remember()
	p.reopenBarred()
	p.reopen()
	p.firstServed()
	p.rounds()
	p.conclude()
	s.planned = cmp.Or(p.machines.planned, s.planned)
	return p.res
}

// Plan decides who may start now, who has to be taken back and why the others
// wait. It reads nothing but its input.
func Plan(in Input) Result {
	s := NewPlanner()
	r := s.Plan(in)
	if r.Queues = s.Queues(); r.Waiting == nil {
		r.Waiting = s.Waiting()
	}
	s.letAll()
	return r
}

// same tells whether all that was worked out still holds.
func (b *basis) same(in *Input) bool {
	return b.catalog == in.Catalog && in.Catalog != nil && b.options == in.Options && !in.OneRound && maps.Equal(b.held, in.Held) &&
		maps.Equal(b.drained, in.Drained)
}

// root is the queues of one cohort tree, or a queue that is in none.
type root struct {
	node    quota.NodeID
	lines   []*line
	freed   pairSet // since the last plan
	victims bool    // others may be displaced than in the last plan
	least   *victim // the least important of those, where nothing else has changed about them
	wakeAt  int64   // when that will be so; 0: not known
	moves   bool    // some of its Jobs have their turn
	changed bool    // something else is used than at the beginning of the last plan
	unkept  bool    // what some kept of their queues' own may be others' now
	used    bool    // and by this plan
	stale   bool    // something may be otherwise than after the last plan

	// lowest is the least priority of who runs, if anybody runs, as of a plan.
	lowest   int64
	runs     bool
	lowestOf int64
}

// wakeRoot notes a moment at which others may be displaced.
func (p *planner) wakeRoot(n quota.NodeID, at int64) {
	p.wake(at)
	r := p.rootOf(n)
	if r != nil && at > p.Now && (r.wakeAt == 0 || at < r.wakeAt) {
		r.wakeAt = at
	}
}

// letAll gives up all shapes.
func (s *Planner) letAll() {
	for _, c := range s.classes {
		s.let(c)
	}
}

func (s *Planner) let(c *class) {
	for i := range c.shapes {
		c.shapes[i].let(s.current.Snapshot)
	}
	c.shapes = nil
}
