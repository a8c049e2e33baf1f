package engine

import (
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// budgetParts is how many parts an evaluation's time has.
const budgetParts = 10

// budget cancels an evaluation when its time is up. The time is counted in
// parts, and each begins when the end of the one before was noticed: while the
// machine gives the process no time at all, only one part runs out. A policy is
// to blame for its own slowness, not for that of its neighbours.
type budget struct {
	cancel topdown.Cancel
	part   time.Duration
	left   atomic.Int32
}

// startBudget arms the budget; stop ends it.
func startBudget(limit time.Duration) (b *budget, stop func()) {
	b = &budget{cancel: topdown.NewCancel(), part: limit / budgetParts}
	b.left.Store(budgetParts)
	// The first part is all that most evaluations see of this.
	timer := time.AfterFunc(b.part, b.next)
	return b, func() {
		b.left.Store(0)
		timer.Stop()
	}
}

func (b *budget) next() {
	switch left := b.left.Add(-1); {
	case left > 0:
		time.AfterFunc(b.part, b.next)
	case left == 0:
		b.cancel.Cancel()
	}
}
