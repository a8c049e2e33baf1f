package main

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/holdshort/holdshort/test/stories"
)

// lifters write at the same time, as many as the ledger has writers.
const lifters = 64

// onJobs calls a function for every Job of a namespace, new or changed.
func onJobs(ctx context.Context, client kubernetes.Interface, namespace string, f func(*batchv1.Job)) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Batch().V1().Jobs().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { f(obj.(*batchv1.Job)) },
		UpdateFunc: func(_, obj any) { f(obj.(*batchv1.Job)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("watching the Jobs of %s: %w", namespace, ctx.Err())
	}
	return nil
}

// watchLifted sends each Job once, when it is seen without suspension.
func watchLifted(ctx context.Context, client kubernetes.Interface, namespace string, lifted chan<- *batchv1.Job) error {
	seen := map[types.UID]bool{} // only the informer's goroutine calls us
	return onJobs(ctx, client, namespace, func(job *batchv1.Job) {
		if job.Spec.Suspend != nil && *job.Spec.Suspend || seen[job.UID] {
			return
		}
		seen[job.UID] = true
		lifted <- job
	})
}

// liftOnSight is the baseline: one patch for each suspended Job that it sees.
func liftOnSight(ctx context.Context, config *rest.Config, namespace string) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		cancel()
		return nil, err
	}
	names := make(chan string, 1<<16)
	stories.Lift(ctx, client, namespace, names, lifters, func(err error) { fmt.Println("the baseline:", err) })
	err = onJobs(ctx, client, namespace, func(job *batchv1.Job) {
		if job.Spec.Suspend != nil && *job.Spec.Suspend {
			names <- job.Name
		}
	})
	return cancel, err
}
