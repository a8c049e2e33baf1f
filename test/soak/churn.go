package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// churn is those who interfere.
type churn struct {
	client kubernetes.Interface
	shape  shape
	r      *rand.Rand
	did    int
	ended  map[string]bool // Jobs that lost a pod
}

// One of so many Jobs loses a pod, and only one: the Job controller waits longer before
// each next one that it makes, so the last few Jobs would never be over.
const jobsForEachEnd = 8

// start interferes until the context ends: once in a while, a node is cordoned for some
// time, a stranger comes for some time, and a pod of a Job is deleted.
func (c *churn) start(ctx context.Context, failed chan<- error) {
	every := time.NewTicker(max(200*time.Millisecond, c.shape.run/20))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		var err error
		switch c.did % 3 {
		case 0:
			err = c.cordon(ctx, nodeName(c.r.IntN(c.shape.nodes)))
		case 1:
			_, err = c.client.CoreV1().Pods(strangers).Create(ctx, stranger(fmt.Sprint("guest-", c.did), pick(c.r, 1, 2), c.shape.run/2), metav1.CreateOptions{})
		case 2:
			err = c.deletePod(ctx)
		}
		c.did++
		if err != nil && ctx.Err() == nil {
			failed <- fmt.Errorf("interfering: %w", err)
			return
		}
	}
}

func (c *churn) cordon(ctx context.Context, node string) error {
	set := func(ctx context.Context, closed bool) error {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, closed)
		_, err := c.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	time.AfterFunc(c.shape.run/4, func() { _ = set(ctx, false) }) // a plane that has ended has no nodes
	return set(ctx, true)
}

// deletePod ends one pod of the Jobs that run, as an eviction would.
func (c *churn) deletePod(ctx context.Context) error {
	if len(c.ended) >= c.shape.jobs/jobsForEachEnd {
		return nil
	}
	list, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running", ResourceVersion: "0"})
	if err != nil {
		return err
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return c.ended[p.Labels[batchv1.JobNameLabel]] })
	if len(pods) == 0 {
		return nil
	}
	pod := &pods[c.r.IntN(len(pods))]
	err = c.client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil // it has ended by itself
	}
	c.ended[pod.Labels[batchv1.JobNameLabel]] = true
	return err
}
