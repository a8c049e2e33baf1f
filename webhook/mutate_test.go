package webhook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

// centre is a mutation in all places, with a label that is only a default.
func centre(in *policies.Input) (policies.Mutation, error) {
	hour, minute := int64(3600), int64(60)
	m := policies.Mutation{
		Annotations: map[string]string{"note": "policy"}, NodeSelector: map[string]string{"disk": "nvme"},
		Tolerations: []policies.Toleration{{Key: "fast", Operator: "Exists"}}, ActiveDeadlineSeconds: &hour, TTLSecondsAfterFinished: &minute,
	}
	if in.Workload.Labels["centre"] == "" {
		m.Labels = map[string]string{"centre": "42"}
	}
	return m, nil
}

const (
	plainJob = `
metadata: {name: a, labels: {holdshort.dev/queue: q}, annotations: {note: mine}}
spec: {activeDeadlineSeconds: 3600, ttlSecondsAfterFinished: 5, template: {metadata: {labels: {app: x}}, spec: {nodeSelector: {disk: slow}}}}`
	mutatedJob = `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: queued, centre: "42"}
  annotations:
    note: policy
    holdshort.dev/arrival: "` + stamp + `"
    holdshort.dev/user: alice
    holdshort.dev/mutated: '` + mutatedRecord + `'
spec:
  suspend: true
  activeDeadlineSeconds: 3600
  ttlSecondsAfterFinished: 60
  template:
    metadata: {labels: {app: x, centre: "42"}, annotations: {note: policy}}
    spec: {nodeSelector: {disk: slow}}`
	mutatedRecord = `{"labels":{"centre":{"to":"42"}},"annotations":{"note":{"to":"policy","from":"mine"}},"podLabels":{"centre":{"to":"42"}},` +
		`"podAnnotations":{"note":{"to":"policy"}},"activeDeadlineSeconds":{"to":3600,"from":3600},"ttlSecondsAfterFinished":{"to":60,"from":5}}`
)

func TestMutateWritesWhatPeopleAndDenyAreToSeeAndRecordsIt(t *testing.T) {
	policy := &fakePolicy{mutate: centre}
	h := handler(policy)
	req := request(t, plainJob, "")
	once := apply(t, req, h.Handle(t.Context(), req))
	if diff := cmp.Diff(normal(t, mutatedJob), once); diff != "" {
		t.Errorf("stored object (-want +got):\n%s", diff)
	}
	in := policy.asked[0]
	if in.Workload.Labels["centre"] != "42" || in.Job["spec"].(map[string]any)["ttlSecondsAfterFinished"] != int64(60) {
		t.Errorf("deny is asked about another Job: %v, %v", in.Workload.Labels, in.Job["spec"])
	}
	if second := request(t, once, ""); len(h.Handle(t.Context(), second).Patches) != 0 {
		t.Errorf("a second call patches again: %v", h.Handle(t.Context(), second).Patches)
	}
	policy.mutate = nil
	again := request(t, once, "")
	got := apply(t, again, h.Handle(t.Context(), again))
	without := strings.NewReplacer(", centre: \"42\"", "", "note: policy\n    hold", "note: mine\n    hold", "{note: policy}", "{}",
		"ttlSecondsAfterFinished: 60", "ttlSecondsAfterFinished: 5", "\n    holdshort.dev/mutated: '"+mutatedRecord+"'", "").Replace(mutatedJob)
	if diff := cmp.Diff(normal(t, without), got); diff != "" {
		t.Errorf("when the policy wants nothing any more (-want +got):\n%s", diff)
	}
}

