package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// users create the Jobs of a shape.
type users struct {
	client    kubernetes.Interface
	namespace string
	shape     shape
	suspend   bool // the Jobs, and leave the queue out

	mu     sync.Mutex
	took   time.Duration // all creations together
	made   int
	latest time.Time // when the last one was answered
}

// create creates all Jobs, those of each queue and class one after the other at
// their pace: one is late if the API server was slow with the one before.
func (u *users) create(ctx context.Context, sent func(item)) error {
	lines := len(u.shape.classes) * len(u.shape.places())
	errs := make(chan error, lines)
	for class := range u.shape.classes {
		for _, at := range u.shape.places() {
			go func() { errs <- u.createAll(ctx, at, class, sent) }()
		}
	}
	var first error
	for range lines {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (u *users) createAll(ctx context.Context, at place, class int, sent func(item)) error {
	pace := time.NewTicker(u.shape.classes[class].every)
	defer pace.Stop()
	for n := range u.shape.classes[class].count {
		if n > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-pace.C:
			}
		}
		one := item{at: at, class: class, n: n}
		job := u.shape.job(one)
		if u.suspend {
			job.Labels, job.Spec.Suspend = nil, &u.suspend
		}
		sent(one)
		began := time.Now()
		if _, err := u.client.BatchV1().Jobs(u.namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating %s: %w", job.Name, err)
		}
		u.answered(began)
	}
	return nil
}

func (u *users) answered(began time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.made++
	u.latest = time.Now()
	u.took += u.latest.Sub(began)
}

// progress is how many were created, how long one took on average, and when the
// last one was.
func (u *users) progress() (made int, mean time.Duration, latest time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.made, u.took / time.Duration(max(1, u.made)), u.latest
}
