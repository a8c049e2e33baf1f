package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Gate has a say before a revision replaces another one; old is nil for the
// first. An error keeps the old one.
type Gate func(ctx context.Context, old, candidate *Revision) error

// Engine holds the revision in force.
type Engine struct {
	options Options
	builds  *builder
	active  atomic.Pointer[Revision]

	mu        sync.Mutex // one activation at a time
	listeners []func(*Revision)
}

// New is an engine with no policy in force.
func New(options Options) *Engine {
	e := &Engine{options: options, builds: newBuilder()}
	if observe := options.Observe; observe != nil {
		// What a candidate says while the gates try it on is no decision.
		e.options.Observe = func(d Decision) {
			if active := e.Active(); d.Workload == nil || active != nil && active.Digest() == d.Revision {
				observe(d)
			}
		}
	}
	return e
}

// Active is the revision in force; nil before the first.
func (e *Engine) Active() *Revision { return e.active.Load() }

// Activate compiles a bundle, asks the gates and puts it in force. The same
// content as is in force changes nothing. On any error the last good revision
// stays; errors of the bundle itself are *BundleError.
func (e *Engine) Activate(ctx context.Context, bundle Bundle) (*Revision, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.builds.busy(); err != nil {
		return nil, err
	}
	return e.activate(ctx, bundle, e.options.Gates)
}

// Restore puts a bundle into force that was in force before: after a restart, or
// because the one after it was worse. It is compiled and checked, and the gates
// are not asked again; whoever needs the way back needs it now, whatever else still
// runs.
func (e *Engine) Restore(ctx context.Context, bundle Bundle) (*Revision, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.activate(ctx, bundle, nil)
}

// Try compiles a bundle that does not come into force, within the time that one
// which does may take.
func (e *Engine) Try(ctx context.Context, bundle Bundle, options Options) (*Revision, error) {
	if err := e.builds.busy(); err != nil {
		return nil, err
	}
	return e.builds.build(ctx, bundle, options)
}

// Renew puts a bundle in the place of the one in force that says the same: it may
// come from elsewhere, lie in other files, or have another signature. It is
// compiled and its signature checked; the gates have nothing to say, since nothing
// is decided otherwise.
func (e *Engine) Renew(ctx context.Context, bundle Bundle) (*Revision, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.Active()
	if old == nil || old.Digest() != bundle.Digest() {
		return nil, fmt.Errorf("revision %s is not in force, so it is not renewed", bundle.Digest())
	}
	if old.bundle.Fingerprint() == bundle.Fingerprint() {
		return old, nil
	}
	if err := e.builds.busy(); err != nil {
		return nil, err
	}
	renewed, err := e.builds.build(ctx, bundle, e.options)
	if err != nil {
		return nil, err
	}
	e.swap(renewed)
	return renewed, nil
}

func (e *Engine) swap(to *Revision) {
	e.active.Store(to)
	for _, listener := range e.listeners {
		listener(to)
	}
}

func (e *Engine) activate(ctx context.Context, bundle Bundle, gates []Gate) (*Revision, error) {
	old := e.Active()
	if old != nil && old.Digest() == bundle.Digest() {
		return old, nil
	}
	candidate, err := e.builds.build(ctx, bundle, e.options)
	if err != nil {
		return nil, err
	}
	for _, gate := range gates {
		if err := gate(ctx, old, candidate); err != nil {
			return nil, fmt.Errorf("revision %s may not replace the one in force: %w", Short(candidate.Digest()), err)
		}
	}
	e.swap(candidate)
	return candidate, nil
}

// Subscribe has f called after each swap, in the goroutine that activates; f
// must return quickly and must not activate anything itself. There is no end to
// a subscription: engines live as long as their process.
func (e *Engine) Subscribe(f func(*Revision)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners = append(e.listeners, f)
}
