//go:build plane

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

// TestAnOlderServer tells the stories on a server that has no
// MutatingAdmissionPolicy: there the webhook suspends, and must answer.
func TestAnOlderServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	env, err := stories.Start(ctx, stories.Options{
		Nodes: stories.Nodes(), Policy: stories.Policy, EmulatedVersion: "1.35", Log: os.Stderr, Bin: built(),
	})
	must(t, err)
	defer func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if out, err := env.Kubectl(ctx, cluster.Admin, "get", "mutatingadmissionpolicies"); err == nil {
		t.Fatalf("this server has mutating admission policies: %s", out)
	}

	t.Run("one quota, two trainings", func(t *testing.T) {
		ctx, s := on(t, env, "research", stories.Policy)
		must(t, stories.OneQuota(ctx, s, stories.Training{}))
	})
	t.Run("a re-applied suspension does not disturb a running Job", func(t *testing.T) {
		ctx, s := on(t, env, "guard", guardPolicy)
		manifest := job{name: "again", queue: "guard", pods: 1, gpus: 1, spec: "  suspend: true\n"}.yaml()
		for range 2 {
			_, err := s.Apply(ctx, manifest)
			must(t, err)
			must(t, s.Running(ctx, "again", 1))
		}
		must(t, stories.Contains(withWarnings(t, ctx, s, manifest, "apply", "-f", "-"), "annotate job again holdshort.dev/hold=WHY"))
	})
	t.Run("nor does it with the manager stopped: it is refused, and says how to pause", func(t *testing.T) {
		ctx, s := on(t, env, "guard", guardPolicy)
		manifest := job{name: "again", queue: "guard", pods: 1, gpus: 1, spec: "  suspend: true\n"}.yaml()
		_, err := s.Apply(ctx, manifest)
		must(t, err)
		must(t, s.Running(ctx, "again", 1))
		before := runsStill(t, ctx, s, "again")
		s.Manager.Stop()
		defer func() { must(t, s.Manager.Start(context.Background())) }()
		for _, way := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts"}} {
			out, err := s.KubectlIn(ctx, cluster.Alice, manifest, append([]string{"-n", s.NS, "-f", "-"}, way...)...)
			answer("to pause the Job, set the annotation holdshort.dev/hold").check(t, out, err)
			if diff := cmp.Diff(before, runsStill(t, ctx, s, "again")); diff != "" {
				t.Errorf("%v disturbs the running Job (-before +after):\n%s", way, diff)
			}
		}
	})
	t.Run("forgeries at creation are without effect", func(t *testing.T) {
		ctx, s := on(t, env, "guard", guardPolicy, guardLimits()...)
		_, err := s.Apply(ctx, job{name: "runs", queue: "guard", pods: 4, gpus: 1}.yaml())
		must(t, err)
		must(t, s.Running(ctx, "runs", 4))
		_, err = s.Apply(ctx, job{
			name: "forged", queue: "guard", pods: 1, gpus: 1, spec: "  suspend: false\n",
			annotations: `{holdshort.dev/reservation: '{"uid":"x"}', holdshort.dev/arrival: "1", holdshort.dev/user: root}`,
		}.yaml())
		must(t, err)
		must(t, s.Waits(ctx, "forged", "WaitingForQuota"))
		found, err := s.Job(ctx, "forged")
		must(t, err)
		if a := found.Annotations; a["holdshort.dev/arrival"] == "1" || a["holdshort.dev/user"] != "alice" || a["holdshort.dev/reservation"] != "" {
			t.Errorf("a forgery came through: %v", a)
		}
	})
	t.Run("a forged record of what a policy changed frees no Job of its queue", func(t *testing.T) {
		ctx, s := on(t, env, "team", strings.Replace(teamPolicy, "%s", "day", 1))
		forgedRecord(t, ctx, s)
	})
	t.Run("an owner holds a running Job, edits it and lets it go again", func(t *testing.T) {
		ctx, s := on(t, env, "mixed", flavorPolicy)
		heldEditedAndLetGo(t, ctx, s)
	})
	t.Run("a Job that ran goes on on another flavor, or leaves its queue", func(t *testing.T) {
		ctx, s := on(t, env, "mixed", flavorPolicy)
		anotherFlavorOrNone(t, ctx, s)
	})
	t.Run("a Job starts with as many pods as there is room for", func(t *testing.T) {
		ctx, s := on(t, env, "partial", partialPolicy(5))
		tellPartial(t, ctx, s)
	})
	t.Run("a policy mutates Jobs at creation and at admission", func(t *testing.T) {
		ctx, s := on(t, env, "mutate", mutatePolicy)
		mutateScene(t, ctx, s)
		mutatedAndApplied(t, ctx, s)
		changedWhileItRuns(t, ctx, s, "first")
		anotherPolicyWhileWaiting(t, ctx, s)
	})
	t.Run("with the manager stopped labelled Jobs are refused and others are not", func(t *testing.T) {
		ctx, s := on(t, env, "guard", guardPolicy)
		s.Manager.Stop()
		defer func() { must(t, s.Manager.Start(context.Background())) }()
		_, err := s.Apply(ctx, job{name: "labelled", queue: "guard", pods: 1, gpus: 1}.yaml())
		if err == nil {
			t.Error("a labelled Job is created with nobody there to suspend it")
		} else if !strings.Contains(err.Error(), "suspend.jobs.holdshort.dev") {
			t.Errorf("it is refused, but the reason does not name the webhook: %v", err)
		}
		_, err = s.Apply(ctx, job{name: "unlabelled", pods: 1, gpus: 1}.yaml()+notebookPod)
		must(t, err)
		must(t, s.Running(ctx, "unlabelled", 1))
		must(t, s.PodRuns(ctx, "plain"))
	})
}

