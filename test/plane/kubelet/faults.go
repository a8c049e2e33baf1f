package kubelet

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StopPlugin ends the device plugin of a resource: from now on nothing of it can be
// given, though it is still built in; what runs goes on. The function that it
// returns starts the plugin again.
func (f *Fleet) StopPlugin(ctx context.Context, node string, name corev1.ResourceName) (start func(context.Context) error, err error) {
	object, err := f.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading node %s: %w", node, err)
	}
	was, has := object.Status.Allocatable[name]
	if !has {
		return nil, fmt.Errorf("node %s has no device plugin for %s. Try: a resource that it can give", node, name)
	}
	if err := f.SetAllocatable(ctx, node, name, "0"); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return f.SetAllocatable(ctx, node, name, was.String()) }, nil
}

// ForgetPlugin is what a kubelet does when a plugin stays away for more than five
// minutes: none of the resource is built in either.
func (f *Fleet) ForgetPlugin(ctx context.Context, node string, name corev1.ResourceName) error {
	if err := f.SetAllocatable(ctx, node, name, "0"); err != nil {
		return err
	}
	return f.patchStatus(ctx, node, map[string]any{"capacity": map[corev1.ResourceName]string{name: "0"}})
}

// Recreate takes a machine away and brings another of the same name, as when a
// cloud replaces it. What ran on the first one is not known to the second, whatever
// the objects of its pods say.
func (f *Fleet) Recreate(ctx context.Context, spec NodeSpec) error {
	f.mu.Lock()
	if n, ok := f.nodes[spec.Name]; ok {
		for uid, l := range f.lives {
			if l.pod.Spec.NodeName == spec.Name && l.state == running {
				l.finish(n.table, metav1.Now().Time, exitKilled)
				f.queue.Add(uid)
			}
		}
	}
	f.mu.Unlock()
	if err := f.RemoveNode(ctx, spec.Name); err != nil {
		return err
	}
	return f.AddNode(ctx, spec)
}

// LabelRepartition says how far a node is that cuts its cards anew.
const LabelRepartition = "nvidia.com/mig.config.state"

// Repartition cuts the cards of a node anew, as a MIG manager does: until the
// function that it returns is called, the node is labelled as pending and has none
// of the old resource, whose key stays for good; then it has the new ones. Nobody
// checks that nothing runs there: a MIG manager would wait.
func (f *Fleet) Repartition(ctx context.Context, node string, from corev1.ResourceName, to map[corev1.ResourceName]string) (done func(context.Context) error, err error) {
	if err := f.label(ctx, node, LabelRepartition, "pending"); err != nil {
		return nil, err
	}
	if err := f.ForgetPlugin(ctx, node, from); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		for name, amount := range to {
			if err := f.SetAllocatable(ctx, node, name, amount); err != nil {
				return err
			}
		}
		return f.label(ctx, node, LabelRepartition, "success")
	}, nil
}

func (f *Fleet) label(ctx context.Context, node, key, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{key: value}}})
	if err != nil {
		return err
	}
	if _, err := f.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("labelling node %s: %w", node, err)
	}
	return nil
}
