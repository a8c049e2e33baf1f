//go:build plane

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

// backoffPolicy trusts in machines that an autoscaler would make.
const backoffPolicy = `holdshort:
  config:
    flavors:
      gpu: {verify: none}
    queues:
      backoff:
        namespaces: {names: [backoff]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 16}
        placementTimeoutSeconds: 2
        backoff: {baseSeconds: 4, limitCount: 2}
`

func backoffRules() history.Rules {
	return history.Rules{Homeless: true, Limits: []history.Limit{{Queue: "backoff", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 16}}}
}

// takenBackTimes waits until a Job was taken back so often, and returns its record
// and for how long it is to wait.
func takenBackTimes(t *testing.T, ctx context.Context, s *stories.Scene, name string, times int64) (demand.Backoff, time.Duration) {
	t.Helper()
	var b demand.Backoff
	var pause time.Duration
	must(t, s.Eventually(ctx, fmt.Sprintf("%s is taken back for the %d. time", name, times), func(ctx context.Context) (bool, string) {
		found, err := s.Job(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		if found.Annotations[policies.AnnotationBackoff] == "" {
			return false, "it was not yet"
		}
		b = backoffOf(t, found)
		for _, c := range found.Status.Conditions {
			if c.Type == batchv1.JobSuspended {
				pause = time.Duration(b.Until - c.LastTransitionTime.UnixNano())
			}
		}
		return b.Count == times && *found.Spec.Suspend, fmt.Sprintf("its record: %+v", b)
	}))
	return b, pause
}

// allGone waits until a Job that was taken back has no pod left.
func allGone(t *testing.T, ctx context.Context, s *stories.Scene, name string) {
	t.Helper()
	must(t, s.Eventually(ctx, "all pods of "+name+" are gone", func(ctx context.Context) (bool, string) {
		err := s.NoPods(ctx, name)
		return err == nil, fmt.Sprint(err)
	}))
}

// The last pod of a gang finds no node: all the others give their place back, and
// it is tried again later and later, until its queue has had enough.
func TestAGangWhoseLastPodCannotStartGivesEverythingBack(t *testing.T) {
	ctx, s := sceneBy(t, "backoff", backoffPolicy, backoffRules())
	_, err := s.Apply(ctx, job{name: "gang", queue: "backoff", pods: 9, gpus: 1, run: "24h"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "gang", 8))
	first, pause := takenBackTimes(t, ctx, s, "gang", 1)
	allGone(t, ctx, s, "gang")
	if first.Code != "placement timeout" || pause > 6*time.Second {
		t.Errorf("it waits for %v after %+v", pause, first)
	}
	if _, longer := takenBackTimes(t, ctx, s, "gang", 2); longer < 5*time.Second || longer > 10*time.Second {
		t.Errorf("after the second time it waits for %v, and did for %v after the first", longer, pause)
	}
	must(t, s.Says(ctx, "gang", "GaveUp"))
	allGone(t, ctx, s, "gang")
	found, err := s.Job(ctx, "gang")
	must(t, err)
	if found.Labels[policies.LabelState] != policies.StateHeld {
		t.Errorf("state %s", found.Labels[policies.LabelState])
	}
	text, err := s.Explain(ctx, "gang")
	must(t, err)
	must(t, stories.Contains(text, "taken back 3 times, the last time because of placement timeout", "holdshort.dev/hold"))

	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "backoff-1", GPUs: 1}})
	letGoAgain(t, ctx, s, "gang")
	must(t, s.Running(ctx, "gang", 9))
}

// letGoAgain holds a Job until it says so, and lets it go: what failed is forgotten.
func letGoAgain(t *testing.T, ctx context.Context, s *stories.Scene, name string) {
	t.Helper()
	_, err := s.KubectlIn(ctx, cluster.Alice, "", "-n", s.NS, "annotate", "job", name, policies.AnnotationHold+"=another node")
	must(t, err)
	must(t, s.Waits(ctx, name, "HeldByOwner"))
	found, err := s.Job(ctx, name)
	must(t, err)
	if record := found.Annotations[policies.AnnotationBackoff]; record != "" {
		t.Errorf("its owner holds it, and it still says %s", record)
	}
	_, err = s.KubectlIn(ctx, cluster.Alice, "", "-n", s.NS, "annotate", "job", name, policies.AnnotationHold+"-")
	must(t, err)
}

// What the user changes is another Job: it is tried at once, and has as many
// attempts as any.
func TestAJobThatWasGivenUpIsTriedAgainOnceItIsChanged(t *testing.T) {
	ctx, s := sceneBy(t, "backoff", backoffPolicy, backoffRules())
	_, err := s.Apply(ctx, job{name: "gang", queue: "backoff", pods: 9, gpus: 1, run: "24h"}.yaml())
	must(t, err)
	takenBackTimes(t, ctx, s, "gang", 1)
	allGone(t, ctx, s, "gang")
	_, err = s.KubectlIn(ctx, cluster.Alice, "", "-n", s.NS, "patch", "job", "gang", "--type=merge", "-p", `{"spec":{"parallelism":8}}`)
	must(t, err)
	must(t, s.Running(ctx, "gang", 8))
	found, err := s.Job(ctx, "gang")
	must(t, err)
	if record := found.Annotations[policies.AnnotationBackoff]; record != "" {
		t.Errorf("it was changed, and still says %s", record)
	}
}
