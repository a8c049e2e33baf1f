package apply_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// mutated is an admission of the Job with a mutation.
func mutated(t *testing.T, job *batchv1.Job, m policies.Mutation) *batchv1.Job {
	t.Helper()
	admit := admission("h100", "node-1")
	_, admit.Job.Mutated = intake.Mutate(intake.AsWritten(job), m)
	patch, err := apply.AdmitPatch(job, admit)
	return patched(t, job, patch, err)
}

func takenBack(t *testing.T, job *batchv1.Job, suspend effect.Suspend) *batchv1.Job {
	t.Helper()
	suspend.Job = admission("h100").Job
	patch, err := apply.SuspendPatch(job, suspend)
	return patched(t, job, patch, err)
}

func TestAnAdmissionWritesWhatMutateWantsBesideTheFlavor(t *testing.T) {
	deadline, ttl := int64(3600), int64(60)
	job := userJob()
	job.Labels["team"], job.Annotations = "mine", map[string]string{"note": "mine"}
	got := mutated(t, job, policies.Mutation{
		Labels: map[string]string{"team": "policy"}, Annotations: map[string]string{"note": "mine", "why": "asked"},
		NodeSelector: map[string]string{"zone": "b", "disk": "nvme"}, Tolerations: []policies.Toleration{{Key: "fast", Operator: "Exists"}},
		ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &ttl,
	})
	spec, template := got.Spec, got.Spec.Template
	if diff := cmp.Diff(map[string]string{"zone": "b", "disk": "nvme", "gpu": "h100"}, template.Spec.NodeSelector); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	var keys []string
	for _, toleration := range template.Spec.Tolerations {
		keys = append(keys, toleration.Key)
	}
	if diff := cmp.Diff([]string{"t", "fast", "h100"}, keys); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	if got.Labels["team"] != "policy" || template.Labels["team"] != "policy" || template.Labels[policies.LabelQueue] != "research" {
		t.Errorf("labels %v, of the pods %v", got.Labels, template.Labels)
	}
	if got.Annotations["why"] != "asked" || template.Annotations["note"] != "mine" {
		t.Errorf("annotations %v, of the pods %v", got.Annotations, template.Annotations)
	}
	if spec.ActiveDeadlineSeconds == nil || *spec.ActiveDeadlineSeconds != 3600 || spec.TTLSecondsAfterFinished == nil || *spec.TTLSecondsAfterFinished != 60 {
		t.Errorf("deadline %v, time to live %v", spec.ActiveDeadlineSeconds, spec.TTLSecondsAfterFinished)
	}
	var injected map[string]any
	if err := json.Unmarshal([]byte(got.Annotations[policies.AnnotationInjected]), &injected); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(map[string]any{"gpu": "h100"}), injected["nodeSelector"]); diff != "" {
		t.Errorf("what the flavor injected (-want +got):\n%s", diff)
	}
}

func TestAnotherAdmissionLeavesNothingOfWhatAnotherPolicyWanted(t *testing.T) {
	deadline := int64(3600)
	job := userJob()
	job.Labels["team"] = "mine"
	first := mutated(t, job, policies.Mutation{
		Labels: map[string]string{"team": "policy", "old": "x"}, Annotations: map[string]string{"old": "x"},
		NodeSelector: map[string]string{"zone": "b", "old": "x"}, Tolerations: []policies.Toleration{{Key: "old", Operator: "Exists"}},
		ActiveDeadlineSeconds: &deadline,
	})
	back := takenBack(t, first, effect.Suspend{Reason: reason.Reason{Code: reason.BackingOff}})
	for name, m := range map[string]policies.Mutation{
		"none":    {},
		"another": {Labels: map[string]string{"new": "y"}, NodeSelector: map[string]string{"new": "y"}},
	} {
		second, direct := mutated(t, back, m), mutated(t, job, m)
		if diff := cmp.Diff(direct.Spec, second.Spec); diff != "" {
			t.Errorf("%s: not the same as being admitted by it at once (-direct +second):\n%s", name, diff)
		}
		if diff := cmp.Diff(direct.Labels, second.Labels); diff != "" {
			t.Errorf("%s: labels (-direct +second):\n%s", name, diff)
		}
		if diff := cmp.Diff(direct.Annotations, second.Annotations); diff != "" {
			t.Errorf("%s: annotations (-direct +second):\n%s", name, diff)
		}
	}
}

func TestAnAdmissionWritesTheProjectsKeysByNameOnly(t *testing.T) {
	job := userJob()
	job.Annotations = map[string]string{policies.AnnotationUser: "alice"}
	job.Spec.Template.Labels = map[string]string{policies.LabelQueue: "research"}
	admit := admission("h100", "node-1")
	from := "bob"
	// As if a record of another build said so.
	admit.Job.Mutated = &demand.Mutated{
		Labels:      map[string]demand.Change[string]{policies.LabelQueue: {To: "other"}, policies.LabelPriority: {To: "high"}},
		PodLabels:   map[string]demand.Change[string]{policies.LabelQueue: {To: "other"}},
		Annotations: map[string]demand.Change[string]{policies.AnnotationUser: {To: "bob", From: &from}},
	}
	patch, err := apply.AdmitPatch(job, admit)
	got := patched(t, job, patch, err)
	want := map[string]string{policies.LabelQueue: "research", policies.LabelState: policies.StateAdmitted}
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if queue, user := got.Spec.Template.Labels[policies.LabelQueue], got.Annotations[policies.AnnotationUser]; queue != "research" || user != "alice" {
		t.Errorf("its pods are of queue %q, it is %q's", queue, user)
	}
}
