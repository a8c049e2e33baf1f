package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

const wholeJob = `
metadata:
  name: train
  namespace: research
  uid: u1
  generation: 3
  creationTimestamp: "2026-01-01T00:00:10Z"
  labels: {holdshort.dev/queue: research, holdshort.dev/priority: urgent, holdshort.dev/state: queued, app: train}
  annotations:
    holdshort.dev/user: alice
    holdshort.dev/arrival: "1767225610700000000"
    holdshort.dev/message: "Fragmented: …"
    holdshort.dev/hold: "false"
    note: mine
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: c1, controller: true}]
spec:
  suspend: true
  parallelism: 4
  completions: 3
  activeDeadlineSeconds: 3600
  template:
    spec:
      priorityClassName: gold
      nodeSelector: {gpu: h100}
      containers: [{name: a, resources: {requests: {cpu: 2, nvidia.com/gpu: 1}}}]`

func policyEnv(t testing.TB) intake.Env {
	return environment{priority: `{metadata: {name: gold}, value: 700}`}.env(t)
}

func TestWhatPoliciesSee(t *testing.T) {
	want := &policies.Workload{
		UID: "u1", Name: "train", Namespace: "research", Kind: "Job",
		Labels:      map[string]string{"holdshort.dev/queue": "research", "holdshort.dev/priority": "urgent", "app": "train"},
		Annotations: map[string]string{"holdshort.dev/hold": "false", "note": "mine"},
		Queue:       "research", User: "alice",
		ArrivalNS: second + 700_000_000, CreatedNS: second,
		PodSets: []policies.PodSet{{
			Name: "main", Count: 3, Requests: map[string]int64{"cpu": 2000, "nvidia.com/gpu": 1, "pods": 1},
			NodeSelector: map[string]string{"gpu": "h100"}, PriorityClass: "gold",
		}},
		Total:         map[string]int64{"cpu": 6000, "nvidia.com/gpu": 3, "pods": 3},
		PriorityClass: "gold", PriorityClassVal: 700, ActiveDeadlineSec: 3600,
		Owner: &policies.Owner{Kind: "CronJob", Name: "nightly"}, Generation: 3,
	}
	got := intake.Job(parse[batchv1.Job](t, wholeJob), policyEnv(t))
	if got.Problem != nil {
		t.Fatal(got.Problem.Message)
	}
	if diff := cmp.Diff(want, got.Policy); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
}

func TestTheJobsOfACronJobAreAccountedToIt(t *testing.T) {
	job := parse[batchv1.Job](t, wholeJob)
	job.Annotations[policies.AnnotationUser] = "system:serviceaccount:kube-system:cronjob-controller"
	if got := intake.Job(job, policyEnv(t)).Policy.User; got != "cronjob:research/nightly" {
		t.Errorf("user %q", got)
	}
	job.Annotations[policies.AnnotationUser] = "mallory"
	if got := intake.Job(job, policyEnv(t)).Policy.User; got != "mallory" {
		t.Errorf("a CronJob that somebody else wrote in as owner pays for %q", got)
	}
}

// The digest changes with what a policy may read, and with nothing else: every
// change of it costs an evaluation.
func TestDigestChangesWithWhatPoliciesMayRead(t *testing.T) {
	cases := []struct {
		name    string
		change  func(*batchv1.Job)
		changes bool
	}{
		{"the state label", func(j *batchv1.Job) { j.Labels[policies.LabelState] = "admitted" }, false},
		{"the message", func(j *batchv1.Job) { j.Annotations[policies.AnnotationMessage] = "BehindOthers: 3" }, false},
		{"the reservation", func(j *batchv1.Job) { j.Annotations[policies.AnnotationReservation] = `{"uid":"u1"}` }, false},
		{"a pod that succeeds", func(j *batchv1.Job) { j.Status.Succeeded = 2 }, false},
		{"the resourceVersion", func(j *batchv1.Job) { j.ResourceVersion = "9" }, false},
		{"the priority label", func(j *batchv1.Job) { j.Labels[policies.LabelPriority] = "normal" }, true},
		{"the queue label", func(j *batchv1.Job) { j.Labels[policies.LabelQueue] = "vision" }, true},
		{"any label", func(j *batchv1.Job) { j.Labels["app"] = "eval" }, true},
		{"an annotation of the user's", func(j *batchv1.Job) { j.Annotations["note"] = "yours" }, true},
		{"the spec's generation", func(j *batchv1.Job) { j.Generation++ }, true},
		{"the arrival", func(j *batchv1.Job) { j.Annotations[policies.AnnotationArrival] = "1767225610800000000" }, true},
	}
	env := policyEnv(t)
	before := intake.Job(parse[batchv1.Job](t, wholeJob), env).Digest
	if before == "" {
		t.Fatal("empty digest")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := parse[batchv1.Job](t, wholeJob)
			c.change(job)
			if changed := intake.Job(job, env).Digest != before; changed != c.changes {
				t.Errorf("digest changed: %t, want %t", changed, c.changes)
			}
		})
	}
	t.Run("a LimitRange", func(t *testing.T) {
		env := environment{limitRanges: []string{`limits: [{type: Container, defaultRequest: {memory: 1Gi}}]`}, priority: `{metadata: {name: gold}, value: 700}`}.env(t)
		if intake.Job(parse[batchv1.Job](t, wholeJob), env).Digest == before {
			t.Error("digest did not change, though the requests did")
		}
	})
}

func TestRawJobIsTheOwnersPart(t *testing.T) {
	job := parse[batchv1.Job](t, wholeJob)
	job.Status.Active = 3
	job.Annotations[policies.AnnotationInjected] = `{"uid":"u1","nodeSelector":{"gpu":"h100"}}`
	job.Spec.Template.Spec.NodeSelector["own"] = "1"
	before := job.DeepCopy()
	raw, err := intake.RawJob(job)
	if err != nil {
		t.Fatal(err)
	}
	if _, has := raw["status"]; has {
		t.Error("status is in it")
	}
	metadata := raw["metadata"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"holdshort.dev/hold": "false", "note": "mine"}, metadata["annotations"]); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	spec := raw["spec"].(map[string]any)
	template := spec["template"].(map[string]any)["spec"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"own": "1"}, template["nodeSelector"]); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	if _, has := spec["suspend"]; has {
		t.Error("suspend is in it: it is the ledger's, and changes")
	}
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("reading changed the Job:\n%s", diff)
	}
}

func TestLedgerOwnedKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"holdshort.dev/queue": false, "holdshort.dev/priority": false, "app": false, "x.holdshort.dev/y": false,
		"holdshort.dev/state": true, "holdshort.dev/hold": true, "holdshort.dev/anything": true,
	} {
		if got := intake.LedgerLabel(key); got != want {
			t.Errorf("LedgerLabel(%s) = %t, want %t", key, got, want)
		}
	}
	for key, want := range map[string]bool{
		"holdshort.dev/hold": false, "holdshort.dev/bypass": false, "holdshort.dev/min-parallelism": false, "note": false,
		"holdshort.dev/reservation": true, "holdshort.dev/arrival": true, "holdshort.dev/queue": true, "holdshort.dev/": true,
	} {
		if got := intake.LedgerAnnotation(key); got != want {
			t.Errorf("LedgerAnnotation(%s) = %t, want %t", key, got, want)
		}
	}
}
