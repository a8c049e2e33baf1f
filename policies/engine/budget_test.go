package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestBudgetCancelsWhenItsTimeIsUpAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := startBudget(time.Second, 1<<30)
		defer stop()
		time.Sleep(time.Second - time.Millisecond)
		synctest.Wait()
		if b.cancel.Cancelled() {
			t.Fatal("cancelled too early")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if !b.cancel.Cancelled() {
			t.Fatal("not cancelled though its time is up")
		}
	})
}

func TestStoppedBudgetCancelsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := startBudget(time.Second, 1<<30)
		time.Sleep(500 * time.Millisecond)
		stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if b.cancel.Cancelled() {
			t.Fatal("cancelled after it was stopped")
		}
	})
}
