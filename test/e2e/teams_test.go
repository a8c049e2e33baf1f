//go:build plane

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const teamsPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      shared:
        namespaces: {names: [teams]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 1}
`

// teamQueue is the data of one team: a queue.
func teamQueue(queue string, gpus int) string {
	return fmt.Sprintf("holdshort: {config: {queues: {%s: {namespaces: {names: [teams]}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: %d}}}}}}\n", queue, gpus)
}

// teamConfigMap is a labelled ConfigMap as its team applies it.
func teamConfigMap(name, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s, labels: {holdshort.dev/policy: \"true\"}}\ndata: {data.yaml: %q}\n",
		name, stories.Namespace, data)
}

// rightsOfB let alice edit the ConfigMap team-b, and nothing else there.
const rightsOfB = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: team-b, namespace: ` + stories.Namespace + `}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [team-b], verbs: [get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team-b, namespace: ` + stories.Namespace + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: team-b}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`

// withTeams restarts the manager so that it takes labelled ConfigMaps.
func withTeams(t *testing.T, ctx context.Context, s *stories.Scene) {
	t.Helper()
	s.Manager.Kill()
	s.Manager.Args = []string{"--policy-labelled", "--policy-roots",
		`{"team-a": ["holdshort.config.queues.team-a"], "team-b": ["holdshort.config.queues.team-b"], "team-c": ["holdshort.config.queues.team-c"]}`}
	t.Cleanup(func() {
		ctx := context.Background()
		s.Manager.Kill()
		s.Manager.Args = nil
		_, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", stories.Namespace, "delete", "configmap", "team-a", "team-b", "team-c", "--ignore-not-found")
		if err == nil {
			err = s.Manager.Start(ctx)
		}
		if err != nil {
			t.Error(err)
		}
	})
	must(t, s.Manager.Start(ctx))
}

func patchTeam(ctx context.Context, env *stories.Env, as cluster.User, name, data string) (string, error) {
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"data.yaml": data}})
	if err != nil {
		return "", err
	}
	out, err := env.Command(ctx, as, "-n", stories.Namespace, "patch", "configmap", name, "--type=merge", "-p", string(patch)).CombinedOutput()
	return string(out), err
}

// isTheirs waits until the policy in force is that of these ConfigMaps.
func isTheirs(t *testing.T, ctx context.Context, env *stories.Env, names string) {
	t.Helper()
	must(t, stories.Eventually(ctx, 20*time.Second, "in force is the policy of "+names, func(ctx context.Context) (bool, string) {
		_, got := rolloutSays(ctx, env, "{.status.active.source} {.status.conditions[?(@.type=='PolicyActive')].status}", "")
		return got == "configmap "+names+" True", got
	}))
}

// TestTeamsHaveConfigMapsOfTheirOwnAndKeepOutOfEachOthers: what several teams
// write is one policy; none writes what is another's; one more may come and go.
func TestTeamsHaveConfigMapsOfTheirOwnAndKeepOutOfEachOthers(t *testing.T) {
	ctx, s := scene(t, "teams", teamsPolicy)
	withTeams(t, ctx, s)
	apply := func(manifest string) {
		t.Helper()
		_, err := s.KubectlIn(ctx, cluster.Admin, manifest, "apply", "-f", "-")
		must(t, err)
	}
	apply(rightsOfB)
	apply(teamConfigMap("team-a", teamQueue("team-a", 2)))
	apply(teamConfigMap("team-b", teamQueue("team-b", 2)))
	isTheirs(t, ctx, s.Env, policyConfigMap+", team-a, team-b")
	for _, queue := range []string{"shared", "team-a", "team-b"} {
		_, err := s.Apply(ctx, job{name: "of-" + queue, queue: queue, pods: 1, gpus: 1, run: "5m"}.yaml())
		must(t, err)
		must(t, s.Running(ctx, "of-"+queue, 1))
	}

	before := activeDigest(t, ctx, s.Env)
	stands := func(when string) {
		t.Helper()
		if now := activeDigest(t, ctx, s.Env); now != before {
			t.Errorf("%s %s is in force, want %s", when, now, before)
		}
	}
	theft := strings.Replace(teamQueue("team-b", 2), "queues: {", "queues: {team-a: {flavors: [gpu], quota: {}}, ", 1)
	const names = "team-b/data.yaml:1: holdshort.config.queues.team-a is outside of what ConfigMap team-b may write; it is ConfigMap team-a's"
	t.Run("a team edits its own ConfigMap and no other", func(t *testing.T) {
		if out, err := patchTeam(ctx, s.Env, cluster.Alice, "team-a", teamQueue("team-a", 9)); err == nil || !strings.Contains(out, "forbidden") {
			t.Errorf("team b edits team a's ConfigMap: %v\n%s", err, out)
		}
		if out, err := patchTeam(ctx, s.Env, cluster.Alice, "team-b", theft); err == nil || !strings.Contains(out, names) {
			t.Errorf("team b writes team a's queue: %v\n%s\nwant %q", err, out, names)
		}
		stands("after what was refused")
	})
	t.Run("what nobody checked is refused by the rollout", func(t *testing.T) {
		s.Manager.Kill()
		out, err := patchTeam(ctx, s.Env, cluster.Alice, "team-b", theft)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		must(t, s.Manager.Start(ctx))
		must(t, stories.Eventually(ctx, 20*time.Second, "the candidate is rejected", func(ctx context.Context) (bool, string) {
			return rolloutSays(ctx, s.Env, "{.status.candidate.verdict} {.status.candidate.errors[0].at}: {.status.candidate.errors[0].message}", "Rejected "+names)
		}))
		stands("with team b's edit")
		_, err = s.Apply(ctx, job{name: "more-of-a", queue: "team-a", pods: 1, gpus: 1, run: "5m"}.yaml())
		must(t, err)
		must(t, s.Running(ctx, "more-of-a", 1))
		out, err = patchTeam(ctx, s.Env, cluster.Alice, "team-b", teamQueue("team-b", 3))
		if err != nil {
			t.Fatalf("team b mends its own: %v\n%s", err, out)
		}
		isTheirs(t, ctx, s.Env, policyConfigMap+", team-a, team-b")
	})
	t.Run("one that nothing is granted to is refused", func(t *testing.T) {
		cmd := s.Command(ctx, cluster.Admin, "apply", "--dry-run=server", "-f", "-")
		cmd.Stdin = strings.NewReader(teamConfigMap("team-x", teamQueue("team-x", 1)))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "what ConfigMap team-x may write. Try: have roots granted to it") {
			t.Errorf("a ConfigMap that nothing is granted to: %v\n%s", err, out)
		}
	})
	t.Run("a third one comes and goes", func(t *testing.T) {
		apply(teamConfigMap("team-c", teamQueue("team-c", 1)))
		isTheirs(t, ctx, s.Env, policyConfigMap+", team-a, team-b, team-c")
		for _, name := range []string{"of-c", "waits-of-c"} {
			_, err := s.Apply(ctx, job{name: name, queue: "team-c", pods: 1, gpus: 1, run: "5m"}.yaml())
			must(t, err)
		}
		must(t, s.Running(ctx, "of-c", 1))
		_, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", stories.Namespace, "delete", "configmap", "team-c")
		must(t, err)
		isTheirs(t, ctx, s.Env, policyConfigMap+", team-a, team-b")
		must(t, s.Waits(ctx, "waits-of-c", "UnknownQueue"))
		must(t, s.Running(ctx, "of-c", 1)) // what runs, runs on
	})
}
