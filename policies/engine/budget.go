package engine

import (
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// budgetParts is how many parts an evaluation's time has.
const budgetParts = 50

// budget cancels an evaluation when its time is up, or the memory it took. The
// time is counted in parts, and each begins when the end of the one before was
// noticed: while the machine gives the process no time at all, only one part runs
// out. A policy is to blame for its own slowness, not for that of its neighbours.
//
// Memory can only be counted for the whole process. It is looked at whenever a part
// is over, which most evaluations don't see, and a policy has to have doubled what
// was in use, and more, to be stopped: a text that is put together with itself
// over and over would end the process long before its time is up.
type budget struct {
	cancel topdown.Cancel
	part   time.Duration
	left   atomic.Int32
	memory uint64 // that may come on top of twice what was in use
	began  uint64 // in use when it was asked, or soon after
	greedy atomic.Bool
	given  chan struct{} // closed when it was told to stop long ago
	heap   [1]metrics.Sample
}

// grace is how long an evaluation may take to hear that it is to stop.
const grace = time.Second

// soon is in how short a time nobody can take much memory: what is in use is looked at
// after it, which costs the many that end before nothing.
const soon = 10 * time.Millisecond

// startBudget arms the budget; stop ends it.
func startBudget(limit time.Duration, memory uint64) (b *budget, stop func()) {
	b = &budget{
		cancel: topdown.NewCancel(), part: limit / budgetParts,
		memory: memory, given: make(chan struct{}),
	}
	if b.part > soon {
		b.began = heapInUse(b.heap[:])
	}
	b.left.Store(budgetParts)
	// The first part is all that most evaluations see of this.
	timer := time.AfterFunc(b.part, b.next)
	return b, func() {
		b.left.Store(0)
		timer.Stop()
	}
}

func (b *budget) next() {
	left := b.left.Add(-1)
	if left == budgetParts-1 && b.part <= soon {
		b.began = heapInUse(b.heap[:])
	}
	switch {
	case left > 0 && b.tooMuch():
		b.greedy.Store(true)
		b.end()
	case left > 0:
		time.AfterFunc(b.part, b.next)
	case left == 0:
		b.end()
	}
}

// end is called once: after it no part begins.
func (b *budget) end() {
	b.cancel.Cancel()
	time.AfterFunc(grace, func() { close(b.given) })
}

func (b *budget) tooMuch() bool {
	return heapInUse(b.heap[:]) > 2*b.began+b.memory
}

// heapInUse is what the process's objects take, those not yet collected included.
func heapInUse(samples []metrics.Sample) uint64 {
	samples[0].Name = "/memory/classes/heap/objects:bytes"
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 {
		return 0 // a runtime that does not tell
	}
	return samples[0].Value.Uint64()
}
