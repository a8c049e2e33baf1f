package history

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Recorder keeps every version of every Job, Pod and Node.
type Recorder struct {
	sources []*source
	cancel  context.CancelFunc
	running sync.WaitGroup

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

// source is one kind of object.
type source struct {
	kind   string
	client *cache.ListWatch
}

// Start records from now on, and first all that there is, until Stop. The
// configuration must be allowed to list and watch everywhere.
func Start(ctx context.Context, config *rest.Config) (*Recorder, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the recorder's client: %w", err)
	}
	r := &Recorder{latest: map[types.UID]version{}}
	core, batch := client.CoreV1().RESTClient(), client.BatchV1().RESTClient()
	r.sources = []*source{newSource(core, "nodes"), newSource(core, "pods"), newSource(batch, "jobs")}
	background, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	for _, s := range r.sources {
		if err := r.follow(ctx, background, s); err != nil {
			r.Stop()
			return nil, fmt.Errorf("recording %s: %w", s.kind, err)
		}
	}
	return r, nil
}

func newSource(client rest.Interface, kind string) *source {
	return &source{kind, cache.NewListWatchFromClient(client, kind, metav1.NamespaceAll, fields.Everything())}
}

// follow records what there is and then watches from exactly there.
func (r *Recorder) follow(ctx, background context.Context, s *source) error {
	items, listed, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, item := range items {
		r.add(s.kind, Existed, item)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(background, listed, s.client)
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	r.running.Go(func() {
		for event := range watcher.ResultChan() {
			r.watched(s.kind, event)
		}
		if background.Err() == nil {
			r.miss(fmt.Sprintf("the watch of %s ended", s.kind))
		}
	})
	return nil
}

func (s *source) list(ctx context.Context) ([]runtime.Object, string, error) {
	list, err := s.client.ListWithContext(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("listing: %w", err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, "", fmt.Errorf("reading a list: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, "", fmt.Errorf("reading a list: %w", err)
	}
	return items, accessor.GetResourceVersion(), nil
}

func (r *Recorder) watched(kind string, event watch.Event) {
	switch event.Type {
	case watch.Added:
		r.add(kind, Added, event.Object)
	case watch.Modified:
		r.add(kind, Changed, event.Object)
	case watch.Deleted:
		r.add(kind, Deleted, event.Object)
	case watch.Error:
		r.miss(fmt.Sprintf("the watch of %s broke: %v", kind, event.Object))
	}
}

func (r *Recorder) add(kind string, change Change, object runtime.Object) {
	e, err := newEvent(change, object)
	if err != nil {
		r.miss(err.Error())
		return
	}
	accessor, _ := meta.Accessor(object) // newEvent has read it
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.latest[accessor.GetUID()] = version{kind, e.Version, change == Deleted}
}

func (r *Recorder) miss(problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, Event{Change: Missed, Problem: problem})
}

// Stop ends the recording; what was recorded stays.
func (r *Recorder) Stop() {
	r.cancel()
	r.running.Wait()
}

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
