package history

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const flushPollInterval = 20 * time.Millisecond

// Flush waits until everything that the API server holds now has been
// recorded, and everything that it no longer holds as deleted.
func (r *Recorder) Flush(ctx context.Context) error {
	for _, s := range r.sources {
		items, listed, err := s.list(ctx)
		if err != nil {
			return fmt.Errorf("flushing the record of %s: %w", s.kind, err)
		}
		holds, at, err := versions(items, listed)
		if err != nil {
			return fmt.Errorf("flushing the record of %s: %w", s.kind, err)
		}
		for !r.caughtUp(s.kind, holds, at) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for the record of %s: %w", s.kind, ctx.Err())
			case <-time.After(flushPollInterval):
			}
		}
	}
	return nil
}

// versions reads a list: each object's version, and that of the list.
func versions(items []runtime.Object, listed string) (map[types.UID]int64, int64, error) {
	at, err := strconv.ParseInt(listed, 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("the resourceVersion of a list: %w", err)
	}
	holds := map[types.UID]int64{}
	for _, item := range items {
		accessor, err := meta.Accessor(item)
		if err != nil {
			return nil, 0, fmt.Errorf("reading a listed object: %w", err)
		}
		number, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("the resourceVersion of %s: %w", accessor.GetName(), err)
		}
		holds[accessor.GetUID()] = number
	}
	return holds, at, nil
}

// caughtUp compares the record with what a list held at some version. What the
// record knows in a later version than the list's may well not be in it.
func (r *Recorder) caughtUp(kind string, holds map[types.UID]int64, at int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, number := range holds {
		if r.latest[uid].number < number {
			return false
		}
	}
	for uid, known := range r.latest {
		if _, held := holds[uid]; known.kind == kind && !held && !known.gone && known.number <= at {
			return false
		}
	}
	return true
}
