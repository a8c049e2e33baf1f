package main

import (
	"context"
	"fmt"
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
)

// finishers write at the same time: nobody's end waits for another's.
const finishers = 64

// machines play those that run the Jobs.
type machines struct {
	client    kubernetes.Interface
	namespace string
	suspended func(name string) // told of each Job that is, if not nil
	began     time.Time
	over      chan struct{} // closed when all have ended
	finished  chan finish
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
	since   time.Duration
	timer   *time.Timer
	ended   bool
}

// finish is the end of the nth run of a Job.
type finish struct {
	name string
	nth  int
}

func newMachines(client kubernetes.Interface, namespace string, s shape) *machines {
	return &machines{
		client: client, namespace: namespace, over: make(chan struct{}),
		finished: make(chan finish, s.jobs()), broken: make(chan error, finishers+1),
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
	for range finishers {
		go func() {
			if err := m.finish(ctx); err != nil {
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
		r.running, r.since = true, now
		r.runs++
		m.tally.start(r.item, r.created, now)
		done := finish{job.Name, r.runs}
		r.timer = time.AfterFunc(m.tally.shape.classes[r.item.class].run, func() { m.finished <- done })
	case !lifted && !r.running && m.suspended != nil:
		m.suspended(job.Name)
	case !lifted && r.running:
		r.running = false
		r.timer.Stop()
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

// finish writes that runs are over.
func (m *machines) finish(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-m.finished:
			job, goesOn := m.goesOn(f)
			if !goesOn {
				continue // taken back meanwhile
			}
			_, err := m.client.BatchV1().Jobs(m.namespace).UpdateStatus(ctx, completed(job), metav1.UpdateOptions{})
			if apierrors.IsConflict(err) {
				// Taken back, and not seen yet: the watch decides what it comes to.
				time.AfterFunc(10*time.Millisecond, func() { m.finished <- f })
				continue
			}
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("completing %s: %w", f.name, err)
			}
		}
	}
}

func (m *machines) goesOn(f finish) (job *batchv1.Job, goesOn bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.jobs[f.name]
	return r.seen, r.running && r.runs == f.nth
}

// completed is a Job that has ended, as the Job controller writes it: only if it has not
// changed since it was seen, as one that is taken back at the same moment has not ended.
func completed(job *batchv1.Job) *batchv1.Job {
	over, now := job.DeepCopy(), metav1.Now()
	over.Status.StartTime, over.Status.CompletionTime, over.Status.Succeeded = &now, &now, 1
	for _, is := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		over.Status.Conditions = append(over.Status.Conditions, batchv1.JobCondition{
			Type: is, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached, LastTransitionTime: now,
		})
	}
	return over
}
