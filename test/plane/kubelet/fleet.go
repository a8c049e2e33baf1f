package kubelet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Fleet is the kubelets of all nodes of a plane.
type Fleet struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[types.UID]

	mu    sync.Mutex
	nodes map[string]*node
	lives map[types.UID]*life
	turn  []string // node names, the one whose heartbeat is longest ago first
}

// workers write at the same time; one pod's writes always follow each other.
const workers = 16

const (
	retryFirst = 100 * time.Millisecond
	retryLast  = 5 * time.Second
)

// New makes a fleet without nodes. It needs the rights of a cluster admin.
func New(config *rest.Config) (*Fleet, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the fake kubelet's client: %w", err)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](retryFirst, retryLast)
	return &Fleet{
		client: client,
		queue:  workqueue.NewTypedRateLimitingQueue(limiter),
		nodes:  map[string]*node{},
		lives:  map[types.UID]*life{},
	}, nil
}

// Start watches and works until the context ends; it returns when the bound
// pods there are have been seen.
func (f *Fleet) Start(ctx context.Context) error {
	bound := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(f.client, 0, informers.WithTweakListOptions(bound))
	informer := factory.Core().V1().Pods().Informer()
	if err := informer.SetTransform(slim); err != nil {
		return fmt.Errorf("preparing the watch of pods: %w", err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    f.seen,
		UpdateFunc: func(_, object any) { f.seen(object) },
		DeleteFunc: f.gone,
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	relabelled, err := f.watchLabels(ctx)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced, relabelled) {
		return errors.Join(errors.New("watching pods and nodes for the fake kubelet"), ctx.Err())
	}
	for range workers {
		go f.work(ctx)
	}
	go f.heartbeats(ctx)
	context.AfterFunc(ctx, f.queue.ShutDown)
	return nil
}

// slim drops what no kubelet reads.
func slim(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return object, nil
}

func (f *Fleet) seen(object any) {
	pod := object.(*corev1.Pod)
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.lives[pod.UID]
	if !ok {
		known = &life{}
		f.lives[pod.UID] = known
	}
	known.pod = pod
	f.queue.Add(pod.UID)
}

// gone: the object was removed. A process that still ran is killed with it,
// but its devices may linger.
func (f *Fleet) gone(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.lives[pod.UID]
	if !ok {
		return
	}
	delete(f.lives, pod.UID)
	free := func() {
		if n, ok := f.nodes[pod.Spec.NodeName]; ok {
			n.table.release(pod.UID)
		}
	}
	if known.state != running || known.script.ghost == 0 {
		free()
		return
	}
	time.AfterFunc(known.script.ghost, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		free()
	})
}

func (f *Fleet) work(ctx context.Context) {
	for {
		uid, shutdown := f.queue.Get()
		if shutdown {
			return
		}
		if f.serve(ctx, uid) != nil {
			f.queue.AddRateLimited(uid)
		} else {
			f.queue.Forget(uid)
		}
		f.queue.Done(uid)
	}
}

// serve moves one pod on and does what is due, one write at a time. An error
// means: again, later.
func (f *Fleet) serve(ctx context.Context, uid types.UID) error {
	for {
		write := f.next(uid, time.Now())
		if write == nil {
			return nil
		}
		if err := write(ctx); err != nil {
			return err
		}
	}
}

// next advances a life and returns the write that is due, nil for none.
func (f *Fleet) next(uid types.UID, now time.Time) func(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.lives[uid]
	if !ok {
		return nil
	}
	n, ok := f.nodes[l.pod.Spec.NodeName]
	if !ok {
		return nil // no such machine; the garbage collector of pods takes care
	}
	if l.needsClaims() {
		return f.readingClaims(l)
	}
	l.advance(n.table, now)
	switch l.due() {
	case report:
		return f.reporting(l)
	case remove:
		return f.removing(l)
	}
	if at, ok := l.wake(); ok {
		f.queue.AddAfter(uid, at.Sub(now))
	}
	return nil
}
