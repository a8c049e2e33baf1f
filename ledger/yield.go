package ledger

import (
	"context"
	"sync"
	"time"
)

// underWay is what is being written of Jobs that start or make room.
type underWay struct {
	mu   sync.Mutex
	open map[chan struct{}]struct{} // each is closed when it is written, or given up
}

func newUnderWay() *underWay { return &underWay{open: map[chan struct{}]struct{}{}} }

// begin notes a write, until end is called.
func (u *underWay) begin() (end func()) {
	one := make(chan struct{})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[one] = struct{}{}
	return func() {
		close(one)
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.open, one)
	}
}

// wait returns when what is being written now is written. While that takes long, it
// waits for what has come meanwhile as well, all in all for a time at most.
func (u *underWay) wait(ctx context.Context, most time.Duration) {
	open := u.now()
	if len(open) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for ; len(open) > 0; open = u.now() {
		began := time.Now()
		for _, one := range open {
			select {
			case <-one:
			case <-ctx.Done():
				return
			}
		}
		if time.Since(began) < quickWrite {
			return
		}
	}
}

func (u *underWay) now() []chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	open := make([]chan struct{}, 0, len(u.open))
	for one := range u.open {
		open = append(open, one)
	}
	return open
}

// Yield returns when those are written whom the ledger was starting or taking back
// when it was called; where that takes long, later, but within yieldMax. Who only adds
// Jobs to a line goes after those whose turn it is: where the API server has more to
// do than it can, a thousand creations at once would otherwise keep the machines
// waiting for each start.
func (l *Loop) Yield(ctx context.Context) { l.underWay.wait(ctx, yieldMax) }
