//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

// absentJobSet would be handled elsewhere, but there is none.
const absentJobSet = `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"absent","uid":"00000000-0000-0000-0000-000000000000","controller":true}`

func TestS7AnOwnerWithAWrongUIDHidesNothing(t *testing.T) {
	ctx, s := scene(t, "guard", guardPolicy, guardLimits()...)
	_, err := s.Apply(ctx, job{name: "runs", queue: "guard", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))
	for _, c := range []struct{ name, owner string }{
		{"jobset-of-another-group", strings.Replace(absentJobSet, "jobset.x-k8s.io", "jobset.example.com", 1)},
		{"jobset-that-controls-nothing", strings.Replace(absentJobSet, `"controller":true`, `"controller":false`, 1)},
		{"other-kind-of-the-group", strings.Replace(absentJobSet, `"kind":"JobSet"`, `"kind":"JobSets"`, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Apply(ctx, owned(c.name, c.owner))
			must(t, err)
			must(t, s.Waits(ctx, c.name, "WaitingForQuota"))
		})
	}
	t.Run("an admitted Job with a wrong UID", func(t *testing.T) {
		_, err := s.Apply(ctx, owned("owned", `{"apiVersion":"batch/v1","kind":"Job","name":"runs","uid":"00000000-0000-0000-0000-000000000000","controller":true}`))
		must(t, err)
		// The garbage collector deletes what has no owner. It never runs: the
		// history would say so, too.
		must(t, s.Eventually(ctx, "it waits or is collected", func(ctx context.Context) (bool, string) {
			found, err := s.Job(ctx, "owned")
			if err != nil {
				return apierrors.IsNotFound(err), err.Error()
			}
			return *found.Spec.Suspend && strings.HasPrefix(found.Annotations["holdshort.dev/message"], "WaitingForQuota"), fmt.Sprint(found.Annotations)
		}))
		pods, err := s.Pods(ctx, "owned")
		must(t, err)
		if len(pods) > 0 {
			t.Errorf("it has %d pods", len(pods))
		}
	})
	t.Run("behind a JobSet that is not there a Job is nobody's, and charges nobody", func(t *testing.T) {
		_, err := s.Apply(ctx, owned("hidden", absentJobSet))
		must(t, err)
		must(t, s.Running(ctx, "hidden", 1))
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "queues.holdshort.dev", "guard", "--no-headers")
		must(t, err)
		must(t, stories.Contains(out, "4/4 nvidia.com/gpu"))
	})
}

// owned is a Job of one GPU with an owner.
func owned(name, owner string) string {
	return strings.Replace(job{name: name, queue: "guard", pods: 1, gpus: 1}.yaml(), "  labels:\n", "  ownerReferences: ["+owner+"]\n  labels:\n", 1)
}

// TestS7APodElsewhereThatNamesAJobIsNotThatJobs: an owner in another namespace is
// none. Garbage collection ends such pods, but in their own time.
func TestS7APodElsewhereThatNamesAJobIsNotThatJobs(t *testing.T) {
	ctx, s := scene(t, "guard", guardPolicy, guardLimits()...)
	elsewhere := &stories.Scene{Env: s.Env, Teller: s.Teller, NS: "guard-2"}
	must(t, s.Namespace(ctx, elsewhere.NS))
	t.Cleanup(func() {
		if _, err := elsewhere.Kubectl(context.WithoutCancel(ctx), "delete", "pods", "--all", "--grace-period=1", "--wait=false"); err != nil {
			t.Error(err)
		}
		cleanUp(t, elsewhere)
	})

	_, err := s.Apply(ctx, job{name: "runs", queue: "guard", pods: 2, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 2))
	_, err = s.Apply(ctx, job{name: "waits", queue: "guard", pods: 3, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "waits", "WaitingForQuota"))
	for _, name := range []string{"runs", "waits"} {
		found, err := s.Job(ctx, name)
		must(t, err)
		_, err = elsewhere.Apply(ctx, fmt.Sprintf(foreignPod, name, found.UID))
		must(t, err)
	}
	for _, name := range []string{"runs", "waits"} {
		must(t, elsewhere.PodRuns(ctx, name))
	}

	// With what the pod holds, runs would be charged 4.
	_, err = s.Apply(ctx, job{name: "fits", queue: "guard", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "fits", 1))
	s.Manager.Stop()
	must(t, s.Manager.Start(ctx)) // now it sees the pods no later than the Jobs
	_, err = s.Apply(ctx, job{name: "fits-too", queue: "guard", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "fits-too", 1))

	// A Job that has pods is not started before they are gone.
	_, err = s.Kubectl(ctx, "delete", "job", "runs", "fits", "fits-too", "--wait=false")
	must(t, err)
	must(t, s.Running(ctx, "waits", 3))
	for _, name := range []string{"runs", "waits"} {
		must(t, elsewhere.PodRuns(ctx, name)) // all the while
	}
}

// foreignPod names a Job elsewhere, by its name and UID, in every way in which a
// Job's own pod does. It is bound from the beginning, and takes its time to end.
const foreignPod = `apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  labels: {batch.kubernetes.io/controller-uid: %[2]s, controller-uid: %[2]s}
  annotations: {plane.holdshort.dev/stop: 60s}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %[1]s, uid: %[2]s, controller: true}]
spec:
  nodeName: node-1
  terminationGracePeriodSeconds: 60
  containers: [{name: main, image: main, resources: {limits: {nvidia.com/gpu: 2}}}]
`
