package book

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
)

// timed is the admitted Jobs whose time runs out, and when. Nobody looks at them
// before the first of these moments.
type timed struct {
	ends  map[*Entry]int64
	first int64 // the earliest of them; 0: there is none
	stale bool  // look for the earliest again
}

func (t *timed) set(e *Entry, at int64) {
	was := t.ends[e]
	if was == at {
		return
	}
	t.stale = t.stale || was == t.first
	if at == 0 {
		delete(t.ends, e)
		return
	}
	if t.ends == nil {
		t.ends = map[*Entry]int64{}
	}
	t.ends[e] = at
	if t.first == 0 || at < t.first {
		t.first = at
	}
}

func (t *timed) earliest() int64 {
	if t.stale {
		t.first, t.stale = 0, false
		for _, at := range t.ends {
			if t.first == 0 || at < t.first {
				t.first = at
			}
		}
	}
	return t.first
}

// TimeUp is the admitted Jobs whose time is up at a moment, by UID, and when the
// next one's will be; 0: never.
func (s *Snapshot) TimeUp(now int64) (up []*Entry, next int64) {
	t := &s.b.timed
	if next = t.earliest(); next == 0 || next > now {
		return nil, next
	}
	next = 0
	for e, at := range t.ends {
		switch {
		case at <= now:
			up = append(up, e)
		case next == 0 || at < next:
			next = at
		}
	}
	slices.SortFunc(up, func(a, b *Entry) int { return cmp.Compare(a.uid, b.uid) })
	return up, next
}

// TimeUpAt is when an admitted Job has run for as long as it may; 0: never. What
// its user has written since counts where it is less.
func (e *Entry) TimeUpAt() int64 {
	r, j := e.reservation(), e.Subject()
	if r == nil || j == nil {
		return 0
	}
	return j.EndsBy(demand.Shorter(r.MaxRuntimeSec, j.MaxRuntimeSec), r.Time)
}
