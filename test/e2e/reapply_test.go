//go:build plane

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/plane/cluster"
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

func TestS7ApplyingAnUnchangedManifestNeverDisturbsTheRunningJob(t *testing.T) {
	ctx, s := scene(t, "again", reapplyPolicy)
	cases := []struct {
		name      string
		spec      string
		args      []string
		running   bool // accepted while the manager runs
		mayRefuse bool // accepted or refused, but never disturbing
	}{
		{name: "client-side", args: []string{"apply", "-f", "-"}, running: true},
		{name: "client-side-suspend", spec: "  suspend: true\n", args: []string{"apply", "-f", "-"}, running: true},
		{name: "server-side", args: []string{"apply", "--server-side", "-f", "-"}, running: true},
		{name: "server-side-suspend", spec: "  suspend: true\n", args: []string{"apply", "--server-side", "-f", "-"}, mayRefuse: true},
		{name: "server-side-suspend-forced", spec: "  suspend: true\n", args: []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, running: true},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			manifest := job{name: fmt.Sprintf("again-%d", i), queue: "again", pods: 1, gpus: 1, spec: c.spec}.yaml()
			apply := func() (string, error) {
				return s.KubectlIn(ctx, cluster.Alice, manifest, append([]string{"-n", s.NS}, c.args...)...)
			}
			_, err := apply()
			must(t, err)
			name := fmt.Sprintf("again-%d", i)
			must(t, s.Running(ctx, name, 1))
			before, err := s.Pods(ctx, name)
			must(t, err)
			for _, manager := range []bool{true, false} {
				if !manager {
					s.Manager.Stop()
				}
				out, err := apply()
				t.Logf("manager=%v: %s %v", manager, strings.TrimSpace(out), err)
				if manager && c.running && err != nil {
					t.Errorf("refused while the manager runs: %v", err)
				}
				if !manager {
					must(t, s.Manager.Start(ctx))
				}
				must(t, s.Running(ctx, name, 1))
				after, err := s.Pods(ctx, name)
				must(t, err)
				if diff := cmp.Diff(before[0].UID, after[0].UID); diff != "" {
					t.Errorf("manager=%v: another pod runs now: %s", manager, diff)
				}
				found, err := s.Job(ctx, name)
				must(t, err)
				if found.Annotations["holdshort.dev/reservation"] == "" || *found.Spec.Suspend {
					t.Errorf("manager=%v: the admission is disturbed: suspend %v, %v", manager, *found.Spec.Suspend, found.Annotations)
				}
			}
		})
	}
}
