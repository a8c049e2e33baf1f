//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const rolloutPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      roll:
        namespaces: {names: [roll]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: %s}
`

// rolloutScenario expects of a quota of 6 what 7 would do.
const rolloutScenario = `nodes: [{name: gpu, has: {nvidia.com/gpu: 8}}]
namespaces: {roll: {}}
jobs:
  - {name: six, queue: roll, pods: 6, requests: {nvidia.com/gpu: 1}, runs: 1h}
  - {name: seven, queue: roll, pods: 7, requests: {nvidia.com/gpu: 1}, runs: 1h}
expect:
  - {job: seven, startsBy: 2h}
  - {job: six, startsBy: 0s}
`

// candidateBecomes waits for a verdict on the newest policy, and returns its digest.
func candidateBecomes(t *testing.T, ctx context.Context, env *stories.Env, verdict string) string {
	t.Helper()
	must(t, stories.Eventually(ctx, 20*time.Second, "the candidate is "+verdict, func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, env, "{.status.candidate.verdict}", verdict)
	}))
	_, digest := rolloutSays(ctx, env, "{.status.candidate.digest}", "")
	return digest
}

// policyCommand runs a command of kubectl holdshort policy that must succeed.
func policyCommand(t *testing.T, ctx context.Context, env *stories.Env, args ...string) string {
	t.Helper()
	out, err := env.Plugin(ctx, cluster.Admin, append([]string{"policy"}, args...)...)
	if err != nil {
		t.Fatalf("kubectl holdshort policy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func TestAPolicyIsTestedTriedApprovedRolledBackShadowedAndPromoted(t *testing.T) {
	good := fmt.Sprintf(rolloutPolicy, "4")
	ctx, s := scene(t, "roll", good)
	_, err := s.Apply(ctx, job{name: "waits", queue: "roll", pods: 6, gpus: 1, run: "1m"}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "waits", "NeverFits"))
	first := activeDigest(t, ctx, s.Env)
	deny := "package holdshort.policy\n\ndeny contains {\"code\": \"team.example/No\", \"message\": \"no\"} if input.workload.queue == \"roll\"\n"

	t.Run("a bundled test that fails refuses the policy, with its place", func(t *testing.T) {
		must(t, s.SetPolicy(ctx, map[string]string{"data.yaml": fmt.Sprintf(rolloutPolicy, "6"),
			"quota_test.rego": "package holdshort.policy_test\n\ntest_never if 1 == 2\n"}))
		candidateBecomes(t, ctx, s.Env, "Rejected")
		if ok, got := rolloutSays(ctx, s.Env, "{.status.candidate.errors}", "quota_test.rego:3"); !ok || !strings.Contains(got, "test_never") {
			t.Errorf("the errors are %s, want test_never at quota_test.rego:3", got)
		}
	})
	t.Run("so does a scenario in which something else happens than it says", func(t *testing.T) {
		must(t, s.SetPolicy(ctx, map[string]string{"data.yaml": fmt.Sprintf(rolloutPolicy, "6"), "six.scenario.yaml": rolloutScenario}))
		candidateBecomes(t, ctx, s.Env, "Rejected")
		if ok, got := rolloutSays(ctx, s.Env, "{.status.candidate.errors}", "six.scenario.yaml:7"); !ok || !strings.Contains(got, "seven starts by 2h") {
			t.Errorf("the errors are %s, want the Job seven at six.scenario.yaml:7", got)
		}
	})
	t.Run("one that would deny the Job that waits needs approval of its own content", func(t *testing.T) {
		must(t, s.SetPolicy(ctx, map[string]string{"data.yaml": good, "deny.rego": deny}))
		next := candidateBecomes(t, ctx, s.Env, "AwaitingApproval")
		if out := policyCommand(t, ctx, s.Env, "status"); !strings.Contains(out, "roll/waits: team.example/No") || !strings.Contains(out, "approve "+next[:12]) {
			t.Errorf("policy status prints:\n%s", out)
		}
		if out := policyCommand(t, ctx, s.Env, "status", "-o", "json"); !strings.Contains(out, "workload.queue") {
			t.Errorf("policy status for programs does not say what deny reads:\n%s", out)
		}
		for _, other := range []string{"0123456789ab", next[:11], next[:63] + "x"} {
			if out, err := s.Plugin(ctx, cluster.Admin, "policy", "approve", other); err == nil {
				t.Errorf("%s was approved, though the digest is %s:\n%s", other, next, out)
			}
		}
		if out, err := s.Env.Kubectl(ctx, cluster.Admin, "patch", "policyrollout", "holdshort", "--type=merge", "-p", `{"spec":{"approve":"`+next[:12]+`"}}`); err == nil {
			t.Errorf("the API server takes a part of a digest:\n%s", out)
		}
		if now := activeDigest(t, ctx, s.Env); now != first {
			t.Fatalf("in force is %s before anybody approved", now)
		}
		policyCommand(t, ctx, s.Env, "approve", next[:12])
		if now := activeDigest(t, ctx, s.Env); now != next {
			t.Errorf("in force is %s, want the approved %s", now, next)
		}
	})
	t.Run("a rollback holds, also over a restart, until it is undone", func(t *testing.T) {
		bad := activeDigest(t, ctx, s.Env)
		policyCommand(t, ctx, s.Env, "rollback")
		s.Manager.Kill()
		must(t, s.Manager.Start(ctx))
		candidateBecomes(t, ctx, s.Env, "AwaitingApproval")
		if now := activeDigest(t, ctx, s.Env); now != first {
			t.Errorf("in force is %s, want %s again, not %s", now, first, bad)
		}
		deleteRollout := func() {
			_, err := s.Env.Kubectl(ctx, cluster.Admin, "delete", "policyrollout", "holdshort")
			must(t, err)
		}
		deleteRollout()
		pinnedStill(t, ctx, s.Env, first)
		s.Manager.Kill()
		deleteRollout()
		must(t, s.Manager.Start(ctx))
		pinnedStill(t, ctx, s.Env, first)
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "patch", "policyrollout", "holdshort", "--type=merge", "-p", `{"spec":{"approve":"`+bad+`"}}`)
		if err == nil || !strings.Contains(out+err.Error(), "exclude one another") {
			t.Errorf("a pin and an approval at once: %v\n%s", err, out)
		}
		must(t, s.SetPolicy(ctx, map[string]string{"data.yaml": good}))
		out = policyCommand(t, ctx, s.Env, "rollback", "--undo")
		must(t, stories.Contains(out, "nothing is asked for any more: the source counts, and what it says is in force"))
		must(t, stories.Eventually(ctx, 10*time.Second, "the source counts again", func(ctx context.Context) (bool, string) {
			return rolloutSays(ctx, s.Env, "{.status.conditions[?(@.type=='PolicyActive')].message}", "the newest policy is in force")
		}))
	})
	t.Run("a shadow differs, decides nothing, and is promoted", func(t *testing.T) { promoteShadow(t, ctx, s, deny) })
}

// pinnedStill waits for the PolicyRollout to be there again, with its pin.
func pinnedStill(t *testing.T, ctx context.Context, env *stories.Env, digest string) {
	t.Helper()
	must(t, stories.Eventually(ctx, 20*time.Second, "the deleted PolicyRollout pins again", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, env, "{.spec.pin} {.status.active.digest} {.status.candidate.verdict}", digest+" "+digest+" AwaitingApproval")
	}))
}

func TestAFileThatWasAddedToHelmsPolicyInPlaceIsWarnedOf(t *testing.T) {
	ctx, s := scene(t, "roll", fmt.Sprintf(rolloutPolicy, "4"))
	inPlace := func(value string) {
		t.Helper()
		_, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", stories.Namespace, "patch", "configmap", policyConfigMap, "--type=merge", "-p", `{"data":{"x.rego":`+value+`}}`)
		must(t, err)
	}
	warned := func(want bool) {
		t.Helper()
		must(t, stories.Eventually(ctx, 10*time.Second, fmt.Sprintf("x.rego is warned of: %t", want), func(ctx context.Context) (bool, string) {
			ok, got := rolloutSays(ctx, s.Env, "{.status.active.warnings[*].at}", policyConfigMap+"/x.rego")
			return ok == want, got
		}))
	}
	warned(false)
	inPlace(`"package holdshort.policy\n"`)
	warned(true)
	out := policyCommand(t, ctx, s.Env, "status")
	must(t, stories.Contains(out, "warning: "+policyConfigMap+"/x.rego: kubectl-patch wrote it in place"))
	must(t, stories.Contains(out, `Try: kubectl -n `+stories.Namespace+` patch configmap `+policyConfigMap+` --type=merge -p '{"data":{"x.rego":null}}'`))
	inPlace("null") // as the warning says
	warned(false)
}

func promoteShadow(t *testing.T, ctx context.Context, s *stories.Scene, deny string) {
	before := activeDigest(t, ctx, s.Env)
	// The policy in force has neither rule.
	files := map[string]string{"data.yaml": fmt.Sprintf(rolloutPolicy, "8"), "deny.rego": strings.Replace(deny, `queue == "roll"`, `name == "odd"`, 1),
		"hold.rego": "package holdshort.policy\n\nhold contains {\"code\": \"team.example/Later\", \"message\": \"later\"} if input.workload.name == \"odd\"\n"}
	setShadow(t, ctx, s.Env, files)
	must(t, stories.Eventually(ctx, 10*time.Second, "the shadow is read", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, s.Env, "{.status.shadow.verdict}", "Shadow")
	}))
	_, err := s.Apply(ctx, job{name: "odd", queue: "roll", pods: 1, gpus: 1, run: "1m"}.yaml())
	must(t, err) // the policy in force has nothing against it
	must(t, s.Running(ctx, "odd", 1))
	for _, code := range []string{"team.example/No", "team.example/Later"} {
		must(t, stories.Eventually(ctx, 20*time.Second, "the difference is listed", func(ctx context.Context) (bool, string) {
			return rolloutSays(ctx, s.Env, "{.status.shadow.latest}", code)
		}))
	}
	if ok, got := rolloutSays(ctx, s.Env, "{.status.shadow.differences}", `"kind":"hold"`); !ok {
		t.Errorf("the differences are %s, want hold among them", got)
	}
	if now := activeDigest(t, ctx, s.Env); now != before {
		t.Errorf("the shadow changed what is in force to %s", now)
	}
	_, digest := rolloutSays(ctx, s.Env, "{.status.shadow.digest}", "")
	policyCommand(t, ctx, s.Env, "promote", digest)
	must(t, s.Running(ctx, "waits", 6)) // by the shadow's quota
	// The user moves the content to where it belongs: the same digest, and nothing is pinned any more.
	must(t, s.SetPolicy(ctx, files))
	_, err = s.Env.Kubectl(ctx, cluster.Admin, "-n", stories.Namespace, "delete", "configmap", stories.Release+"-policy-shadow")
	must(t, err)
	must(t, stories.Eventually(ctx, 10*time.Second, "spec is empty", func(ctx context.Context) (bool, string) {
		_, got := rolloutSays(ctx, s.Env, "[{.spec.promote}{.status.candidate.verdict}]", "[]")
		return got == "[]", got
	}))
	if now := activeDigest(t, ctx, s.Env); now != digest {
		t.Errorf("in force is %s, want the promoted %s", now, digest)
	}
}

// setShadow makes the ConfigMap of the shadow.
func setShadow(t *testing.T, ctx context.Context, env *stories.Env, files map[string]string) {
	t.Helper()
	args := []string{"-n", stories.Namespace, "create", "configmap", stories.Release + "-policy-shadow"}
	for name, text := range files {
		args = append(args, "--from-literal="+name+"="+text)
	}
	_, err := env.Kubectl(ctx, cluster.Admin, args...)
	must(t, err)
}
