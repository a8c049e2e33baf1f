package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/policies"
)

// fairSearch looks for victims by how much more than its own each queue and
// cohort has, with the claim counted in.
type fairSearch struct {
	*planner
	claim  *claim
	own    quota.NodeID
	order  func(a, b *victim) int
	byNode map[quota.NodeID][]*victim // who may go, in order
	pruned map[quota.NodeID]bool
	chosen []target
}

// fairTargets takes from whoever is furthest beyond its share, as long as the
// strategies say that this makes shares more equal.
func (p *planner) fairTargets(c *claim) []target {
	own := c.item.line.node
	s := &fairSearch{planner: p, claim: c, own: own, order: compareVictims(own)}
	all := s.candidates()
	if len(all) == 0 {
		return nil
	}
	p.watchMachines(c)
	strategies := p.Catalog.FairSharing.Strategies
	if len(strategies) == 0 {
		strategies = []policies.ShareStrategy{policies.LessThanOrEqualToFinalShare, policies.LessThanInitialShare}
	}
	p.tree.addAll(own, c.uses)
	s.start(all)
	enough, left := s.first(strategies[0])
	if !enough && len(strategies) > 1 {
		s.start(left)
		enough = s.second()
	}
	p.tree.removeAll(own, c.uses)
	if enough {
		s.chosen = p.fillBack(c, s.chosen, func() bool { return p.tree.fits(own, c.uses) && c.enough() })
	}
	p.spareAll(c, s.chosen)
	if !enough {
		return nil
	}
	return s.chosen
}

// candidates is everybody whom the policies let go: of the claim's own queue, and
// of every queue of the tree that borrows something needed.
func (s *fairSearch) candidates() []*victim {
	preemption := s.claim.item.line.queue.Preemption
	var all []*victim
	for _, q := range s.tree.QueuesBelow(s.tree.Root(s.own)) {
		which := preemption.ReclaimWithinCohort
		if q == s.own {
			which = preemption.WithinQueue
		} else if s.tree.within(q, s.claim.needs) {
			continue
		}
		if which == "" || which == policies.VictimsNever {
			continue
		}
		for _, v := range s.runningIn(q) {
			if !s.goes(v) && v.usesAny(s.claim.needs) && may(which, s.claim.item, v) && s.mayGo(s.claim.item, v) {
				all = append(all, v)
			}
		}
	}
	return all
}

// start sorts victims by queue, for choosing anew.
func (s *fairSearch) start(all []*victim) {
	s.byNode, s.pruned = map[quota.NodeID][]*victim{}, map[quota.NodeID]bool{}
	slices.SortFunc(all, s.order)
	for _, v := range all {
		s.byNode[v.node] = append(s.byNode[v.node], v)
	}
}

func (s *fairSearch) pop(n quota.NodeID) *victim {
	v := s.byNode[n][0]
	s.byNode[n] = s.byNode[n][1:]
	return v
}

func (s *fairSearch) choose(v *victim, right demand.Right) {
	s.drop(s.claim, v)
	s.chosen = append(s.chosen, target{v, right})
}

// enough: the claim, which the tree counts in, fits.
func (s *fairSearch) enough() bool {
	s.tree.removeAll(s.own, s.claim.uses)
	fits := s.tree.fits(s.own, s.claim.uses) && s.claim.enough()
	s.tree.addAll(s.own, s.claim.uses)
	return fits
}

// first chooses until there is enough, and returns those that the strategy
// spares.
func (s *fairSearch) first(strategy policies.ShareStrategy) (bool, []*victim) {
	var left []*victim
	for {
		n := s.next()
		if n == quota.None {
			return false, left
		}
		switch {
		case n == s.own:
			s.choose(s.pop(n), demand.InQueue)
		case s.tree.within(s.own, s.claim.needs):
			s.choose(s.pop(n), demand.InCohortReclamation)
		default:
			v, spared := s.byShare(n, strategy)
			left = append(left, spared...)
			if v == nil {
				continue
			}
			s.choose(v, demand.InCohortFairSharing)
		}
		if s.enough() {
			return true, nil
		}
	}
}