// forgedRecord: with nobody there to see it, a Job enters a queue with a record
// that says that its label and another user are mutate's.
func forgedRecord(t *testing.T, ctx context.Context, s *stories.Scene) {
	t.Helper()
	const record = `{"labels":{"holdshort.dev/queue":{"to":"day"}},"annotations":{"holdshort.dev/user":{"to":"alice","from":"bob"}},` +
		`"activeDeadlineSeconds":{"to":9000,"from":-5}}`
	s.Manager.Stop()
	started := false
	defer func() {
		if !started {
			must(t, s.Manager.Start(context.Background()))
		}
	}()
	spec := "  suspend: true\n  activeDeadlineSeconds: 9000\n"
	_, err := s.Apply(ctx, job{name: "before", pods: 1, gpus: 1, spec: spec, annotations: "{holdshort.dev/mutated: '" + record + "'}"}.yaml())
	must(t, err)
	out, err := s.Kubectl(ctx, "label", "job", "before", "holdshort.dev/queue=day")
	answer("Only holdshort writes annotation holdshort.dev/mutated").check(t, out, err)
	_, err = s.Apply(ctx, job{name: "forged", pods: 1, gpus: 1, spec: spec}.yaml())
	must(t, err)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{"holdshort.dev/queue": "day"},
		"annotations": map[string]string{"holdshort.dev/mutated": record, "holdshort.dev/user": "alice"}}})
	must(t, err)
	_, err = s.Kubectl(ctx, "patch", "job", "forged", "--type=merge", "-p", string(patch)) // nothing tells it from the webhook's
	must(t, err)
	must(t, s.Manager.Start(ctx))
	started = true
	must(t, s.Running(ctx, "forged", 1))
	found, err := s.Job(ctx, "forged")
	must(t, err)
	if found.Labels["holdshort.dev/queue"] != "day" || found.Annotations["holdshort.dev/user"] != "alice" || found.Annotations["holdshort.dev/mutated"] != "" {
		t.Errorf("it runs with labels %v, annotations %v", found.Labels, found.Annotations)
	}
	out, err = s.Kubectl(ctx, "patch", "job", "forged", "--type=merge", "-p", `{"spec":{"parallelism":8}}`)
	answer("a running Job does not grow to 8").check(t, out, err)
}
