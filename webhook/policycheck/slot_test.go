package policycheck

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func take(t *testing.T, s *slot) (*turn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	return s.take(ctx)
}

func mustTake(t *testing.T, s *slot) *turn {
	t.Helper()
	got, err := take(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestChecksRunOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(patience)
		first := mustTake(t, s)
		time.AfterFunc(patience/2, first.end)
		begun := time.Now()
		mustTake(t, s).end()
		if waited := time.Since(begun); waited != patience/2 {
			t.Errorf("the next one waited for %v, want %v", waited, patience/2)
		}
		mustTake(t, s).end()
	})
}

func TestACheckThatIsStuckKeepsTheNextOneWaitingForItsPatienceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(patience)
		stuck := mustTake(t, s)
		begun := time.Now()
		mustTake(t, s).end()
		if waited := time.Since(begun); waited != patience {
			t.Errorf("the next one waited for %v, want %v", waited, patience)
		}
		begun = time.Now()
		mustTake(t, s).end()
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the one after it waited for %v", waited)
		}
		stuck.end()
	})
}

func TestNoMoreChecksAreBegunWhileTooManyAreStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(patience)
		var stuck []*turn
		for range lateMax {
			stuck = append(stuck, mustTake(t, s))
		}
		for range 2 {
			if _, err := take(t, s); !errors.Is(err, errAllLate) {
				t.Fatalf("got %v, want %v", err, errAllLate)
			}
		}
		stuck[0].end()
		mustTake(t, s).end()
		for _, each := range stuck[1:] {
			each.end()
		}
		if s.late != 0 || len(s.free) != 1 {
			t.Errorf("%d are late after all have ended, and the slot is free %d times", s.late, len(s.free))
		}
	})
}

func TestWhoeverDoesNotGetTheSlotInTimeIsToldThatOthersTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlot(2 * deadline)
		first := mustTake(t, s)
		if _, err := take(t, s); err == nil || err.Error() != "the checks of other edits take more than 2s" {
			t.Errorf("got %v", err)
		}
		first.end()
	})
}
