//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const policyConfigMap = stories.Release + "-policy"

// inForce puts a policy into force and waits until it is: this text and no
// older one.
func inForce(t *testing.T, ctx context.Context, env *stories.Env, data string) {
	t.Helper()
	filesInForce(t, ctx, env, map[string]string{"data.yaml": data})
}

// filesInForce is inForce for a policy that has rules, too.
func filesInForce(t *testing.T, ctx context.Context, env *stories.Env, files map[string]string) {
	t.Helper()
	must(t, env.SetPolicy(ctx, files))
	bundle, err := rollout.ConfigMaps{Names: []string{policyConfigMap}}.Assemble(map[string]map[string]string{policyConfigMap: files})
	must(t, err)
	must(t, stories.Eventually(ctx, 10*time.Second, "the policy is in force", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, env, "{.status.conditions[?(@.type=='PolicyActive')].status}/{.status.active.verdict}/{.status.active.digest}", "True/Active/"+bundle.Digest())
	}))
	names := queueNames(files["data.yaml"])
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

// badEdit is a policy with one mistake.
type badEdit struct {
	name  string
	files map[string]string
	at    string // where
	says  string
}

// badEdits are the ways in which good can be spoilt.
func badEdits(good string) []badEdit {
	replaced := func(old, with string) map[string]string {
		return map[string]string{"data.yaml": strings.Replace(good, old, with, 1)}
	}
	rule := func(text string) map[string]string { return map[string]string{"data.yaml": good, "mine.rego": text} }
	return []badEdit{
		{"a syntax error in Rego", rule("package holdshort.policy\n\ndeny contains if {\n"), "mine.rego:3", ""},
		{"a syntax error in the data", map[string]string{"data.yaml": good + "  oops\n"}, "data.yaml:", ""},
		{"a wrong type", replaced("[gpu]", "gpu"), "data.yaml:8", ""},
		{"a priority that is text", rule("package holdshort.policy.classify\n\npriority := \"high\"\n"), "mine.rego:3", "priority"},
		{"an unknown field", replaced("flavors: [gpu]", "flavors: [gpu]\n        quotas: {}"), "data.yaml:9", "quotas"},
		{"a negative quota", replaced("nvidia.com/gpu: 4", "nvidia.com/gpu: -4"), "data.yaml:10", "-4"},
		{"a flavor that does not exist", replaced("[gpu]", "[gpu, tpu]"), "data.yaml:8", "tpu"},
		{"a rule that reads what it may not", rule("package holdshort.policy\n\ndeny contains {\"code\": \"a.example/B\", \"message\": \"x\"} if input.usage.waiting > 1\n"), "mine.rego:3", "usage"},
	}
}

func TestS6ABadEditIsRefusedWhileItIsAppliedAndChangesNothing(t *testing.T) {
	good := fmt.Sprintf(editPolicy, "4")
	ctx, s := scene(t, "edit", good)
	before := activeDigest(t, ctx, s.Env)
	for _, c := range badEdits(good) {
		t.Run(c.name, func(t *testing.T) {
			for _, dry := range [][]string{{"--dry-run=server"}, nil} {
				err := s.SetPolicy(ctx, c.files, dry...)
				if err == nil || !strings.Contains(err.Error(), "check.policies.holdshort.dev") {
					t.Fatalf("%v: got %v, want a refusal by the check", dry, err)
				}
				for _, want := range []string{"\n" + stories.Release + "-policy/" + c.at, c.says} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v: no %q in\n%v", dry, want, err)
					}
				}
			}
			if ok, got := rolloutSays(ctx, s.Env, "[{.status.candidate}]{.status.active.digest}", "[]"+before); !ok {
				t.Errorf("the rollout says %s, want %s and no candidate", got, before)
			}
		})
	}
	t.Run("what is only doubtful is applied, with a warning", func(t *testing.T) {
		doubtful := "package holdshort.policy\n\nhold contains {\"code\": \"a.example/B\", \"message\": \"x\"} if data.holdshort.config.custom.nothing\n"
		out := dryRun(t, ctx, s.Env, "patch", "configmap", stories.Release+"-policy", "--type=merge",
			"-p", fmt.Sprintf(`{"data": {"mine.rego": %q}}`, doubtful))
		if !strings.Contains(out, "Warning: ") || !strings.Contains(out, "mine.rego:3: ") {
			t.Errorf("no warning with the row in\n%s", out)
		}
	})
	t.Run("a scenario that comes to something else is told, with a warning", func(t *testing.T) {
		story := "nodes: [{name: n1, has: {nvidia.com/gpu: 8}}]\njobs: [{name: big, namespace: edit, queue: edit, requests: {nvidia.com/gpu: 5}}]\n" +
			"expect:\n- {job: big, startsBy: 1m}\n"
		out := dryRun(t, ctx, s.Env, "patch", "configmap", stories.Release+"-policy", "--type=merge",
			"-p", fmt.Sprintf(`{"data": {"big.scenario.yaml": %q}}`, story))
		if !strings.Contains(out, "Warning: ") || !strings.Contains(out, "big.scenario.yaml:4: the test big starts by 1m fails") {
			t.Errorf("no warning with the row in\n%s", out)
		}
	})
	t.Run("a ConfigMap that the manager does not read is applied, with a warning", func(t *testing.T) {
		out := dryRun(t, ctx, s.Env, "patch", "configmap", stories.Release+"-policy-active",
			"-p", `{"metadata": {"labels": {"holdshort.dev/policy": "true"}}, "data": {"mine.rego": "oops"}}`)
		if !strings.Contains(out, "has no effect") {
			t.Errorf("no warning in\n%s", out)
		}
	})
}

