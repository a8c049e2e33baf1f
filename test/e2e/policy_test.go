//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

// inForce puts a policy into force and waits until it is.
func inForce(t *testing.T, ctx context.Context, env *stories.Env, data string) {
	t.Helper()
	must(t, env.SetPolicy(ctx, map[string]string{"data.yaml": data}))
	must(t, stories.Eventually(ctx, 10*time.Second, "the policy is in force", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, env, "{.status.conditions[?(@.type=='PolicyActive')].status}/{.status.active.verdict}", "True/Active")
	}))
	names := queueNames(data)
	must(t, stories.Eventually(ctx, 10*time.Second, "its queues exist", func(ctx context.Context) (bool, string) {
		out, err := env.Kubectl(ctx, cluster.Admin, "get", "queues.holdshort.dev", "-o", "name")
		for _, name := range names {
			if err != nil || !strings.Contains(out, "/"+name+"\n") {
				return false, out
			}
		}
		return true, ""
	}))
}

func rolloutSays(ctx context.Context, env *stories.Env, path, want string) (bool, string) {
	out, err := env.Kubectl(ctx, cluster.Admin, "get", "policyrollout", "holdshort", "-o", "jsonpath="+path)
	if err != nil {
		return false, err.Error()
	}
	return strings.Contains(out, want), out
}

// queueNames are the keys under queues: in a data.yaml of these tests.
func queueNames(data string) []string {
	_, queues, _ := strings.Cut(data, "    queues:\n")
	var names []string
	for line := range strings.Lines(queues) {
		if strings.HasPrefix(line, "      ") && !strings.HasPrefix(line, "       ") {
			name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			names = append(names, name)
		}
	}
	return names
}

// cleanUp deletes everything in the scene's namespace and waits until it is gone.
func cleanUp(t *testing.T, s *stories.Scene) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := s.Env.Kubectl(ctx, cluster.Admin, "delete", "namespace", s.NS, "--ignore-not-found", "--wait=false"); err != nil {
		t.Errorf("deleting namespace %s: %v", s.NS, err)
	}
	err := stories.Eventually(ctx, time.Minute, "namespace "+s.NS+" is gone", func(ctx context.Context) (bool, string) {
		ns, err := s.Client.CoreV1().Namespaces().Get(ctx, s.NS, metav1.GetOptions{})
		if err != nil {
			return true, ""
		}
		return false, fmt.Sprint(ns.Status.Conditions)
	})
	if err != nil {
		t.Error(err)
	}
}

const editPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      edit:
        namespaces: {names: [edit]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: %s}
`

func TestS6RaisingTheQuotaStartsTheWaitingJobWithinTwoSeconds(t *testing.T) {
	ctx, s := scene(t, "edit", fmt.Sprintf(editPolicy, "2"))
	_, err := s.Apply(ctx, job{name: "big", queue: "edit", pods: 4, gpus: 1, run: "1m"}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "big", "NeverFits"))
	must(t, s.SetPolicy(ctx, map[string]string{"data.yaml": fmt.Sprintf(editPolicy, "4")}))
	must(t, stories.Eventually(ctx, 2*time.Second, "big is admitted", func(ctx context.Context) (bool, string) {
		found, err := s.Job(ctx, "big")
		if err != nil {
			return false, err.Error()
		}
		return !*found.Spec.Suspend, "suspended"
	}))
	must(t, s.Running(ctx, "big", 4))
}

func TestS6ABadEditIsRefusedWithFileAndRowAndChangesNothing(t *testing.T) {
	good := fmt.Sprintf(editPolicy, "4")
	ctx, s := scene(t, "edit", good)
	_, err := s.Apply(ctx, job{name: "runs", queue: "edit", pods: 4, gpus: 1, run: "5m"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))

	cases := []struct {
		name  string
		files map[string]string
		at    string // where
		says  string
	}{
		{"a syntax error in Rego", map[string]string{"data.yaml": good, "mine.rego": "package holdshort.policy\n\ndeny contains if {\n"}, "mine.rego:3", ""},
		{"a syntax error in the data", map[string]string{"data.yaml": good + "  oops\n"}, "data.yaml:", ""},
		{"a wrong type", map[string]string{"data.yaml": strings.Replace(good, "[gpu]", "gpu", 1)}, "data.yaml:8", ""},
		{"a priority that is text", map[string]string{"data.yaml": good, "mine.rego": "package holdshort.policy.classify\n\npriority := \"high\"\n"}, "mine.rego:3", "priority"},
		{"an unknown field", map[string]string{"data.yaml": strings.Replace(good, "flavors: [gpu]", "flavors: [gpu]\n        quotas: {}", 1)}, "data.yaml:9", "quotas"},
		{"a negative quota", map[string]string{"data.yaml": fmt.Sprintf(editPolicy, "-4")}, "data.yaml:10", "-4"},
		{"a flavor that does not exist", map[string]string{"data.yaml": strings.Replace(good, "flavors: [gpu]", "flavors: [gpu, tpu]", 1)}, "data.yaml:8", "tpu"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := activeDigest(t, ctx, s.Env)
			must(t, s.SetPolicy(ctx, c.files))
			must(t, stories.Eventually(ctx, 10*time.Second, "the status names "+c.at, func(ctx context.Context) (bool, string) {
				ok, got := rolloutSays(ctx, s.Env, "{.status.candidate.verdict} {.status.candidate.errors}", c.at)
				return ok && strings.HasPrefix(got, "Rejected") && strings.Contains(got, c.says), got
			}))
			if now := activeDigest(t, ctx, s.Env); now != before {
				t.Errorf("the active revision changed from %s to %s", before, now)
			}
			must(t, stories.Eventually(ctx, 10*time.Second, "an event names "+c.at, func(ctx context.Context) (bool, string) {
				out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "events.events.k8s.io", "-A", "-o", "jsonpath={range .items[?(@.reason=='PolicyRejected')]}{.note}{'\\n'}{end}")
				return err == nil && strings.Contains(out, c.at), out
			}))
		})
	}
	must(t, s.Running(ctx, "runs", 4))

	t.Run("the last good one is in force after a restart with the bad one in place", func(t *testing.T) {
		before := activeDigest(t, ctx, s.Env)
		s.Manager.Kill()
		must(t, s.Manager.Start(ctx))
		must(t, stories.Eventually(ctx, 10*time.Second, "the candidate is refused again", func(ctx context.Context) (bool, string) {
			return rolloutSays(ctx, s.Env, "{.status.candidate.verdict}", "Rejected")
		}))
		if now := activeDigest(t, ctx, s.Env); now != before {
			t.Errorf("after the restart %s is in force, before it was %s", now, before)
		}
	})
	t.Run("the next good edit works", func(t *testing.T) {
		inForce(t, ctx, s.Env, fmt.Sprintf(editPolicy, "8"))
		if ok, got := rolloutSays(ctx, s.Env, "[{.status.candidate}]", "[]"); !ok {
			t.Errorf("a candidate is left: %s", got)
		}
	})
}

func activeDigest(t *testing.T, ctx context.Context, env *stories.Env) string {
	t.Helper()
	out, err := env.Kubectl(ctx, cluster.Admin, "get", "policyrollout", "holdshort", "-o", "jsonpath={.status.active.digest}")
	must(t, err)
	if out == "" {
		t.Fatal("no revision is in force")
	}
	return out
}
