package ledger

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
)

// CacheOptions are what the loop needs of the manager's cache: only labelled
// Jobs, and of every object only what a decision may read, so that a cluster
// with 100,000 pods fits in a few hundred megabytes.
func CacheOptions() map[client.Object]cache.ByObject {
	labelled, _ := labels.NewRequirement(policies.LabelQueue, selection.Exists, nil) // cannot fail: a constant key
	return map[client.Object]cache.ByObject{
		&batchv1.Job{}: {Label: labels.NewSelector().Add(*labelled), Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:  {Transform: newSlimmer().pod},
		&corev1.Node{}: {Transform: slimNode},

		&resourceapi.ResourceClaim{}:    {Transform: slimClaim},
		&corev1.PersistentVolumeClaim{}: {Transform: slimVolumeClaim},
		&corev1.PersistentVolume{}:      {Transform: slimVolume},
		&storagev1.StorageClass{}:       {Transform: cache.TransformStripManagedFields()},
	}
}

// watched is a kind, and what happens to what is heard of it.
type watched struct {
	object client.Object
	put    func(obj client.Object, gone bool)
}

// watch registers a handler for every kind that a decision may read, and waits
// until each has delivered all that there is: nothing is decided before.
func (l *Loop) watch(ctx context.Context) error {
	kinds := []watched{
		{&batchv1.Job{}, l.markJob},
		{&corev1.Pod{}, l.markPod},
		{&corev1.Node{}, marker(l.inbox, func(b *batch, name string, o *corev1.Node) { b.nodes[name] = o })},
		{&corev1.Namespace{}, marker(l.inbox, func(b *batch, name string, o *corev1.Namespace) { b.namespaces[name] = o })},
		{&nodev1.RuntimeClass{}, marker(l.inbox, func(b *batch, name string, o *nodev1.RuntimeClass) { b.runtimeClasses[name] = o })},
		{&schedulingv1.PriorityClass{}, marker(l.inbox, func(b *batch, name string, o *schedulingv1.PriorityClass) { b.priorityClasses[name] = o })},
		{&v1alpha1.Queue{}, marker(l.inbox, func(b *batch, name string, o *v1alpha1.Queue) { b.queues[name] = o })},
		{&corev1.LimitRange{}, l.markLimitRange},
		{&corev1.ResourceQuota{}, l.markResourceQuota},
	}
	kinds = slices.Concat(kinds, l.watchDevices(), l.watchVolumes())
	var synced []toolscache.InformerSynced
	for _, kind := range kinds {
		informer, err := l.Cache.GetInformer(ctx, kind.object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind.object, err)
		}
		registration, err := informer.AddEventHandler(handler(kind.put))
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind.object, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return ctx.Err()
	}
	return nil
}

func handler(put func(client.Object, bool)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { put(obj.(client.Object), false) },
		UpdateFunc: func(_, obj any) { put(obj.(client.Object), false) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if o, ok := obj.(client.Object); ok {
				put(o, true)
			}
		},
	}
}

// marker puts an object that its name alone identifies.
func marker[T client.Object](in *inbox, set func(*batch, string, T)) func(client.Object, bool) {
	return func(obj client.Object, gone bool) {
		typed, ok := obj.(T)
		if !ok {
			return
		}
		name := obj.GetName()
		if gone {
			var none T
			typed = none
		}
		in.put(func(b *batch) { set(b, name, typed) })
	}
}

func (l *Loop) markJob(obj client.Object, gone bool) {
	job, uid := obj.(*batchv1.Job), obj.GetUID()
	l.inbox.put(func(b *batch) {
		if b.jobs[uid] = job; gone {
			b.jobs[uid], b.last[uid] = nil, job
		}
	})
}

func (l *Loop) markPod(obj client.Object, gone bool) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	l.inbox.put(func(b *batch) { b.pods[pod.UID] = podChange{pod, gone} })
}

func (l *Loop) markLimitRange(obj client.Object, gone bool) {
	lr, name := obj.(*corev1.LimitRange), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if gone {
		lr = nil
	}
	l.inbox.put(func(b *batch) { b.limitRanges[name] = lr })
}

func (l *Loop) markResourceQuota(obj client.Object, gone bool) {
	quota, name := obj.(*corev1.ResourceQuota), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if gone {
		quota = nil
	}
	l.inbox.put(func(b *batch) { b.resourceQuotas[name] = quota })
}
