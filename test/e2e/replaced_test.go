//go:build plane

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/history"
)

// replacedPolicy trusts in machines that an autoscaler would make.
const replacedPolicy = `holdshort:
  config:
    flavors:
      gpu: {verify: none}
    queues:
      replaced:
        namespaces: {names: [replaced]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 16}
        placementTimeoutSeconds: 8
        backoff: {baseSeconds: 60}
`

// A manager that starts anew does not take what a Job's pods did before they were
// taken back for something that they did since; and what they did since, it takes from
// the Job's own status, as it has not seen it.
func TestAManagerThatStartsAnewKnowsWhoHadItsPods(t *testing.T) {
	ctx, s := sceneBy(t, "replaced", replacedPolicy, history.Rules{Homeless: true, Limits: []history.Limit{
		{Queue: "replaced", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 16},
	}})
	_, err := s.Apply(ctx, job{name: "gang", queue: "replaced", pods: 4, gpus: 1, run: "8s", spec: "  completions: 8\n"}.yaml())
	must(t, err)
	_, err = s.Apply(ctx, job{name: "loses", queue: "replaced", pods: 2, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "loses", 2))
	must(t, s.Eventually(ctx, "its first pods have ended", func(ctx context.Context) (bool, string) {
		found, err := s.Job(ctx, "gang")
		return err == nil && found.Status.Succeeded == 4, fmt.Sprint(err)
	}))
	hold(t, ctx, s, "gang")
	cordoned(t, ctx, s, "node-1")
	pods, err := s.Pods(ctx, "loses")
	must(t, err)
	_, err = s.Kubectl(ctx, "delete", "pod", pods[0].Name, "--wait=false")
	must(t, err)
	must(t, s.Eventually(ctx, "it is replaced", func(ctx context.Context) (bool, string) {
		pods, err := s.Pods(ctx, "loses")
		here := slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		return err == nil && len(here) == 2, fmt.Sprint(len(here), err)
	}))
	_, err = s.Kubectl(ctx, "annotate", "job", "gang", "holdshort.dev/hold-")
	must(t, err)
	must(t, s.Eventually(ctx, "the gang starts again", func(ctx context.Context) (bool, string) {
		gang, err := s.Job(ctx, "gang")
		return err == nil && !*gang.Spec.Suspend, fmt.Sprint(err)
	}))
	s.Manager.Kill()
	must(t, s.Manager.Start(ctx))
	// Where some of its pods were counted as failed, the Job controller takes its time with
	// the next ones.
	if first, _ := takenBackTimes(t, ctx, s, "gang", 1); first.Code != "placement timeout" && first.Code != "no pods made" {
		t.Errorf("the record of who never had its pods: %+v", first)
	}
	time.Sleep(2 * time.Second) // its pod has had no node for longer than the other's
	found, err := s.Job(ctx, "loses")
	must(t, err)
	if *found.Spec.Suspend || found.Annotations[policies.AnnotationBackoff] != "" {
		t.Errorf("who had its pods is taken back: %s", found.Annotations[policies.AnnotationBackoff])
	}
}
