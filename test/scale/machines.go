package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/workqueue"
)

// controllers write at the same time: nobody's end waits for another's.
const controllers = 64

// machines play those that run the Jobs.
type machines struct {
	client    kubernetes.Interface
	namespace string
	suspended func(name string) // told of each Job that is, if not nil
	began     time.Time
	over      chan struct{}                            // closed when all have ended
	todo      workqueue.TypedDelayingInterface[string] // Jobs of which something may be to be written
	broken    chan error

	mu    sync.Mutex
	jobs  map[string]*run // by name
	tally *tally
}

// run is a Job that was sent, and how often it has run.
type run struct {
	item    item
	created time.Duration // when it was sent, after the start
	seen    *batchv1.Job  // as it was last
	runs    int
	running bool
	over    bool // as long as it was to run
	since   time.Duration
	timer   *time.Timer
	ended   bool
}

// step is what a Job controller says of a Job.
type step int

const (
	nothing step = iota
	begun
	stopped
	over
)

func newMachines(client kubernetes.Interface, namespace string, s shape) *machines {
	return &machines{
		client: client, namespace: namespace, over: make(chan struct{}),
		todo: workqueue.NewTypedDelayingQueue[string](), broken: make(chan error, controllers+1),
		jobs: make(map[string]*run, s.jobs()), tally: newTally(s),
	}
}

// start watches the namespace's Jobs, which has none yet, and plays their runs
// until ctx ends. One watch has every change in the order in which it was made, so
// what is counted from it is what was so.
func (m *machines) start(ctx context.Context) error {
	jobs := cache.NewListWatchFromClient(m.client.BatchV1().RESTClient(), "jobs", m.namespace, fields.Everything())
	list, err := m.client.BatchV1().Jobs(m.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing Jobs: %w", err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, jobs)
	if err != nil {
		return fmt.Errorf("watching Jobs: %w", err)
	}
	m.began = time.Now()
	go func() {
		for event := range watcher.ResultChan() {
			job, is := event.Object.(*batchv1.Job)
			if !is || event.Type == watch.Deleted {
				m.broken <- fmt.Errorf("the watch of Jobs says %s: %v", event.Type, event.Object)
				return
			}
			m.saw(job)
		}
		m.broken <- fmt.Errorf("the watch of Jobs ended: %w", context.Cause(ctx))
	}()
	context.AfterFunc(ctx, m.todo.ShutDown)
	for range controllers {
		go func() {
			if err := m.control(ctx); err != nil {
				m.broken <- err
			}
		}()
	}
	return nil
}

func (m *machines) now() time.Duration { return time.Since(m.began) }

// sent notes that a Job is about to be created.
func (m *machines) sent(i item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs[m.tally.shape.name(i)] = &run{item: i, created: m.now()}
}

// saw takes the next state of a Job.
func (m *machines) saw(job *batchv1.Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.jobs[job.Name]
	if r == nil || r.ended {
		return
	}
	now := m.now()
	r.seen = job
	lifted := job.Spec.Suspend == nil || !*job.Spec.Suspend
	switch {
	case complete(job):
		r.running, r.ended = false, true
		m.tally.end(r.item, now)
		if m.tally.ended == m.tally.shape.jobs() {
			close(m.over)
		}
	case lifted && !r.running:
		r.running, r.over, r.since = true, false, now
		r.runs++
		m.tally.start(r.item, r.created, now)
		m.todo.Add(job.Name)
		nth := r.runs
		r.timer = time.AfterFunc(m.tally.shape.classes[r.item.class].run, func() { m.runOut(job.Name, nth) })
	case !lifted && !r.running && m.suspended != nil:
		m.suspended(job.Name)
	case !lifted && r.running:
		r.running = false
		r.timer.Stop()
		m.todo.Add(job.Name)
		m.tally.takenBack(r.item, now-r.since, now)
	}
}

func complete(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// runOut is the end of the nth run of a Job.
func (m *machines) runOut(name string, nth int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.jobs[name]; r.running && r.runs == nth {
		r.over = true
		m.todo.Add(name)
	}
}

// control writes what the Job controller would: that a Job has begun, has been
// stopped, and is over; one write of a Job at a time.
func (m *machines) control(ctx context.Context) error {
	for {
		name, shutdown := m.todo.Get()
		if shutdown {
			return nil
		}
		err := m.sync(ctx, name)
		m.todo.Done(name)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("writing the status of %s: %w", name, err)
		}
	}
}

func (m *machines) sync(ctx context.Context, name string) error {
	job, says := m.toSay(name)
	if says == nothing {
		return nil
	}
	written, err := m.client.BatchV1().Jobs(m.namespace).UpdateStatus(ctx, status(job, says), metav1.UpdateOptions{})
	switch {
	case err == nil:
		m.wrote(name, job, written)
	case apierrors.IsConflict(err):
		m.todo.AddAfter(name, 50*time.Millisecond) // changed, and not seen yet
		return nil
	}
	return err
}

// toSay is the Job as it was last, and what is to be written of it.
func (m *machines) toSay(name string) (*batchv1.Job, step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.jobs[name]
	started := r.seen.Status.StartTime != nil
	switch {
	case complete(r.seen):
		return nil, nothing
	case r.running && r.over:
		return r.seen, over
	case r.running && !started:
		return r.seen, begun
	case !r.running && started:
		return r.seen, stopped
	}
	return nil, nothing
}

// wrote keeps what a write made of a Job, which the watch tells later, so that the next
// write does not run into it.
func (m *machines) wrote(name string, job, written *batchv1.Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.jobs[name]; r.seen == job {
		r.seen = written
	}
}

// status is a Job with the status that the Job controller writes: only if it has not
// changed since it was seen, as one that is taken back at the same moment has not ended.
func status(job *batchv1.Job, says step) *batchv1.Job {
	next, now := job.DeepCopy(), metav1.Now()
	conditions := map[batchv1.JobConditionType]corev1.ConditionStatus{}
	reason := ""
	switch says {
	case begun:
		next.Status.StartTime, next.Status.Active = &now, 1
		reason, conditions[batchv1.JobSuspended] = "JobResumed", corev1.ConditionFalse
	case stopped:
		next.Status.StartTime, next.Status.Active = nil, 0
		reason, conditions[batchv1.JobSuspended] = "JobSuspended", corev1.ConditionTrue
	case over:
		if next.Status.StartTime == nil {
			next.Status.StartTime = &now
		}
		next.Status.CompletionTime, next.Status.Active, next.Status.Succeeded = &now, 0, 1
		reason = batchv1.JobReasonCompletionsReached
		conditions[batchv1.JobSuccessCriteriaMet], conditions[batchv1.JobComplete] = corev1.ConditionTrue, corev1.ConditionTrue
	}
	for _, is := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		if value, says := conditions[is]; says {
			next.Status.Conditions = slices.DeleteFunc(next.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == is })
			next.Status.Conditions = append(next.Status.Conditions, batchv1.JobCondition{
				Type: is, Status: value, Reason: reason, LastTransitionTime: now,
			})
		}
	}
	return next
}
