//go:build plane

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const hogPolicy = `holdshort:
  config:
    flavors: {gpu: {}}
    queues:
      mine: {namespaces: {names: [hog]}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 2}}}
      lab: {namespaces: {names: [hog-lab]}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 2}}}
`

// hogPod names a Job in every way in which a Job's own pod does, and never runs.
const hogPod = `apiVersion: v1
kind: Pod
metadata:
  name: hog-of-%[1]s
  labels: {batch.kubernetes.io/controller-uid: %[2]s, controller-uid: %[2]s, batch.kubernetes.io/job-name: %[1]s, job-name: %[1]s}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %[1]s, uid: %[2]s, controller: true}]
spec:
  schedulingGates: [{name: example.com/never}]
  containers: [{name: main, image: main, resources: {limits: {nvidia.com/gpu: 1000}}}]
`

// TestS7APodThatNeverRunsUsesNoQuota: not the quota of the queue that its Job is
// admitted to, and not of one that would not even take the Job.
func TestS7APodThatNeverRunsUsesNoQuota(t *testing.T) {
	ctx, s := scene(t, "hog", hogPolicy)
	lab := &stories.Scene{Env: s.Env, Teller: s.Teller, NS: "hog-lab"}
	must(t, s.Namespace(ctx, lab.NS))
	t.Cleanup(func() { cleanUp(t, lab) })
	hogFor := func(name string) {
		t.Helper()
		found, err := s.Job(ctx, name)
		must(t, err)
		_, err = s.Apply(ctx, fmt.Sprintf(hogPod, name, found.UID))
		must(t, err)
		t.Cleanup(func() {
			ctx := context.WithoutCancel(ctx)
			if _, err := s.Kubectl(ctx, "delete", "pod", "hog-of-"+name, "--grace-period=0", "--force", "--ignore-not-found"); err != nil {
				t.Error(err)
			}
			if _, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", s.NS, "patch", "job", name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`); err != nil {
				t.Log(err) // it is gone already
			}
		})
	}

	t.Run("of an admitted Job", func(t *testing.T) {
		_, err := s.Apply(ctx, job{name: "runs", queue: "mine", pods: 1, gpus: 1}.yaml())
		must(t, err)
		must(t, s.Running(ctx, "runs", 1))
		hogFor("runs")
		_, err = s.Apply(ctx, job{name: "next", queue: "mine", pods: 1, gpus: 1}.yaml())
		must(t, err)
		must(t, s.Running(ctx, "next", 1))
	})
	t.Run("of one that another team's queue does not take, and that never goes", func(t *testing.T) {
		manifest := job{name: "foreign", queue: "lab", pods: 1, gpus: 1}.yaml()
		_, err := s.Apply(ctx, manifest)
		must(t, err)
		must(t, s.Waits(ctx, "foreign", "UnknownQueue"))
		_, err = s.Kubectl(ctx, "patch", "job", "foreign", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/stay"]}}`)
		must(t, err)
		_, err = s.Kubectl(ctx, "delete", "job", "foreign", "--wait=false")
		must(t, err)
		hogFor("foreign")
		_, err = lab.Apply(ctx, job{name: "theirs", queue: "lab", pods: 2, gpus: 1}.yaml())
		must(t, err)
		must(t, lab.Running(ctx, "theirs", 2))
	})
}

// hostPortPod asks for a port of the machine with the GPUs.
const hostPortPod = `apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {plane.holdshort.dev/stop: 50ms}}
spec:
  nodeSelector: {nvidia.com/gpu.present: "true"}
  containers: [{name: main, image: main, ports: [{containerPort: 80, hostPort: 8080}], resources: {limits: {%s}}}]
`

// TestAPodThatTheSchedulerWillNotPlaceKeepsNoMachines: it waits for a port that
// somebody has, not for the GPUs that are free.
func TestAPodThatTheSchedulerWillNotPlaceKeepsNoMachines(t *testing.T) {
	ctx, s := scene(t, "hog", hogPolicy)
	_, err := s.Apply(ctx, fmt.Sprintf(hostPortPod, "has-the-port", "cpu: 10m"))
	must(t, err)
	must(t, s.PodRuns(ctx, "has-the-port"))
	_, err = s.Apply(ctx, fmt.Sprintf(hostPortPod, "wants-the-port", "nvidia.com/gpu: 7"))
	must(t, err)
	_, err = s.Apply(ctx, job{name: "train", queue: "mine", pods: 1, gpus: 2}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "train", 1))
}
