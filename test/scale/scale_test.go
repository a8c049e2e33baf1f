//go:build plane

package main

import (
	"context"
	"testing"
	"time"
)

// TestSmallShapeEndsWithinItsQuotas is a fiftieth of the shape: every Job starts
// and ends, and no queue holds more than it may at any time. How long it takes
// says nothing on a machine that others use, too.
func TestSmallShapeEndsWithinItsQuotas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s := kueues(0.02)
	env, err := begin(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	r, err := play(ctx, env, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.broken(); err != nil {
		t.Error(err)
	}
	started := 0
	for _, waits := range r.tally.waits {
		started += len(waits)
	}
	if started != s.jobs() || r.tally.ended != s.jobs() || r.tally.held != 0 {
		t.Errorf("of %d Jobs %d started and %d ended, and %d is still held", s.jobs(), started, r.tally.ended, r.tally.held)
	}
	if admissions := r.writes["PATCH jobs"]; admissions < s.jobs() {
		t.Errorf("the API server has seen %d patches of Jobs; each of %d was lifted with one", admissions, s.jobs())
	}
	if r.bare, err = playBare(ctx, env, kueues(0.01)); err != nil {
		t.Fatal(err)
	}
	if bare, own := total(r.bare.used), total(r.used); bare <= 0 || own <= bare {
		t.Errorf("with holdshort the Jobs cost %s, and half of them %s without it", own, bare)
	}
	t.Logf("%.1f s, use %.0f %%, %d taken back, writes %v", r.wall.Seconds(), 100*r.tally.use(r.wall), r.tally.takings, r.writes)
}