// dryRun is what kubectl says, warnings and all.
func dryRun(t *testing.T, ctx context.Context, env *stories.Env, args ...string) string {
	t.Helper()
	out, err := env.Command(ctx, cluster.Admin, append([]string{"-n", stories.Namespace, "--dry-run=server"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestS6ABadEditThatNobodyCheckedIsRefusedByTheRollout: the webhook sees only
// what is labelled, and nothing while the manager is down.
func TestS6ABadEditThatNobodyCheckedIsRefusedByTheRollout(t *testing.T) {
	good := fmt.Sprintf(editPolicy, "4")
	ctx, s := scene(t, "edit", good)
	_, err := s.Apply(ctx, job{name: "runs", queue: "edit", pods: 4, gpus: 1, run: "5m"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))

	label := func(label string) {
		t.Helper()
		_, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", stories.Namespace, "label", "configmap", stories.Release+"-policy", label)
		must(t, err)
	}
	label("holdshort.dev/policy-")
	for _, c := range badEdits(good) {
		t.Run(c.name, func(t *testing.T) {
			before := activeDigest(t, ctx, s.Env)
			must(t, s.SetPolicy(ctx, c.files))
			refusedByRollout(t, ctx, s.Env, c)
			if now := activeDigest(t, ctx, s.Env); now != before {
				t.Errorf("the active revision changed from %s to %s", before, now)
			}
			must(t, stories.Eventually(ctx, 10*time.Second, "an event names "+c.at, func(ctx context.Context) (bool, string) {
				out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "events.events.k8s.io", "-A", "-o", "jsonpath={range .items[?(@.reason=='PolicyRejected')]}{.note}{'\\n'}{end}")
				return err == nil && strings.Contains(out, c.at), out
			}))
		})
	}
	label("holdshort.dev/policy=true")
	must(t, s.Running(ctx, "runs", 4))

	t.Run("an edit while the manager is down is taken, and refused when it is back", func(t *testing.T) {
		before := activeDigest(t, ctx, s.Env)
		s.Manager.Kill()
		c := badEdits(good)[5]
		must(t, s.SetPolicy(ctx, c.files))
		must(t, s.Manager.Start(ctx))
		refusedByRollout(t, ctx, s.Env, c)
		if now := activeDigest(t, ctx, s.Env); now != before {
			t.Errorf("after the restart %s is in force, before it was %s", now, before)
		}
	})
	t.Run("the next good edit works", func(t *testing.T) {
		inForce(t, ctx, s.Env, fmt.Sprintf(editPolicy, "8"))
		if ok, got := rolloutSays(ctx, s.Env, "[{.status.candidate}]", "[]"); !ok {
			t.Errorf("a candidate is left: %s", got)
		}
		_, err := s.Apply(ctx, job{name: "more", queue: "edit", pods: 4, gpus: 1}.yaml())
		must(t, err)
		must(t, s.Running(ctx, "more", 4))
		must(t, s.Running(ctx, "runs", 4))
	})
}

func refusedByRollout(t *testing.T, ctx context.Context, env *stories.Env, c badEdit) {
	t.Helper()
	must(t, stories.Eventually(ctx, 10*time.Second, "the status names "+c.at, func(ctx context.Context) (bool, string) {
		ok, got := rolloutSays(ctx, env, "{.status.candidate.verdict} {.status.candidate.errors}", c.at)
		return ok && strings.HasPrefix(got, "Rejected") && strings.Contains(got, c.says), got
	}))
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
