//go:build plane

package main

import (
	"context"
	"testing"
	"time"
)

// TestASmallSoakKeepsItsPromises is a fiftieth of the soak, thirty times as fast.
func TestASmallSoakKeepsItsPromises(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s := soak(0.02, 30)
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
	if r.did == 0 || r.counts.Started != s.jobs {
		t.Errorf("%d Jobs started, and others interfered %d times", r.counts.Started, r.did)
	}
	t.Logf("%.1f s, %d interferences, %+v", r.counts.Makespan().Seconds(), r.did, r.counts)
}
