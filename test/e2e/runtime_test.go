//go:build plane

package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/test/stories"
)

const runtimePolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      timed:
        namespaces: {names: [timed]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
`

// TestTheTimeOfAJobCountsOverAllItsStarts: its owner holds it and lets it go, the
// manager is killed, and then its time is up. Nobody gets it more by
// taking the record away, but its user by raising the limit.
func TestTheTimeOfAJobCountsOverAllItsStarts(t *testing.T) {
	ctx, s := scene(t, "timed", runtimePolicy)
	const limit = 12
	_, err := s.Apply(ctx, job{name: "timed", queue: "timed", pods: 2, gpus: 1, annotations: `{holdshort.dev/max-runtime-seconds: "12"}`}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "timed", 2))
	text, err := s.Explain(ctx, "timed")
	must(t, err)
	must(t, stories.Contains(text, "is stopped at ", "max-runtime-seconds"))
	time.Sleep(3 * time.Second)
	hold(t, ctx, s, "timed")
	first := ranFor(t, ctx, s, "timed")
	if first < 3*time.Second || first > limit*time.Second {
		t.Errorf("held after 3 s and a little, it says it ran for %v", first)
	}
	_, err = s.Kubectl(ctx, "annotate", "job", "timed", "holdshort.dev/ran-")
	must(t, err)
	time.Sleep(3 * time.Second) // while it is held, its clock stands still
	if now := ranFor(t, ctx, s, "timed"); now != first {
		t.Errorf("it ran for %v, and says %v after somebody took the record away", first, now)
	}

	_, err = s.Kubectl(ctx, "annotate", "job", "timed", "holdshort.dev/hold-")
	must(t, err)
	must(t, s.Running(ctx, "timed", 2))
	again := time.Now()
	s.Manager.Kill()
	out, err := s.Kubectl(ctx, "annotate", "job", "timed", "holdshort.dev/ran-")
	answer("Only holdshort writes annotation holdshort.dev/ran").check(t, out, err)
	must(t, s.Manager.Start(ctx))
	must(t, s.Says(ctx, "timed", "OutOfTime"))
	if took, left := time.Since(again), limit*time.Second-first; took > left+5*time.Second {
		t.Errorf("with %v left it was stopped after %v", left, took)
	}
	if all := ranFor(t, ctx, s, "timed"); all < limit*time.Second || all > (limit+5)*time.Second {
		t.Errorf("stopped, it says it ran for %v", all)
	}
	text, err = s.Explain(ctx, "timed")
	must(t, err)
	must(t, stories.Contains(text, "lets it run for 12s", "Try: raise that"))

	_, err = s.Kubectl(ctx, "annotate", "--overwrite", "job", "timed", "holdshort.dev/max-runtime-seconds=600")
	must(t, err)
	must(t, s.Running(ctx, "timed", 2))
}

// TestThePolicysLimitHoldsForWhatStartsUnderIt and not for what runs already.
func TestThePolicysLimitHoldsForWhatStartsUnderIt(t *testing.T) {
	ctx, s := scene(t, "timed", runtimePolicy)
	_, err := s.Apply(ctx, job{name: "before", queue: "timed", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "before", 1))
	filesInForce(t, ctx, s.Env, map[string]string{
		"data.yaml":   runtimePolicy,
		"limits.rego": "package holdshort.policy\n\nclassify.maxRuntimeSeconds := 2\n",
	})
	_, err = s.Apply(ctx, job{name: "after", queue: "timed", pods: 1, gpus: 1, annotations: `{holdshort.dev/max-runtime-seconds: "600"}`}.yaml())
	must(t, err)
	must(t, s.Says(ctx, "after", "OutOfTime"))
	text, err := s.Explain(ctx, "after")
	must(t, err)
	must(t, stories.Contains(text, "the policy lets it run for 2s (classify.maxRuntimeSeconds)"))
	must(t, s.Running(ctx, "before", 1))
}

func ranFor(t *testing.T, ctx context.Context, s *stories.Scene, name string) time.Duration {
	t.Helper()
	j, err := s.Job(ctx, name)
	must(t, err)
	var ran demand.Ran
	must(t, json.Unmarshal([]byte(j.Annotations["holdshort.dev/ran"]), &ran))
	if ran.UID != string(j.UID) {
		t.Errorf("%s carries the time of %s", name, ran.UID)
	}
	return time.Duration(ran.Nanoseconds)
}
