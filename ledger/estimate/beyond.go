package estimate

import (
	"fmt"

	"github.com/holdshort/holdshort/ledger/demand"
)

// kind is Jobs of one queue that ask for the same, with the same rights: while the
// first of them does not fit, nor does any behind it.
type kind struct {
	queue, asks string
	priority    int64
}

// beyond is who waits and is not played.
type beyond struct {
	jobs      int
	kinds     map[kind]int
	witnesses map[kind][]string // UIDs of those of a kind who are played
	unlike    int               // of no kind
}

// kindOf is false where who is behind in line may start sooner.
func (s *stage) kindOf(j *demand.Job) (kind, bool) {
	v := s.Plan.Verdicts[j.UID].Verdict
	if len(v.Order) > 0 || len(s.Plan.Protects) > 0 {
		return kind{}, false
	}
	limit := int64(0)
	if j.Policy != nil {
		limit = j.Policy.ActiveDeadlineSec
	}
	asks := fmt.Sprint(j.PodSets, v.Flavors, v.Flavors == nil, limit, j.MaxRuntimeSec, v.MaxRuntimeSeconds, j.Ran)
	return kind{s.queueOf(j), asks, v.Priority}, true
}

// leaveOut has Jobs that wait not play.
func (s *stage) leaveOut(jobs []*demand.Job) {
	for _, j := range jobs {
		s.beyond.jobs++
		if k, alike := s.kindOf(j); alike {
			s.beyond.kinds[k]++
		} else {
			s.beyond.unlike++
		}
	}
}

// watchKinds finds those who are played, and nothing but room keeps from starting, of
// the kinds of those who are not.
func (s *stage) watchKinds() {
	if s.beyond.jobs == 0 {
		return
	}
	for _, j := range s.cast {
		if !waits(j) || j.Started || j.Active+j.Terminating > 0 || j.HeldByOwner || j.Backoff.Until > s.Plan.Now ||
			s.Plan.Holds[j.UID].Reason != nil || s.Plan.Verdicts[j.UID].Reason != nil {
			continue
		}
		if k, alike := s.kindOf(j); alike && s.beyond.kinds[k] > 0 {
			s.beyond.witnesses[k] = append(s.beyond.witnesses[k], j.UID)
		}
	}
}

// overtaking is how many Jobs that are not played may start before one does, in any of
// the plays: those of whose kind nobody waits by then that is.
func (s *stage) overtaking(uid string, plays []*play) int {
	n := s.beyond.unlike
	for k, jobs := range s.beyond.kinds {
		for _, p := range plays {
			if at, began := p.began[uid]; began && !p.waitsBeyond(uid, at.Earliest, s.beyond.witnesses[k]) {
				n += jobs
				break
			}
		}
	}
	return n
}

// waitsBeyond tells whether any of these Jobs still waited when another started, or is
// that one.
func (p *play) waitsBeyond(uid string, at int64, witnesses []string) bool {
	for _, one := range witnesses {
		first, started := p.first[one]
		if one == uid || !started || first > at {
			return true
		}
	}
	return false
}
