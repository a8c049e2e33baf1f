package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrBusy is why no build is begun now; it says nothing about the bundle.
var ErrBusy = errors.New("builds of earlier policies could not be stopped and still run, and no more are begun. " +
	"Try: take back the edits that are refused as too slow, then restart the manager")

// noMemoryLimit is what a build is given: it is counted for evaluations only.
const noMemoryLimit = 1 << 62

// builder compiles where a build can be left alone: not all of what is done with a
// bundle hears that its time is up, and whoever writes a part of the policy must
// not stop all others from changing theirs.
type builder struct {
	compile func(context.Context, Bundle, Options) (*Revision, error)
	stuck   atomic.Int32 // builds that were given up and still run
}

func newBuilder() *builder { return &builder{compile: Compile} }

// built is what came of a build; nobody reads it before it has ended.
type built struct {
	revision *Revision
	err      error
}

// build is Compile within the time that the options give.
func (b *builder) build(ctx context.Context, bundle Bundle, options Options) (*Revision, error) {
	limit := options.withDefaults().BuildDeadline
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // one that was left alone ends with the step that it is in
	budget, stop := startBudget(limit, noMemoryLimit)
	defer stop()
	result := &built{}
	work := func() { result.revision, result.err = b.compile(ctx, bundle, options) }
	if !newPool(0).run(work, budget.given, &b.stuck) {
		return nil, newBundleError([]Problem{{Code: CodeSlow, Try: "smaller numbers, and less data",
			Message: fmt.Sprintf("compiling the policy takes longer than %s and was given up", limit)}})
	}
	return result.revision, result.err
}

// busy: each build that was given up may take a core for good.
func (b *builder) busy() error {
	if b.stuck.Load() >= stuckMax {
		return ErrBusy
	}
	return nil
}
