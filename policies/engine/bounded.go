package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// MemoryError is why an evaluation was stopped that took too much.
type MemoryError struct{}

// Error says how much that is.
func (MemoryError) Error() string {
	return fmt.Sprintf("took more than %d MiB of memory and was stopped", memoryMax>>20)
}

// StuckError is about an evaluation that was stopped and still runs.
type StuckError struct{}

// Error says so.
func (StuckError) Error() string { return "cannot be stopped, since one call in it takes that long" }

// Bounded is for evaluations of the same rules by others, such as tests: f gets
// the time and the memory that are given, and is left alone if it does not hear
// that it is to stop. What it has written may be read if there is no StuckError.
func Bounded(ctx context.Context, limit time.Duration, f func(topdown.Cancel)) error {
	heap := make([]metrics.Sample, 1)
	before := heapInUse(heap)
	budget, stop := startBudget(limit, memoryMax)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		if budget.left.Swap(0) > 0 {
			budget.end()
		}
	})()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(budget.cancel)
	}()
	var err error
	select {
	case <-ended:
	case <-budget.given:
		err = StuckError{}
	}
	if err == nil && budget.greedy.Load() {
		err = MemoryError{}
	}
	// The next one is measured by what is in use when it begins.
	if heapInUse(heap) > before+memoryMax/2 {
		debug.FreeOSMemory()
	}
	return err
}