// byShare takes the first Job of a queue that the strategy lets go.
func (s *fairSearch) byShare(n quota.NodeID, strategy policies.ShareStrategy) (*victim, []*victim) {
	mine, theirs := s.beforeCommon(n)
	want, has := s.tree.Share(mine), s.tree.Share(theirs)
	var spared []*victim
	for len(s.byNode[n]) > 0 {
		v := s.pop(n)
		if strategy == policies.LessThanInitialShare {
			if want.Compare(has) < 0 {
				return v, spared
			}
		} else {
			s.tree.remove(v)
			then := s.tree.Share(theirs)
			s.tree.restore(v)
			if want.Compare(then) <= 0 {
				return v, spared
			}
		}
		spared = append(spared, v)
	}
	return nil, spared
}

// second takes one more of each queue that has more than the claim's would.
func (s *fairSearch) second() bool {
	for {
		n := s.next()
		if n == quota.None {
			return false
		}
		mine, theirs := s.beforeCommon(n)
		if s.tree.Share(mine).Compare(s.tree.Share(theirs)) < 0 {
			s.choose(s.pop(n), demand.InCohortFairSharing)
			if s.enough() {
				return true
			}
		}
		s.pruned[n] = true
	}
}

// beforeCommon is the nodes just below the nearest that both queues are below.
func (s *fairSearch) beforeCommon(n quota.NodeID) (mine, theirs quota.NodeID) {
	mine = s.own
	for !s.tree.Below(n, s.tree.Parent(mine)) {
		mine = s.tree.Parent(mine)
	}
	theirs = n
	for s.tree.Parent(theirs) != s.tree.Parent(mine) {
		theirs = s.tree.Parent(theirs)
	}
	return mine, theirs
}

// next is the queue to take from: down from the root, always to who is furthest
// beyond its share. None if nobody is left.
func (s *fairSearch) next() quota.NodeID {
	root := s.tree.Root(s.own)
	if root == s.own {
		if len(s.byNode[root]) == 0 {
			return quota.None
		}
		return root
	}
	for !s.pruned[root] {
		if n := s.descend(root); n != quota.None {
			return n
		}
	}
	return quota.None
}

func (s *fairSearch) descend(at quota.NodeID) quota.NodeID {
	queue, cohort := quota.NodeID(quota.None), quota.NodeID(quota.None)
	var ofQueue, ofCohort quota.Share
	for _, child := range s.tree.Children(at) {
		share := s.tree.Share(child)
		switch {
		case s.prune(child, share):
		case !s.tree.IsQueue(child):
			if cohort == quota.None || share.Compare(ofCohort) > 0 {
				cohort, ofCohort = child, share
			}
		case queue == quota.None || s.further(child, share, queue, ofQueue):
			queue, ofQueue = child, share
		}
	}
	switch {
	case cohort == quota.None && queue == quota.None:
		s.pruned[at] = true
		return quota.None
	case cohort != quota.None && (queue == quota.None || ofCohort.Compare(ofQueue) >= 0):
		return s.descend(cohort)
	}
	return queue
}

// further tells whether one queue is further beyond its share than another; of
// equals, it is the one whose first victim is cheaper.
func (s *fairSearch) further(a quota.NodeID, ofA quota.Share, b quota.NodeID, ofB quota.Share) bool {
	more := ofA.Compare(ofB)
	return more > 0 || more == 0 && s.order(s.byNode[a][0], s.byNode[b][0]) < 0
}

// prune leaves a node out for good that has nobody to give: it borrows nothing,
// unless the claim is its own, or all of its victims were looked at.
func (s *fairSearch) prune(n quota.NodeID, share quota.Share) bool {
	if s.tree.IsQueue(n) {
		s.pruned[n] = s.pruned[n] || !share.Borrowing && n != s.own || len(s.byNode[n]) == 0
	} else {
		s.pruned[n] = s.pruned[n] || !share.Borrowing && !s.tree.Below(s.own, n)
	}
	return s.pruned[n]
}
