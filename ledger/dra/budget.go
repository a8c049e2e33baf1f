package dra

import "context"

// patience is how many steps of its search the allocator may take for one answer.
// It tries every combination before it says no, so a claim can be written that it
// would need hours for. The scheduler stops by the clock; a number of steps is the
// same on every machine, so that the same objects always give the same rows.
const patience = 20_000

// budget is a context that is over after so many looks at it: the allocator looks
// once per step. It belongs to one call, on one goroutine.
type budget struct {
	context.Context

	left int
}

func newBudget() *budget { return &budget{Context: context.Background(), left: patience} }

// Err is what the allocator asks before each step.
func (b *budget) Err() error {
	if b.left <= 0 {
		return context.DeadlineExceeded
	}
	b.left--
	return nil
}

func (b *budget) spent() bool { return b.left <= 0 }
