//go:build plane

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

// A borrower that has only just been let go makes room for the owner while its pods are
// being made. Both together never have more than the cohort.
func TestABorrowerThatHasJustBegunMakesRoomBeforeTheOwnerStarts(t *testing.T) {
	ctx, s := scene(t, "beginning", lending("beginning"), lendingLimits()...)
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "spare", GPUs: 8}}) // quota is all that there is too little of
	most := busiest(t, ctx, s)
	for i := range 6 {
		borrower := job{name: fmt.Sprint("borrower-", i), queue: "red", pods: 8, gpus: 1, run: "24h"}
		owner := job{name: fmt.Sprint("owner-", i), queue: "blue", pods: 4, gpus: 1, run: "24h"}
		_, err := s.Apply(ctx, borrower.yaml()+owner.yaml()) // one after the other, within moments
		must(t, err)
		must(t, s.Running(ctx, owner.name, 4))
		must(t, s.Waits(ctx, borrower.name, "WaitingForQuota"))
		_, err = s.Kubectl(ctx, "delete", "job", borrower.name, owner.name, "--cascade=foreground")
		must(t, err)
	}
	if n := most(); n > 8 {
		t.Errorf("%d pods were on machines at once, and there is quota for 8", n)
	}
}

// busiest watches how many pods are on machines, and tells the most there were at once.
func busiest(t *testing.T, ctx context.Context, s *stories.Scene) func() int {
	t.Helper()
	w, err := s.Client.CoreV1().Pods(s.NS).Watch(ctx, metav1.ListOptions{})
	must(t, err)
	var lock sync.Mutex
	on, most := map[string]bool{}, 0
	go func() {
		for e := range w.ResultChan() {
			pod, is := e.Object.(*corev1.Pod)
			if !is {
				continue
			}
			lock.Lock()
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if delete(on, pod.Name); e.Type != watch.Deleted && pod.Spec.NodeName != "" && !ended {
				on[pod.Name] = true
			}
			most = max(most, len(on))
			lock.Unlock()
		}
	}()
	return func() int {
		time.Sleep(time.Second) // for what is on its way here
		w.Stop()
		lock.Lock()
		defer lock.Unlock()
		return most
	}
}
