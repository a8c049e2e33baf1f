package policycheck

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// lateMax is how many checks may go on beside the one whose turn it is. What a
// compilation is stuck in hears nobody, and each takes a core and its memory.
const lateMax = 3

var errAllLate = errors.New("checks of earlier edits could not be stopped and still run, and no more are begun. " +
	"Try: take those edits back, then restart the manager")

// slot lets one check run after the other, and none keep the others from theirs: who
// has had it for longer than the patience is late, and has it no more.
type slot struct {
	free     chan struct{} // has an element while nobody has the slot
	patience time.Duration

	mu   sync.Mutex
	late int
}

func newSlot(patience time.Duration) *slot {
	s := &slot{free: make(chan struct{}, 1), patience: patience}
	s.free <- struct{}{}
	return s
}

// turn is of one check, which ends it.
type turn struct {
	slot  *slot
	timer *time.Timer

	// Under the slot's lock.
	ended, late bool
}

// take waits for the slot.
func (s *slot) take(ctx context.Context) (*turn, error) {
	select {
	case <-s.free:
	case <-ctx.Done():
		return nil, fmt.Errorf("the checks of other edits take more than %v", deadline)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late >= lateMax {
		s.free <- struct{}{}
		return nil, errAllLate
	}
	t := &turn{slot: s}
	t.timer = time.AfterFunc(s.patience, t.pass)
	return t, nil
}

// pass gives the slot to the next, though the check goes on.
func (t *turn) pass() {
	t.slot.mu.Lock()
	defer t.slot.mu.Unlock()
	if t.ended {
		return
	}
	t.late = true
	t.slot.late++
	t.slot.free <- struct{}{}
}

func (t *turn) end() {
	t.timer.Stop()
	t.slot.mu.Lock()
	defer t.slot.mu.Unlock()
	t.ended = true
	if t.late {
		t.slot.late--
		return
	}
	t.slot.free <- struct{}{}
}
