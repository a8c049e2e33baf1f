package intake_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

func seconds(n int64) *int64 { return &n }

func text(s string) *string { return &s }

// written is a Job with something of its user's in each place that mutate writes.
const written = `
metadata:
  name: train
  uid: u1
  labels: {holdshort.dev/queue: research, team: mine, same: same}
  annotations: {note: mine}
spec:
  suspend: true
  activeDeadlineSeconds: 60
  template:
    metadata: {labels: {app: train, team: mine}}
    spec:
      nodeSelector: {zone: a, disk: slow}
      tolerations: [{key: old, operator: Exists}, {key: same, value: x}]
`

func mutation() policies.Mutation {
	return policies.Mutation{
		Labels:       map[string]string{"team": "policy", "same": "same", "centre": "1"},
		Annotations:  map[string]string{"note": "policy"},
		NodeSelector: map[string]string{"disk": "nvme", "zone": "a", "pool": "x"},
		Tolerations: []policies.Toleration{{Key: "same", Operator: "Equal", Value: "x"},
			{Key: "fast", Operator: "Exists"}, {Key: "fast", Operator: "Exists"}},
		ActiveDeadlineSeconds: seconds(3600), TTLSecondsAfterFinished: seconds(0),
	}
}

func TestMutateChangesWhatDiffersAndRecordsWhatWasThere(t *testing.T) {
	job := parse[batchv1.Job](t, written)
	before := job.DeepCopy()
	got, record := intake.Mutate(job, mutation())
	want := parse[batchv1.Job](t, `
metadata:
  name: train
  uid: u1
  labels: {holdshort.dev/queue: research, team: policy, same: same, centre: "1"}
  annotations: {note: policy}
spec:
  suspend: true
  activeDeadlineSeconds: 3600
  ttlSecondsAfterFinished: 0
  template:
    metadata:
      labels: {app: train, team: policy, same: same, centre: "1"}
      annotations: {note: policy}
    spec:
      nodeSelector: {zone: a, disk: nvme, pool: x}
      tolerations: [{key: old, operator: Exists}, {key: same, value: x}, {key: fast, operator: Exists}]
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Job (-want +got):\n%s", diff)
	}
	wantRecord := &demand.Mutated{
		Labels:                  map[string]demand.Change[string]{"team": {To: "policy", From: text("mine")}, "same": {To: "same", From: text("same")}, "centre": {To: "1"}},
		Annotations:             map[string]demand.Change[string]{"note": {To: "policy", From: text("mine")}},
		PodLabels:               map[string]demand.Change[string]{"team": {To: "policy", From: text("mine")}, "same": {To: "same"}, "centre": {To: "1"}},
		PodAnnotations:          map[string]demand.Change[string]{"note": {To: "policy"}},
		NodeSelector:            map[string]demand.Change[string]{"disk": {To: "nvme", From: text("slow")}, "pool": {To: "x"}},
		Tolerations:             []policies.Toleration{{Key: "fast", Operator: "Exists"}},
		ActiveDeadlineSeconds:   &demand.Change[int64]{To: 3600, From: seconds(60)},
		TTLSecondsAfterFinished: &demand.Change[int64]{To: 0},
	}
	if diff := cmp.Diff(wantRecord, record); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the original was written to (-want +got):\n%s", diff)
	}
	if same, none := intake.Mutate(job, policies.Mutation{Labels: map[string]string{}, PodReplacementPolicy: policies.ReplaceFailed}); same != job || none != nil {
		t.Errorf("a mutation of nothing gives another Job, and the record %+v", none)
	}
}

// recorded is a Job as it is stored: mutated, with the record, and with a flavor's
// selector, toleration and planned nodes on top.
func recorded(t *testing.T) *batchv1.Job {
	t.Helper()
	job, record := intake.Mutate(parse[batchv1.Job](t, written), mutation())
	job = job.DeepCopy()
	for key, value := range map[string]any{
		policies.AnnotationMutated: record,
		policies.AnnotationInjected: demand.Injected{UID: "u1", NodeSelector: map[string]string{"gpu": "h100"},
			Tolerations: []policies.Toleration{{Key: "gpu", Operator: "Exists"}}, PreferNodes: []string{"n1"}},
	} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		job.Annotations[key] = string(data)
	}
	spec := &job.Spec.Template.Spec
	spec.NodeSelector["gpu"] = "h100"
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists})
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: intake.Preferred([]string{"n1"}, nil)}}
	return job
}

func TestAsWrittenIsTheJobOfItsUserEditsIncluded(t *testing.T) {
	cases := []struct {
		name string
		edit func(*batchv1.Job)
		want func(*batchv1.Job) // of what the user wrote first
	}{
		{"nothing edited", func(*batchv1.Job) {}, func(*batchv1.Job) {}},
		{"a label that was mutated is the user's again", func(j *batchv1.Job) { j.Labels["team"] = "third" },
			func(j *batchv1.Job) { j.Labels["team"] = "third" }},
		{"one that is gone stays gone", func(j *batchv1.Job) { delete(j.Labels, "team") }, func(j *batchv1.Job) { delete(j.Labels, "team") }},
		{"a selector", func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector["disk"] = "tape" },
			func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector["disk"] = "tape" }},
		{"a deadline", func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = seconds(7) },
			func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = seconds(7) }},
		{"a deadline that is gone", func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = nil },
			func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = nil }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job, want := recorded(t), parse[batchv1.Job](t, written)
			c.edit(job)
			c.want(want)
			before := job.DeepCopy()
			if diff := cmp.Diff(tidy(t, want), tidy(t, intake.AsWritten(job))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, job); diff != "" {
				t.Errorf("the original was written to (-want +got):\n%s", diff)
			}
		})
	}
	if job := parse[batchv1.Job](t, written); intake.AsWritten(job) != job {
		t.Error("a Job without records is copied")
	}
	unreadable := parse[batchv1.Job](t, `metadata: {annotations: {holdshort.dev/mutated: "[]"}}`)
	if record := intake.MutatedRecord(unreadable); record != nil {
		t.Errorf("what cannot be read says %+v", record)
	}
}

func TestAForgedRecordSaysNothingOfWhatMutateCannotHaveWritten(t *testing.T) {
	for name, record := range map[string]string{
		"the queue":                     `{"labels":{"holdshort.dev/queue":{"to":"research"}}}`,
		"another queue":                 `{"labels":{"holdshort.dev/queue":{"to":"research","from":"other"}}}`,
		"another user":                  `{"annotations":{"holdshort.dev/user":{"to":"alice","from":"bob"}}}`,
		"the arrival":                   `{"annotations":{"holdshort.dev/arrival":{"to":"7"}}}`,
		"the pods' queue":               `{"podLabels":{"holdshort.dev/queue":{"to":"research"}}}`,
		"the pods' flavors":             `{"podAnnotations":{"holdshort.dev/flavors":{"to":"{}"}}}`,
		"by what the pods are known":    `{"podLabels":{"job-name":{"to":"train"}}}`,
		"a deadline that cannot be":     `{"activeDeadlineSeconds":{"to":60,"from":-5}}`,
		"a time to live that cannot be": `{"ttlSecondsAfterFinished":{"to":7,"from":4294967296}}`,
		"a value that no label has":     `{"labels":{"team":{"to":"mine","from":"a b"}},"podLabels":{"team":{"to":"mine","from":"a b"}}}`,
		"a selector that no node has":   `{"nodeSelector":{"disk":{"to":"slow","from":"a b"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			job := parse[batchv1.Job](t, written)
			job.Spec.TTLSecondsAfterFinished = new(int32)
			*job.Spec.TTLSecondsAfterFinished = 7
			for key, value := range map[string]string{policies.AnnotationUser: "alice", policies.AnnotationArrival: "7"} {
				job.Annotations[key] = value
			}
			job.Spec.Template.Labels["job-name"], job.Spec.Template.Labels[policies.LabelQueue] = "train", "research"
			job.Spec.Template.Annotations = map[string]string{policies.AnnotationFlavors: "{}"}
			want := tidy(t, job)
			job.Annotations[policies.AnnotationMutated] = record
			if diff := cmp.Diff(want, tidy(t, intake.AsWritten(job))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// tidy is a Job as YAML: empty maps and lists are none.
func tidy(t *testing.T, job *batchv1.Job) string {
	t.Helper()
	job = job.DeepCopy()
	if a := job.Spec.Template.Spec.Affinity; a != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		job.Spec.Template.Spec.Affinity = nil
	}
	data, err := yaml.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWhatIsCountedOfAnAdmittedJobIsWhatItRunsByWithoutItsFlavor(t *testing.T) {
	got := intake.Job(recorded(t), intake.Env{}).PodSets[0].Place
	want := demand.Place{
		NodeSelector: map[string]string{"zone": "a", "disk": "nvme", "pool": "x"},
		Tolerations: []policies.Toleration{{Key: "old", Operator: "Exists"}, {Key: "same", Operator: "Equal", Value: "x"},
			{Key: "fast", Operator: "Exists"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
