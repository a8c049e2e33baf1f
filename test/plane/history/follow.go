package history

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Follow tells of every version of every Job, Pod and Node from now on, and first of
// all that there is, and keeps none. The events of one kind come one after the other, in
// the order of their writes; kinds come beside each other. The returned function ends it.
func Follow(ctx context.Context, config *rest.Config, tell func(Event)) (stop func(), err error) {
	f := &follower{tell: tell}
	return f.stop, f.start(ctx, config)
}

// follower watches all that there is to judge.
type follower struct {
	tell    func(Event)
	sources []*source
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// source is one kind of object.
type source struct {
	kind   string
	client *cache.ListWatch
}

func (f *follower) start(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the recorder's client: %w", err)
	}
	core, batch := client.CoreV1().RESTClient(), client.BatchV1().RESTClient()
	f.sources = []*source{newSource(core, "nodes"), newSource(core, "pods"), newSource(batch, "jobs")}
	background, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	for _, s := range f.sources {
		if err := f.follow(ctx, background, s); err != nil {
			f.stop()
			return fmt.Errorf("recording %s: %w", s.kind, err)
		}
	}
	return nil
}

func (f *follower) stop() {
	f.cancel()
	f.running.Wait()
}

func newSource(client rest.Interface, kind string) *source {
	return &source{kind, cache.NewListWatchFromClient(client, kind, metav1.NamespaceAll, fields.Everything())}
}

// follow records what there is and then watches from exactly there.
func (f *follower) follow(ctx, background context.Context, s *source) error {
	items, listed, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, item := range items {
		f.see(Existed, item)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(background, listed, s.client)
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	f.running.Go(func() {
		for event := range watcher.ResultChan() {
			f.watched(s.kind, event)
		}
		if background.Err() == nil {
			f.miss(fmt.Sprintf("the watch of %s ended", s.kind))
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

func (f *follower) watched(kind string, event watch.Event) {
	switch event.Type {
	case watch.Added:
		f.see(Added, event.Object)
	case watch.Modified:
		f.see(Changed, event.Object)
	case watch.Deleted:
		f.see(Deleted, event.Object)
	case watch.Error:
		f.miss(fmt.Sprintf("the watch of %s broke: %v", kind, event.Object))
	}
}

func (f *follower) see(change Change, object runtime.Object) {
	e, err := newEvent(change, object)
	if err != nil {
		f.miss(err.Error())
		return
	}
	f.tell(e)
}

func (f *follower) miss(problem string) { f.tell(Event{Change: Missed, Problem: problem}) }
