package estimate

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// stage is what all plays begin with.
type stage struct {
	Input
	spans  spans
	cast   []*demand.Job // who plays
	beyond beyond
	asked  []decide.Waiting
	wants  map[string]bool // the UIDs of these
}

func (s *stage) going() bool { return s.Go == nil || s.Go() }

func waits(j *demand.Job) bool { return j.Suspended && !j.Finished && !j.Deleting }

// choose takes in whoever has something, and of those who wait the first of each
// queue, if there are too many.
func (s *stage) choose() {
	lines := map[string][]*demand.Job{}
	total := 0
	for _, j := range s.Jobs {
		switch {
		case waits(j):
			queue := s.queueOf(j)
			lines[queue] = append(lines[queue], j)
			total++
		case !j.Finished:
			s.cast = append(s.cast, j)
		}
	}
	most := cmp.Or(s.Most, waitingMax)
	share := most
	if total > most {
		share = max(s.Each, most/len(lines))
	}
	s.beyond.kinds, s.beyond.witnesses = map[kind]int{}, map[kind][]string{}
	for _, line := range lines {
		if total > most && len(line) > share {
			slices.SortFunc(line, s.compare)
			s.leaveOut(line[share:])
			line = line[:share]
		}
		s.cast = append(s.cast, line...)
	}
	slices.SortFunc(s.cast, func(a, b *demand.Job) int { return cmp.Compare(a.UID, b.UID) })
	s.watchKinds()
}

func (s *stage) queueOf(j *demand.Job) string {
	return cmp.Or(s.Plan.Verdicts[j.UID].Verdict.Queue, j.Queue)
}

// compare is the order of a queue.
func (s *stage) compare(a, b *demand.Job) int {
	return cmp.Or(policies.CompareOrder(s.order(a), s.order(b)), demand.CompareArrival(a, b))
}

func (s *stage) order(j *demand.Job) []policies.OrderKey {
	verdict := s.Plan.Verdicts[j.UID].Verdict
	if len(verdict.Order) > 0 {
		return verdict.Order
	}
	return []policies.OrderKey{{Number: -max(verdict.Priority, -math.MaxInt64)}, {Number: j.Arrival.Effective}}
}

// ask notes whom there is to be an answer about, after the first plan.
func (s *stage) ask(waiting []decide.Waiting) {
	if s.wants != nil {
		return
	}
	s.wants = map[string]bool{}
	each := map[string]int{}
	for i := range waiting {
		w := &waiting[i]
		if each[w.Queue]++; w.Queue != "" && each[w.Queue] <= s.Each {
			s.asked = append(s.asked, *w)
			s.wants[w.UID] = true
		}
	}
}

// coin is heads or tails, always the same for the same.
func coin(uid string, salt int) bool {
	h := fnv.New32a()
	h.Write([]byte{byte(salt)})
	h.Write([]byte(uid))
	return h.Sum32()>>7&1 == 1
}
