package ledger

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestYieldingEndsWithWhatWasBeingWrittenWhenItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, u := time.Now(), newUnderWay()
		after := func(want time.Duration) {
			t.Helper()
			u.wait(t.Context(), 500*time.Millisecond)
			if got := time.Since(began); got != want {
				t.Errorf("went on after %s, want %s", got, want)
			}
		}
		after(0)
		first, second := u.begin(), u.begin()
		time.AfterFunc(100*time.Millisecond, first)
		time.AfterFunc(200*time.Millisecond, second)
		time.AfterFunc(150*time.Millisecond, func() { u.begin() }) // comes later, and never ends
		after(200 * time.Millisecond)
		after(700 * time.Millisecond)
	})
}

func TestYieldingEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, u := time.Now(), newUnderWay()
		u.begin()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		u.wait(ctx, time.Second)
		if got := time.Since(began); got != 20*time.Millisecond {
			t.Errorf("went on after %s", got)
		}
	})
}
