package stories

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Lift lifts the suspensions of the Jobs that are named, several at the same time, each
// with one patch and no questions, until ctx ends: the least that any queue does.
// failed is told what could not be lifted.
func Lift(ctx context.Context, client kubernetes.Interface, namespace string, names <-chan string, several int, failed func(error)) {
	for range several {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case name := <-names:
					_, err := client.BatchV1().Jobs(namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
					if err != nil && ctx.Err() == nil {
						failed(fmt.Errorf("lifting %s: %w", name, err))
					}
				}
			}
		}()
	}
}
