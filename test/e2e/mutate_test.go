//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const mutatePolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      mutate:
        namespaces: {names: [mutate]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
`

// mutateRules label by the namespace, choose the machines and set durations: one
// over the user's own, and one only where there is none.
const mutateRules = `package holdshort.policy.mutate

labels["team.example/centre"] := input.namespace.labels["kubernetes.io/metadata.name"]

annotations["team.example/asked"] := sprintf("%d GPUs", [input.workload.total["nvidia.com/gpu"]])

nodeSelector := {"disk": "nvme"}

tolerations := [{"key": "fast", "operator": "Exists"}]

activeDeadlineSeconds := 7200

ttlSecondsAfterFinished := 3600 if not input.job.spec.ttlSecondsAfterFinished
`

const otherMutateRules = `package holdshort.policy.mutate

labels["team.example/centre"] := "other"

nodeSelector := {"disk": "nvme"}

tolerations := [{"key": "fast", "operator": "Exists"}]

annotations[key] := "not a key" if key := concat("", [input.workload.labels["team.example/odd"], "-"])
`

func mutateInForce(t *testing.T, ctx context.Context, s *stories.Scene, rules string) {
	t.Helper()
	filesInForce(t, ctx, s.Env, map[string]string{"data.yaml": mutatePolicy, "mutate.rego": rules})
}

// manifest selects another disk and sets a deadline; the policy wins.
func mutateManifest(name string) string {
	return job{name: name, queue: "mutate", pods: 2, gpus: 1,
		spec: "  activeDeadlineSeconds: 60000\n", podSpec: "      nodeSelector: {disk: slow, kind: fast}\n"}.yaml()
}

// mutateScene is a fast, tainted machine and the rules in force.
func mutateScene(t *testing.T, ctx context.Context, s *stories.Scene) {
	t.Helper()
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "fast-1", GPUs: 8, Labels: map[string]string{"disk": "nvme", "kind": "fast"},
		Taints: []corev1.Taint{{Key: "fast", Effect: corev1.TaintEffectNoSchedule}}}})
	mutateInForce(t, ctx, s, mutateRules)
}

func TestAPolicyMutatesJobsAtCreationAndAtAdmission(t *testing.T) {
	ctx, s := scene(t, "mutate", mutatePolicy)
	mutateScene(t, ctx, s)
	mutatedAndApplied(t, ctx, s)
	changedWhileItRuns(t, ctx, s, "first")
	anotherPolicyWhileWaiting(t, ctx, s)
}

func TestAJobThatNoWebhookSawIsMutatedByTheLedger(t *testing.T) {
	ctx, s := scene(t, "mutate", mutatePolicy)
	mutateScene(t, ctx, s)
	s.Manager.Stop()
	_, err := s.Apply(ctx, mutateManifest("unseen"))
	must(t, err)
	created, err := s.Job(ctx, "unseen")
	must(t, err)
	if created.Labels["team.example/centre"] != "" {
		t.Fatalf("somebody saw it: %v", created.Labels)
	}
	must(t, s.Manager.Start(ctx))
	must(t, s.Running(ctx, "unseen", 2))
	wantCarried(t, ctx, s, "unseen", byFirst(2))
	wantPlaced(t, ctx, s, "unseen")
}

func seconds(n int64) *int64 { return &n }

// carried is what a Job and its template carry of a mutation.
type carried struct {
	Job, Pods, Asked string
	Deadline, TTL    *int64
}

// byFirst is what mutateRules give a Job that asks for so many GPUs.
func byFirst(gpus int) carried {
	return carried{"mutate", "mutate", fmt.Sprintf("%d GPUs", gpus), seconds(7200), seconds(3600)}
}

func wantCarried(t *testing.T, ctx context.Context, s *stories.Scene, name string, want carried) {
	t.Helper()
	found, err := s.Job(ctx, name)
	must(t, err)
	const centre, asked = "team.example/centre", "team.example/asked"
	template := found.Spec.Template
	got := carried{found.Labels[centre], template.Labels[centre], template.Annotations[asked], found.Spec.ActiveDeadlineSeconds, nil}
	if n := found.Spec.TTLSecondsAfterFinished; n != nil {
		got.TTL = seconds(int64(*n))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s carries (-want +got):\n%s", name, diff)
	}
}

// wantPlaced checks that the pods are where mutate wants them.
func wantPlaced(t *testing.T, ctx context.Context, s *stories.Scene, name string) {
	t.Helper()
	pods, err := s.Pods(ctx, name)
	must(t, err)
	for _, pod := range pods {
		if pod.Spec.NodeName != "fast-1" || pod.Spec.NodeSelector["disk"] != "nvme" || pod.Spec.NodeSelector["kind"] != "fast" {
			t.Errorf("%s runs on %s with selector %v", pod.Name, pod.Spec.NodeName, pod.Spec.NodeSelector)
		}
	}
}

// mutatedAndApplied: what mutate wants is there at once, decides the machines, and
// the manifest may be applied and replaced again though it says otherwise.
func mutatedAndApplied(t *testing.T, ctx context.Context, s *stories.Scene) {
	_, err := s.Apply(ctx, job{name: "ahead", queue: "mutate", pods: 4, gpus: 1, annotations: "{holdshort.dev/hold: please}"}.yaml())
	must(t, err)
	wantCarried(t, ctx, s, "ahead", byFirst(4))
	_, err = s.Kubectl(ctx, "delete", "job", "ahead")
	must(t, err)

	_, err = s.Apply(ctx, mutateManifest("first"))
	must(t, err)
	must(t, s.Running(ctx, "first", 2))
	wantCarried(t, ctx, s, "first", byFirst(2))
	wantPlaced(t, ctx, s, "first")
	before := runsStill(t, ctx, s, "first")
	for _, way := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts"}, {"replace"}} {
		manifest := mutateManifest("first")
		if way[0] == "replace" {
			manifest = replacement(t, ctx, s, "first")
		}
		out, err := s.KubectlIn(ctx, cluster.Alice, manifest, append([]string{"-n", s.NS, "-f", "-"}, way...)...)
		taken.check(t, out, err)
		if diff := cmp.Diff(before, runsStill(t, ctx, s, "first")); diff != "" {
			t.Errorf("%v disturbs the running Job (-before +after):\n%s", way, diff)
		}
		wantCarried(t, ctx, s, "first", byFirst(2))
	}
}

// changedWhileItRuns: what mutate gave a Job stays while it runs, whether its user
// says something else or removes it, and he is told; a shorter deadline is taken. The
// Job has what byFirst says, and has it again afterwards.
func changedWhileItRuns(t *testing.T, ctx context.Context, s *stories.Scene, name string) {
	t.Helper()
	before := runsStill(t, ctx, s, name)
	want := byFirst(2)
	const deadline, ttl, label = "activeDeadlineSeconds 7200 (only a shorter one is taken)", "ttlSecondsAfterFinished 3600", "label team.example/centre"
	for _, c := range []struct{ patch, says string }{
		{`{"spec":{"activeDeadlineSeconds":99998}}`, deadline},
		{`{"spec":{"activeDeadlineSeconds":null}}`, deadline},
		{`{"spec":{"ttlSecondsAfterFinished":5}}`, ttl},
		{`{"spec":{"ttlSecondsAfterFinished":null}}`, ttl},
		{`{"metadata":{"labels":{"team.example/centre":"third"}}}`, label},
		{`{"metadata":{"labels":{"team.example/centre":null}}}`, label},
		{`{"metadata":{"annotations":{"team.example/asked":null}}}`, "annotation team.example/asked"},
		{`{"spec":{"activeDeadlineSeconds":60000}}`, ""}, // the manifest's own
	} {
		out := withWarnings(t, ctx, s, "", mergePatch(name, c.patch)...)
		wantCarried(t, ctx, s, name, want)
		const told = "holdshort: the policy set this, and it stays while the Job runs: "
		if c.says == "" && strings.Contains(out, told) || !strings.Contains(out, c.says) {
			t.Errorf("%s: kubectl says %q, want %q in it", c.patch, out, c.says)
		}
	}
	if diff := cmp.Diff(before, runsStill(t, ctx, s, name)); diff != "" {
		t.Errorf("the running Job is disturbed (-before +after):\n%s", diff)
	}
	_, err := s.Apply(ctx, job{name: "guessed", queue: "mutate", pods: 1, gpus: 1, spec: "  activeDeadlineSeconds: 7200\n"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "guessed", 1))
	must(t, stories.Contains(withWarnings(t, ctx, s, "", mergePatch("guessed", `{"spec":{"activeDeadlineSeconds":99998}}`)...), deadline))
	wantCarried(t, ctx, s, "guessed", byFirst(1))
	want = byFirst(1)
	for _, shorter := range []int64{7100, 7000} {
		want.Deadline = seconds(shorter)
		for _, patch := range []string{fmt.Sprintf(`{"spec":{"activeDeadlineSeconds":%d}}`, shorter), `{"spec":{"activeDeadlineSeconds":7200}}`, `{"spec":{"activeDeadlineSeconds":null}}`} {
			withWarnings(t, ctx, s, "", mergePatch("guessed", patch)...)
			wantCarried(t, ctx, s, "guessed", want)
		}
	}
	_, err = s.Kubectl(ctx, "delete", "job", "guessed")
	must(t, err)
}

// withWarnings is all that kubectl tells alice.
func withWarnings(t *testing.T, ctx context.Context, s *stories.Scene, stdin string, args ...string) string {
	t.Helper()
	command := s.Command(ctx, cluster.Alice, append([]string{"-n", s.NS}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("kubectl %v: %v: %s", args, err, out)
	}
	return string(out)
}

// replacement is the manifest with what Kubernetes itself fills in.
func replacement(t *testing.T, ctx context.Context, s *stories.Scene, name string) string {
	t.Helper()
	found, err := s.Job(ctx, name)
	must(t, err)
	var job batchv1.Job
	must(t, yaml.Unmarshal([]byte(strings.TrimSuffix(mutateManifest(name), "---\n")), &job))
	job.Spec.Selector = found.Spec.Selector
	job.Spec.Template.Labels = map[string]string{}
	for _, key := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"} {
		job.Spec.Template.Labels[key] = found.Spec.Template.Labels[key]
	}
	text, err := yaml.Marshal(job)
	must(t, err)
	return string(text)
}

// anotherPolicyWhileWaiting: what waits is given what the new policy wants, what
// runs is left alone until it starts anew, and an error holds one Job.
func anotherPolicyWhileWaiting(t *testing.T, ctx context.Context, s *stories.Scene) {
	_, err := s.Apply(ctx, job{name: "second", queue: "mutate", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "second", "WaitingForQuota"))
	wantCarried(t, ctx, s, "second", byFirst(4))
	before := runsStill(t, ctx, s, "first")
	mutateInForce(t, ctx, s, otherMutateRules)
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "first")); diff != "" {
		t.Errorf("the new policy disturbs the running Job (-before +after):\n%s", diff)
	}
	hold(t, ctx, s, "first")
	must(t, s.Running(ctx, "second", 4))
	wantCarried(t, ctx, s, "second", carried{Job: "other", Pods: "other"})
	_, err = s.Kubectl(ctx, "delete", "job", "second")
	must(t, err)
	_, err = s.Kubectl(ctx, "annotate", "job", "first", "holdshort.dev/hold-")
	must(t, err)
	must(t, s.Running(ctx, "first", 2))
	wantCarried(t, ctx, s, "first", carried{Job: "other", Pods: "other", Deadline: seconds(60000)})
	wantPlaced(t, ctx, s, "first")

	_, err = s.Apply(ctx, strings.Replace(job{name: "odd", queue: "mutate", pods: 1, gpus: 1}.yaml(),
		"test: e2e", "team.example/odd: x", 1))
	must(t, err)
	must(t, s.Waits(ctx, "odd", "PolicyError"))
	mutateInForce(t, ctx, s, mutateRules)
	must(t, s.Running(ctx, "odd", 1))
	enters(t, ctx, s)
}

// enters: a Job that gets its label later is mutated then.
func enters(t *testing.T, ctx context.Context, s *stories.Scene) {
	_, err := s.Apply(ctx, job{name: "later", pods: 2, gpus: 1, spec: "  suspend: true\n"}.yaml())
	must(t, err)
	_, err = s.Kubectl(ctx, "label", "job", "later", "holdshort.dev/queue=mutate", "--overwrite")
	must(t, err)
	wantCarried(t, ctx, s, "later", byFirst(2))
}