func TestWhoHearsOfADenyCanAskAboutTheJobWithWhatAnotherPolicyGivesIt(t *testing.T) {
	policy := &fakePolicy{mutate: centre}
	handler(policy).Handle(t.Context(), request(t, plainJob, ""))
	in, err := policy.given[0](policies.Mutation{Labels: map[string]string{"other": "7"}, NodeSelector: map[string]string{"disk": "nvme"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	labels, _ := in.Job["metadata"].(map[string]any)["labels"].(map[string]any)
	got := []any{in.Workload.Labels["other"], in.Workload.Labels["centre"], labels["other"], labels["centre"],
		in.Workload.PodSets[0].NodeSelector["disk"], in.Request.User}
	if diff := cmp.Diff([]any{"7", "", "7", nil, "slow", "alice"}, got); diff != "" {
		t.Errorf("labels, node selector and user (-want +got):\n%s", diff)
	}
	started := strings.NewReplacer("state: queued", "state: admitted", "suspend: true", "suspend: false").Replace(mutatedJob)
	handler(policy).Handle(t.Context(), request(t, strings.Replace(started, "spec:\n", "spec:\n  parallelism: 2\n", 1), started))
	if last := policy.given[len(policy.given)-1]; len(policy.given) < 2 || last != nil {
		t.Error("what runs would be given something else")
	}
}

func TestAMutateThatFailsLetsTheJobWaitAsItIsAndWarns(t *testing.T) {
	fails := func(*policies.Input) (policies.Mutation, error) {
		return policies.Mutation{}, errors.New("mutate.rego:3: labels: no")
	}
	req := request(t, strings.Replace(plainJob, "annotations: {", `annotations: {holdshort.dev/mutated: "{}", `, 1), "")
	response := handler(&fakePolicy{mutate: fails}).Handle(t.Context(), req)
	got := apply(t, req, response)
	if !strings.Contains(got, "suspend: true") || strings.Contains(got, "mutated") || strings.Contains(got, "centre") {
		t.Errorf("stored:\n%s", got)
	}
	want := []string{"holdshort: PolicyError: mutate.rego:3: labels: no; the Job waits, and the policy is asked again before it starts"}
	if diff := cmp.Diff(want, response.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestAJobThatEntersAQueueIsMutatedAndOneThatIsThereIsNot(t *testing.T) {
	outside := strings.Replace(plainJob, "{holdshort.dev/queue: q}", "{}", 1)
	suspend := func(job string) string {
		return strings.Replace(job, "spec: {active", "spec: {suspend: true, active", 1)
	}
	h := handler(&fakePolicy{mutate: centre})
	enters := request(t, suspend(plainJob), suspend(outside))
	entered := strings.NewReplacer(", holdshort.dev/state: queued", "", "\n    holdshort.dev/arrival: \""+stamp+"\"", "").Replace(mutatedJob)
	if diff := cmp.Diff(normal(t, entered), apply(t, enters, h.Handle(t.Context(), enters))); diff != "" {
		t.Errorf("what enters (-want +got):\n%s", diff)
	}
	for name, status := range map[string]string{
		"ended":   "\nstatus: {conditions: [{type: Complete, status: 'True'}]}",
		"started": "\nstatus: {startTime: '2026-01-02T03:04:05Z'}",
	} {
		late := request(t, suspend(plainJob)+status, suspend(outside)+status)
		got := apply(t, late, h.Handle(t.Context(), late))
		if strings.Contains(got, "42") || strings.Contains(got, "mutated") || !strings.Contains(got, "note: mine\n") {
			t.Errorf("one that has %s is mutated, though its template is immutable:\n%s", name, got)
		}
	}
	other := strings.Replace(suspend(plainJob), "queue: q}", "queue: q, holdshort.dev/state: queued}", 1)
	edited := request(t, strings.Replace(other, "app: x", "app: y", 1), other)
	if got := apply(t, edited, h.Handle(t.Context(), edited)); strings.Contains(got, "42") {
		t.Errorf("an edit of one that waits is mutated:\n%s", got)
	}
}

func TestAnUpdateKeepsWhatMutateWroteUnlessItMeansToChangeIt(t *testing.T) {
	admitted := strings.NewReplacer("state: queued", "state: admitted", "suspend: true", "suspend: false", "disk: slow", "disk: nvme, pool: a",
		`"activeDeadlineSeconds"`, `"nodeSelector":{"disk":{"to":"nvme","from":"slow"},"pool":{"to":"a"}},"tolerations":[{"key":"fast","operator":"Exists"}],"activeDeadlineSeconds"`,
	).Replace(mutatedJob + "\n      tolerations: [{key: fast, operator: Exists}]")
	admitted = strings.Replace(admitted, "spec: {nodeSelector: {disk: nvme, pool: a}}\n", "spec:\n      nodeSelector: {disk: nvme, pool: a}\n", 1)
	manifest := strings.Replace(plainJob, "spec: {active", "spec: {suspend: false, active", 1)
	third := strings.NewReplacer("note: policy\n    hold", "note: third\n    hold", "ttlSecondsAfterFinished: 60", "ttlSecondsAfterFinished: 61")
	tape := strings.NewReplacer("disk: nvme", "disk: tape")
	for _, c := range []struct{ name, old, job, want string }{
		{"a manifest that replaces a running Job changes nothing", admitted, manifest, admitted},
		{"one that replaces a waiting Job leaves what it will run by to the admission", mutatedJob,
			strings.Replace(manifest, "suspend: false", "suspend: true", 1), mutatedJob},
		{"a waiting Job loses what its user wrote just as the policy wants it when he takes it out", mutatedJob,
			strings.Replace(mutatedJob, "  activeDeadlineSeconds: 3600\n", "", 1), strings.Replace(mutatedJob, "  activeDeadlineSeconds: 3600\n", "", 1)},
		{"what says something else of a waiting Job is an edit", mutatedJob, third.Replace(mutatedJob), third.Replace(mutatedJob)},
		{"of a running Job it is put back, but where it may run is left to the API server", admitted,
			tape.Replace(third.Replace(admitted)), tape.Replace(admitted)},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &fakePolicy{}
			req := request(t, c.job, c.old)
			got := apply(t, req, handler(policy).Handle(t.Context(), req))
			if diff := cmp.Diff(normal(t, c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.want == c.old && len(policy.asked) != 0 {
				t.Error("deny is asked about an update that changes nothing")
			}
		})
	}
}

func TestAForgedRecordMovesNoJobAndOneFromBeforeIsNone(t *testing.T) {
	forged := strings.Replace(plainJob, "annotations: {",
		`annotations: {holdshort.dev/mutated: '{"labels":{"holdshort.dev/queue":{"to":"q"}},"annotations":{"note":{"to":"mine","from":"forged"}}}', `, 1)
	h := handler(&fakePolicy{})
	created := request(t, forged, "")
	if got := apply(t, created, h.Handle(t.Context(), created)); !strings.Contains(got, "holdshort.dev/queue: q\n") || strings.Contains(got, "mutated") {
		t.Errorf("created:\n%s", got)
	}
	suspend := func(job string) string {
		return strings.Replace(job, "spec: {active", "spec: {suspend: true, active", 1)
	}
	enters := request(t, suspend(forged), suspend(strings.Replace(forged, "{holdshort.dev/queue: q}", "{}", 1)))
	if got := apply(t, enters, h.Handle(t.Context(), enters)); !strings.Contains(got, "note: mine\n") || strings.Contains(got, "mutated") {
		t.Errorf("labelled:\n%s", got)
	}
}
