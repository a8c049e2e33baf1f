package estimate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/reason"
)

// answers puts together what the plays say, of which the first is as early as can
// be, and the second as late.
func (s *stage) answers(plays []*play) map[string][]Start {
	all := map[string][]Start{}
	for i := range s.asked {
		w := &s.asked[i]
		all[w.Queue] = append(all[w.Queue], s.answer(w, plays))
	}
	return all
}

func (s *stage) answer(w *decide.Waiting, plays []*play) Start {
	namespace, name, _ := strings.Cut(w.Key, "/")
	out := Start{UID: w.UID, Namespace: namespace, Name: name}
	for _, p := range plays {
		at, began := p.began[w.UID]
		if !began {
			continue
		}
		if out.Earliest == 0 || at.Earliest < out.Earliest {
			out.Earliest = at.Earliest
		}
		out.Latest = max(out.Latest, at.Earliest)
		out.Limits, out.Runs = out.Limits || at.Limits, max(out.Runs, at.Runs)
	}
	if out.Unknown = s.unknown(w, plays); out.Unknown != "" {
		out.Latest = 0
	}
	return out
}

// unknown is why nobody knows when a Job starts at the latest; empty: that is known.
func (s *stage) unknown(w *decide.Waiting, plays []*play) string {
	low, high := plays[0], plays[1]
	_, sometime := low.began[w.UID]
	_, surely := high.began[w.UID]
	switch {
	case !sometime && !low.ended && !surely, sometime && !surely && !high.ended:
		return "too much happens before that to look so far ahead"
	case !sometime && !surely:
		return s.never(w, low)
	case surely:
		if n := s.overtaking(w.UID, plays); n > 0 {
			return beyondText(n)
		}
		return ""
	case high.ground.open > 0:
		return fmt.Sprintf("%s no limit of how long it runs, and too few runs of its queue have ended to tell", has(high.ground.open))
	}
	return s.never(w, high)
}

func beyondText(jobs int) string {
	if jobs == 1 {
		return "a Job waits beyond those that were looked at, and may come before it"
	}
	return fmt.Sprintf("%d Jobs wait beyond those that were looked at, and may come before it", jobs)
}

func has(jobs int) string {
	if jobs == 1 {
		return "a Job before it has"
	}
	return fmt.Sprintf("each of %d Jobs before it has", jobs)
}

// never is why a Job does not start, whoever ends.
func (s *stage) never(w *decide.Waiting, p *play) string {
	why := w.Reason
	if last, waits := p.planner.Why(w.UID); waits {
		why = last.Reason
	}
	switch entry := reason.Of(why.Code); entry.Group {
	case reason.GroupHeld:
		return fmt.Sprintf("it is held (%s), and nobody knows how long", why.Code)
	case reason.GroupNeedsUser:
		return fmt.Sprintf("never as things are (%s)", why.Code)
	case reason.GroupSystem:
		return fmt.Sprintf("nothing is decided about it (%s)", why.Code)
	case reason.GroupBetween, reason.GroupShare, reason.GroupMachines, reason.GroupTurn:
	}
	return fmt.Sprintf("what it waits for does not come by Jobs that end (%s)", why.Code)
}

// holdsEnd has holds end whose end is known.
func (p *play) holdsEnd() {
	for _, is := range p.cast {
		uid := is.UID
		if held := p.in.Holds[uid].Reason; held != nil && held.Until > 0 {
			p.at(held.Until, func() {
				delete(p.in.Holds, uid)
				p.in.Touched = append(p.in.Touched, uid)
			})
		}
		verdict := p.in.Verdicts[uid]
		if why := verdict.Reason; why != nil && why.Code == reason.BackingOff && why.Until > 0 {
			verdict.Reason = nil
			p.at(why.Until, func() {
				p.in.Verdicts[uid] = verdict
				p.in.Touched = append(p.in.Touched, uid)
			})
		}
	}
	for _, d := range sortedSpared(p.in.Protects) {
		if why := p.in.Protects[d].Reason; why != nil && why.Until > 0 {
			p.at(why.Until, func() {
				delete(p.in.Protects, d)
				p.in.Touched = append(p.in.Touched, d.Victim)
			})
		}
	}
}

func sortedSpared(all map[decide.Displacement]decide.ProtectAnswer) []decide.Displacement {
	list := make([]decide.Displacement, 0, len(all))
	for d := range all {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b decide.Displacement) int {
		return strings.Compare(a.Victim+" "+a.By, b.Victim+" "+b.By)
	})
	return list
}
