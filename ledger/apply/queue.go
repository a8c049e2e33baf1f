package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// QueueStatus writes the status of a Queue, making the Queue if it is not there.
// Spec is a person's and is left alone.
func QueueStatus(ctx context.Context, c client.Client, name string, status v1alpha1.QueueStatus) error {
	queue := &v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := c.Get(ctx, client.ObjectKeyFromObject(queue), queue)
	if apierrors.IsNotFound(err) {
		err = c.Create(ctx, queue, client.FieldOwner(FieldManager))
	}
	if err != nil {
		return fmt.Errorf("getting queue %s: %w", name, err)
	}
	before := queue.DeepCopy()
	queue.Status = status
	if err := c.Status().Patch(ctx, queue, client.MergeFrom(before), client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("writing the status of queue %s: %w", name, err)
	}
	return nil
}

// DropQueue deletes a Queue that left the policy and that nothing is charged to.
func DropQueue(ctx context.Context, c client.Client, queue *v1alpha1.Queue) error {
	version := queue.ResourceVersion
	err := c.Delete(ctx, queue, client.Preconditions{UID: &queue.UID, ResourceVersion: &version})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
