//go:build plane

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

// reapplyPolicy injects a selector and a toleration, so that a manifest that is
// applied again does not say what the template has.
const reapplyPolicy = `holdshort:
  config:
    flavors:
      gpu:
        nodeLabels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
        tolerations: [{key: nvidia.com/gpu, operator: Exists}]
    queues:
      again:
        namespaces: {names: [again]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 8}
`

// answer of the API server: taken, or part of the refusal.
type answer string

const taken answer = ""

func (a answer) check(t *testing.T, out string, err error) {
	t.Helper()
	switch {
	case a == taken && err != nil:
		t.Errorf("refused: %v", err)
	case a != taken && err == nil:
		t.Errorf("taken (%s), want a refusal with %q", strings.TrimSpace(out), a)
	case a != taken && !strings.Contains(err.Error(), string(a)):
		t.Errorf("got %v, want a refusal with %q", err, a)
	}
}

// reapplied is a manifest, a way of applying it, and what the second time gives.
type reapplied struct {
	name          string
	spec, podSpec string
	args          []string
	running       answer // while the manager runs
	stopped       answer // and while it does not
}

func reapplications() []reapplied {
	const (
		suspend   = "  suspend: true\n"
		tolerate  = "      tolerations: [{key: mine, operator: Exists}]\n"
		conflict  = answer("conflict with \"holdshort-ledger\"")
		immutable = answer("field is immutable")
	)
	client, server := []string{"apply"}, []string{"apply", "--server-side"}
	forced := append(slices.Clip(server), "--force-conflicts")
	return []reapplied{
		{name: "client-side", args: client},
		{name: "client-side-suspend", spec: suspend, args: client},
		{name: "client-side-tolerations", podSpec: tolerate, args: client, stopped: immutable},
		{name: "server-side", args: server},
		{name: "server-side-suspend", spec: suspend, args: server, running: conflict, stopped: conflict},
		{name: "server-side-suspend-forced", spec: suspend, args: forced},
		{name: "server-side-tolerations-forced", podSpec: tolerate, args: forced, stopped: immutable},
	}
}

func TestS7ApplyingAnUnchangedManifestNeverDisturbsTheRunningJob(t *testing.T) {
	ctx, s := scene(t, "again", reapplyPolicy)
	apply := func(c reapplied) (string, error) {
		manifest := job{name: c.name, queue: "again", pods: 1, gpus: 1, spec: c.spec, podSpec: c.podSpec}.yaml()
		return s.KubectlIn(ctx, cluster.Alice, manifest, append([]string{"-n", s.NS, "-f", "-"}, c.args...)...)
	}
	before := map[string]map[string]any{}
	for _, c := range reapplications() {
		_, err := apply(c)
		must(t, err)
	}
	for _, c := range reapplications() {
		must(t, s.Running(ctx, c.name, 1))
		before[c.name] = runsStill(t, ctx, s, c.name)
	}
	again := func(t *testing.T, wants func(reapplied) answer) {
		for _, c := range reapplications() {
			t.Run(c.name, func(t *testing.T) {
				out, err := apply(c)
				wants(c).check(t, out, err)
				if diff := cmp.Diff(before[c.name], runsStill(t, ctx, s, c.name)); diff != "" {
					t.Errorf("the running Job is disturbed (-before +after):\n%s", diff)
				}
			})
		}
	}
	t.Run("with the manager", func(t *testing.T) { again(t, func(c reapplied) answer { return c.running }) })
	s.Manager.Stop()
	t.Run("with the manager stopped", func(t *testing.T) { again(t, func(c reapplied) answer { return c.stopped }) })
	must(t, s.Manager.Start(ctx))
	for _, c := range reapplications() {
		must(t, s.Running(ctx, c.name, 1))
		if diff := cmp.Diff(before[c.name], runsStill(t, ctx, s, c.name)); diff != "" {
			t.Errorf("%s is disturbed when the manager is back (-before +after):\n%s", c.name, diff)
		}
	}
}

// runsStill is what a Job runs by, and which pods it has.
func runsStill(t *testing.T, ctx context.Context, s *stories.Scene, name string) map[string]any {
	t.Helper()
	all := standing(t, ctx, s, name)
	found, err := s.Job(ctx, name)
	must(t, err)
	all["template"] = found.Spec.Template
	pods, err := s.Pods(ctx, name)
	must(t, err)
	var running []string
	for _, pod := range pods {
		running = append(running, fmt.Sprintf("%s %s deleting=%v", pod.UID, pod.Status.Phase, pod.DeletionTimestamp != nil))
	}
	slices.Sort(running)
	all["pods"] = running
	return all
}
