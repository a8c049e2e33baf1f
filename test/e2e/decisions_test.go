//go:build plane

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const decisionsData = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      moving:
        namespaces: {names: [moving]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 1}
`

// movingCatalog gives the queue half of the GPUs, and in every other minute one more.
const movingCatalog = `package holdshort.policy

catalog.queues := {"moving": {"namespaces": {"names": ["moving"]}, "flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": amount}}}}

amount := floor(input.capacity.gpu["nvidia.com/gpu"].allocatable / 2) + odd

odd := minute % 2 if [_, minute, _] := time.clock(input.now_ns)
`

func TestACatalogFollowsTheMachinesAndTheMinute(t *testing.T) {
	ctx, s := scene(t, "moving", decisionsData)
	gpus := int64(0)
	for _, node := range stories.Nodes() {
		gpus += node.GPUs
	}
	must(t, s.SetPolicy(ctx, map[string]string{"data.yaml": decisionsData, "moving.rego": movingCatalog}))
	limit := func(odd int) func(context.Context) (bool, string) {
		return func(ctx context.Context) (bool, string) {
			out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "queue.holdshort.dev", "moving", "-o", "jsonpath={.status.usage[*].limit}")
			return err == nil && out == fmt.Sprint(gpus/2+int64(odd)), out
		}
	}
	now := time.Now().UTC().Minute() % 2
	for _, odd := range []int{now, 1 - now} {
		must(t, stories.Eventually(ctx, 75*time.Second, fmt.Sprintf("the limit is that of a minute with %d more", odd), limit(odd)))
	}
}

func TestDecisionsAreRecordedServedAndReplayed(t *testing.T) {
	ctx, s := scene(t, "moving", decisionsData)
	const deny = `package holdshort.policy

import data.holdshort.lib

deny contains lib.reason("team.example/Big", "at most 2 GPUs") if lib.total("nvidia.com/gpu") > %d
`
	folder := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	must(t, listener.Close())
	file := filepath.Join(folder, "decisions.jsonl")
	s.Manager.Args = []string{"--metrics-address", address, "--decisions-keep=100", "--decisions-file", file}
	restart := func() {
		s.Manager.Stop()
		must(t, s.Manager.Start(ctx))
	}
	restart()
	t.Cleanup(func() {
		s.Manager.Args = nil
		s.Manager.Stop()
		must(t, s.Manager.Start(context.Background()))
	})
	must(t, s.SetPolicy(ctx, map[string]string{"data.yaml": decisionsData, "deny.rego": fmt.Sprintf(deny, 2)}))
	must(t, stories.Eventually(ctx, 10*time.Second, "the rule is in force", func(ctx context.Context) (bool, string) {
		_, err := s.Apply(ctx, job{name: "big", queue: "moving", pods: 3, gpus: 1}.yaml())
		if err == nil {
			_, err := s.Kubectl(ctx, "delete", "job", "big")
			return false, fmt.Sprint(err)
		}
		return strings.Contains(err.Error(), "team.example/Big"), err.Error()
	}))
	_, err = s.Apply(ctx, job{name: "small", queue: "moving", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "small", 1))
	response, err := http.Get("http://" + address + "/debug/decisions")
	must(t, err)
	served, err := io.ReadAll(response.Body)
	must(t, err)
	must(t, response.Body.Close())
	written, err := os.ReadFile(file)
	must(t, err)
	for name, text := range map[string]string{"served": string(served), "written": string(written)} {
		if !strings.Contains(text, `"path":"holdshort/policy/deny"`) || !strings.Contains(text, "team.example/Big") {
			t.Errorf("what is %s tells nothing of the refusal:\n%s", name, text)
		}
	}
	for name, text := range map[string]string{"data.yaml": decisionsData, "deny.rego": fmt.Sprintf(deny, 3),
		"hold.rego": "package holdshort.policy\n\nhold contains {\"code\": \"team.example/Later\", \"message\": \"later\"} if input.usage.waiting > 0\n"} {
		must(t, os.MkdirAll(filepath.Join(folder, "new"), 0o755))
		must(t, os.WriteFile(filepath.Join(folder, "new", name), []byte(text), 0o600))
	}
	out, err := s.Plugin(ctx, cluster.Admin, "policy", "replay", file, "--bundle", filepath.Join(folder, "new"))
	must(t, err)
	for _, want := range []string{"no longer denied", "deny of moving/big", "newly held", "hold of moving/small"} {
		if !strings.Contains(out, want) {
			t.Errorf("replay does not say %q:\n%s", want, out)
		}
	}
}
