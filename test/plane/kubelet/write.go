package kubelet

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reporting returns the write of a pod's status as it is now; called with the
// lock held, the write runs without.
func (f *Fleet) reporting(l *life) func(context.Context) error {
	namespace, name, changes := l.pod.Namespace, l.pod.Name, l.changes
	patch, err := statusPatch(l)
	return func(ctx context.Context) error {
		if err != nil {
			return err
		}
		_, err := f.client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil && !isOver(err) {
			return fmt.Errorf("reporting pod %s/%s: %w", namespace, name, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		l.reported = max(l.reported, changes)
		return nil
	}
}

// removing returns the deletion without grace that lets the object go.
func (f *Fleet) removing(l *life) func(context.Context) error {
	namespace, name, uid := l.pod.Namespace, l.pod.Name, l.pod.UID
	return func(ctx context.Context) error {
		now := int64(0)
		options := metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}}
		if err := f.client.CoreV1().Pods(namespace).Delete(ctx, name, options); err != nil && !isOver(err) {
			return fmt.Errorf("removing pod %s/%s: %w", namespace, name, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		l.removed = true
		return nil
	}
}

// isOver: the pod is gone, or its name is another pod's by now.
func isOver(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
