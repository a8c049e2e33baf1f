package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// slowFor compiles, but for bundles from one source until release is closed.
func slowFor(source string, release <-chan struct{}) func(context.Context, Bundle, Options) (*Revision, error) {
	return func(ctx context.Context, b Bundle, o Options) (*Revision, error) {
		if b.Source == source {
			<-release
		}
		return Compile(ctx, b, o)
	}
}

func slowEngine(t *testing.T) *Engine {
	t.Helper()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	e := New(Options{BuildDeadline: 3 * time.Second})
	e.builds.compile = slowFor("slow", release)
	return e
}

func slowBundle() Bundle {
	b := withFreeze()
	b.Source = "slow"
	return b
}

// Without it Activate would not return, and nothing could be activated after it.
func TestABuildThatDoesNotEndIsRefusedAndTheNextOneIsNotKeptWaiting(t *testing.T) {
	e := slowEngine(t)
	first, err := e.Activate(t.Context(), starter())
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Activate(t.Context(), slowBundle())
	var bad *BundleError
	if !errors.As(err, &bad) || bad.Problems[0].Code != CodeSlow || !strings.Contains(err.Error(), "takes longer than 3s") {
		t.Fatalf("got %v, want it refused as too slow", err)
	}
	if e.Active() != first {
		t.Error("what was in force is not any more")
	}
	if _, err := e.Activate(t.Context(), withFreeze()); err != nil {
		t.Errorf("the next one is refused: %v", err)
	}
}

func TestWithTooManyStuckBuildsThereIsStillAWayBack(t *testing.T) {
	e := slowEngine(t)
	e.builds.stuck.Store(stuckMax)
	if _, err := e.Activate(t.Context(), withFreeze()); !errors.Is(err, ErrBusy) {
		t.Errorf("a new policy: %v, want %v", err, ErrBusy)
	}
	if _, err := e.Try(t.Context(), withFreeze(), Options{}); !errors.Is(err, ErrBusy) {
		t.Errorf("trying one: %v, want %v", err, ErrBusy)
	}
	if _, err := e.Restore(t.Context(), starter()); err != nil {
		t.Errorf("the way back is closed: %v", err)
	}
}
