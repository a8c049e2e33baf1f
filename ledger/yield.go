package ledger

import (
	"context"
	"sync"
	"time"
)

// underWay is what is being written of Jobs that start or make room.
type underWay struct {
	mu   sync.Mutex
	open map[chan struct{}]time.Time // when each began; closed when it is written, or given up
	took time.Duration               // the one that ended last
}

func newUnderWay() *underWay { return &underWay{open: map[chan struct{}]time.Time{}} }

// begin notes a write, until end is called.
func (u *underWay) begin() (end func()) {
	one, began := make(chan struct{}), time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[one] = began
	return func() {
		close(one)
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.open, one)
		u.took = time.Since(began)
	}
}

// slow is what is being written now, if writes take long.
func (u *underWay) slow() []chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	slow := u.took > quickWrite
	open := make([]chan struct{}, 0, len(u.open))
	for one, began := range u.open {
		open, slow = append(open, one), slow || time.Since(began) > quickWrite
	}
	if !slow {
		return nil
	}
	return open
}

// wait lets what is being written go first, again and again while that takes long, but
// not longer than a time.
func (u *underWay) wait(ctx context.Context, most time.Duration) {
	open := u.slow()
	if len(open) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for ; len(open) > 0; open = u.slow() {
		for _, one := range open {
			select {
			case <-one:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Yield waits, where writes take long, for those whom the ledger is starting or taking
// back, for yieldMax at most. Who only adds Jobs to a line goes after those whose turn
// it is: where the API server has more to do than it can, a thousand creations at once
// would otherwise keep the machines waiting for each start.
func (l *Loop) Yield(ctx context.Context) { l.underWay.wait(ctx, yieldMax) }
