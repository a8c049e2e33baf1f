package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// QueueStatus writes the status of a Queue, making the Queue if known is nil.
// Spec is a person's and is left alone. It returns the Queue as it is then.
func QueueStatus(ctx context.Context, c client.Client, name string, known *v1alpha1.Queue, status v1alpha1.QueueStatus) (*v1alpha1.Queue, error) {
	queue := &v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if known != nil {
		queue = known.DeepCopy()
	} else if err := c.Create(ctx, queue, client.FieldOwner(FieldManager)); err != nil {
		return nil, fmt.Errorf("making queue %s: %w", name, err)
	}
	queue.Status = status
	if err := c.Status().Update(ctx, queue, client.FieldOwner(FieldManager)); err != nil {
		return nil, fmt.Errorf("writing the status of queue %s: %w", name, err)
	}
	return queue, nil
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
