package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// node is a machine of the fleet.
type node struct {
	uid      types.UID
	table    *table
	ready    bool
	since    metav1.Time // of the ready condition
	leased   bool        // its Lease exists
	reported time.Time   // when its status was
	// announced by the driver of its devices.
	announced published
}

// AddNode registers a node; pods that are bound to it start to run.
func (f *Fleet) AddNode(ctx context.Context, spec NodeSpec) error {
	now := metav1.Now()
	object, err := spec.object(now)
	if err != nil {
		return err
	}
	pool, err := spec.Devices.announce()
	if err != nil {
		return fmt.Errorf("node %s: %w", spec.Name, err)
	}
	made, err := f.client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("registering node %s: %w", spec.Name, err)
	}
	names, err := f.announce(ctx, spec.Name, pool.slices(spec.Name, made.UID, firstGeneration))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	has := newTable(object)
	has.pool = pool
	f.nodes[spec.Name] = &node{
		uid: made.UID, table: has, ready: true, since: now, reported: now.Time, announced: published{names, firstGeneration},
	}
	f.turn = slices.Insert(f.turn, 0, spec.Name)
	f.wakePods(spec.Name)
	return nil
}

// watchLabels follows what people write on the nodes: a kubelet takes pods by
// its node's labels of the moment.
func (f *Fleet) watchLabels(ctx context.Context) (cache.InformerSynced, error) {
	factory := informers.NewSharedInformerFactory(f.client, 0)
	registration, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    f.labelled,
		UpdateFunc: func(_, object any) { f.labelled(object) },
	})
	if err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	factory.Start(ctx.Done())
	return registration.HasSynced, nil
}

func (f *Fleet) labelled(object any) {
	now := object.(*corev1.Node)
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.nodes[now.Name]; ok {
		n.uid, n.table.node = now.UID, now // another, if it was deleted and made anew
	}
}

// wakePods looks again at the pods that were bound to a node before it came.
func (f *Fleet) wakePods(name string) {
	for uid, l := range f.lives {
		if l.pod.Spec.NodeName == name {
			f.queue.Add(uid)
		}
	}
}

// RemoveNode takes a machine away with all that runs on it, without a word to
// the pods' objects: nobody is left there to say one.
func (f *Fleet) RemoveNode(ctx context.Context, name string) error {
	f.mu.Lock()
	delete(f.nodes, name)
	f.turn = slices.DeleteFunc(f.turn, func(other string) bool { return other == name })
	f.mu.Unlock()
	if err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("removing node %s: %w", name, err)
	}
	return nil
}

// SetAllocatable changes how much of a resource a node can give, as a device
// plugin does when devices become unhealthy: what runs goes on, and capacity
// stays as it is unless it was smaller.
func (f *Fleet) SetAllocatable(ctx context.Context, name string, resourceName corev1.ResourceName, amount string) error {
	quantity, err := resource.ParseQuantity(amount)
	if err != nil {
		return fmt.Errorf("amount %q of %s: %w", amount, resourceName, err)
	}
	object, err := f.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading node %s: %w", name, err)
	}
	list := corev1.ResourceList{resourceName: quantity}
	status := map[string]any{"allocatable": list}
	if capacity := object.Status.Capacity[resourceName]; capacity.Cmp(quantity) < 0 {
		status["capacity"] = list
	}
	f.mu.Lock()
	if n, ok := f.nodes[name]; ok {
		n.table.allocatable[resourceName] = countList(list)[resourceName]
	}
	f.mu.Unlock()
	return f.patchStatus(ctx, name, status)
}

// SetReady says whether a node's kubelet is well. The taints follow from the
// controller manager, and what runs goes on.
func (f *Fleet) SetReady(ctx context.Context, name string, ready bool) error {
	now := metav1.Now()
	f.mu.Lock()
	n, ok := f.nodes[name]
	if ok && n.ready != ready {
		n.ready, n.since = ready, now
	}
	f.mu.Unlock()
	if !ok {
		return fmt.Errorf("the fake kubelet has no node %q", name)
	}
	return f.reportNode(ctx, name)
}

// reportNode writes the ready condition.
func (f *Fleet) reportNode(ctx context.Context, name string) error {
	now := metav1.Now()
	f.mu.Lock()
	n, ok := f.nodes[name]
	if !ok {
		f.mu.Unlock()
		return nil
	}
	condition := readyCondition(n.ready, now)
	condition.LastTransitionTime = n.since
	n.reported = now.Time
	f.mu.Unlock()
	return f.patchStatus(ctx, name, map[string]any{"conditions": []corev1.NodeCondition{condition}})
}

func (f *Fleet) patchStatus(ctx context.Context, name string, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encoding the status of node %s: %w", name, err)
	}
	if _, err := f.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("writing the status of node %s: %w", name, err)
	}
	return nil
}
