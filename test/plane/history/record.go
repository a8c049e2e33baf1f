package history

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Recorder keeps every version of every Job, Pod and Node.
type Recorder struct {
	follower

	mu     sync.Mutex
	events []Event
	latest map[types.UID]version
}

// version is the newest one that was recorded of an object.
type version struct {
	kind   string
	number int64
	gone   bool
}

// Start records from now on, and first all that there is, until Stop. The
// configuration must be allowed to list and watch everywhere.
func Start(ctx context.Context, config *rest.Config) (*Recorder, error) {
	r := &Recorder{latest: map[types.UID]version{}}
	r.tell = r.record
	if err := r.start(ctx, config); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Recorder) record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if kind, uid := e.about(); kind != "" {
		r.latest[uid] = version{kind, e.Version, e.Change == Deleted}
	}
}

// Stop ends the recording; what was recorded stays.
func (r *Recorder) Stop() { r.stop() }

// Events returns what was recorded so far, in the order in which it was written.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := append([]Event(nil), r.events...)
	sortEvents(events)
	return events
}

// Check judges what was recorded so far; Flush first.
func (r *Recorder) Check(rules Rules) []Violation { return Check(r.Events(), rules) }
