package webhook

import (
	"strconv"
	"sync"
	"time"
)

const (
	// stampsKept is how many stamps are remembered: more than a replica gives
	// while one request lasts.
	stampsKept = 4096
	// stampLife is how long one request may last, from its first call to its
	// second: the API server ends it after a minute by itself.
	stampLife = time.Minute
)

// stamps gives arrivals: the clock in nanoseconds, never the same value twice
// and never an earlier one after a later one.
//
// A request may call the webhook again after others have changed the object,
// and each call has another UID. What it gave to a Job a moment ago is
// therefore known by the stamp itself and by whose it is. Whoever copies such a
// stamp gains nothing: an arrival never counts before the Job's creation.
type stamps struct {
	now func() time.Time

	mu    sync.Mutex
	last  int64
	owner map[int64]string
	order []int64 // as given: ascending
}

func newStamps(now func() time.Time) *stamps {
	return &stamps{now: now, owner: map[int64]string{}}
}

// give returns the stamp for a Job that carries another already, or "".
func (s *stamps) give(carries, job string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().UnixNano()
	if stamp, err := strconv.ParseInt(carries, 10, 64); err == nil && s.owner[stamp] == job && stamp > now-int64(stampLife) {
		return carries
	}
	s.last = max(now, s.last+1)
	s.owner[s.last] = job
	s.order = append(s.order, s.last)
	if len(s.order) > stampsKept {
		delete(s.owner, s.order[0])
		s.order = s.order[1:]
	}
	return strconv.FormatInt(s.last, 10)
}
