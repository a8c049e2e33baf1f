//go:build plane

package admission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/policies"
)

// escaping: a running Job gets no more pods than it was given.
func (w *world) escaping(t *testing.T) {
	ctx := t.Context()
	name := "escapes"
	w.admitted(t, name)
	pod := w.podOf(t, name)
	patchPod := func(who string, text string) error {
		_, err := w.as(t, who).CoreV1().Pods("research").Patch(ctx, pod.Name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	for _, text := range []string{
		`{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null}}}`,
		`{"metadata":{"labels":{"controller-uid":"other"}}}`,
		`{"metadata":{"labels":{"job-name":null,"batch.kubernetes.io/job-name":null}}}`,
		`{"metadata":{"ownerReferences":null}}`,
	} {
		refused(t, patchPod("alice", text), "stays with its Job")
	}
	refused(t, patchPod("alice", `{"metadata":{"labels":{"mine":"x"},"annotations":{"mine":"x"}}}`), "")
	refused(t, patchPod(collector, `{"metadata":{"ownerReferences":null}}`), "")

	if err := w.patch(ctx, w.ledger, name, `{"spec":{"podReplacementPolicy":"Failed"}}`); err != nil {
		t.Fatal(err)
	}
	const early = `{"spec":{"podReplacementPolicy":"TerminatingOrFailed"}}`
	if err := w.patch(ctx, w.alice, name, early); err != nil {
		refused(t, err, "leave spec.podReplacementPolicy as it is") // where no policy puts it back
	}
	if now := w.get(t, name).Spec.PodReplacementPolicy; now == nil || *now != batchv1.Failed {
		t.Errorf("pods are replaced before they are gone: %v", now)
	}

	job := newJob("own-selector")
	yes := true
	job.Spec.Suspend, job.Spec.ManualSelector = &yes, &yes
	job.Labels = map[string]string{policies.LabelQueue: "q"}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	job.Spec.Template.Labels = map[string]string{"app": "x"}
	_, err := w.alice.BatchV1().Jobs("research").Create(ctx, job, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "leave spec.manualSelector") && !strings.Contains(err.Error(), "suspend.jobs.holdshort.dev") {
		t.Errorf("got %v, want a refusal of a selector of one's own, or of what the webhook cannot see", err)
	}
}

// over: a Job that has ended is nobody's any more.
func (w *world) over(t *testing.T) {
	name := "ends"
	w.admitted(t, name)
	ctx := t.Context()
	const leave = `{"metadata":{"labels":{"holdshort.dev/queue":"z"}}}`
	refused(t, w.patch(ctx, w.alice, name, leave), "leaves it only while it is suspended")
	job := w.get(t, name)
	job.Spec.ActiveDeadlineSeconds = new(int64)
	*job.Spec.ActiveDeadlineSeconds = 1
	if _, err := w.root.BatchV1().Jobs("research").Update(ctx, job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job to fail and its pods to be gone", func() error {
		status := w.get(t, name).Status
		for _, c := range status.Conditions {
			if c.Type == batchv1.JobFailed && status.Active == 0 && (status.Terminating == nil || *status.Terminating == 0) {
				return nil
			}
		}
		return fmt.Errorf("%+v", status)
	})
	refused(t, w.patch(ctx, w.alice, name, `{"spec":{"activeDeadlineSeconds":3600}}`), "")
	refused(t, w.patch(ctx, w.alice, name, leave), "")
	refused(t, w.patch(ctx, w.alice, name, `{"metadata":{"labels":{"holdshort.dev/queue":null}}}`), "")
}

// pausing: a suspension that nobody means does not end what runs, also where
// nothing puts it back.
func (w *world) pausing(t *testing.T) {
	name := "paused"
	w.admitted(t, name)
	if err := w.patch(t.Context(), w.alice, name, `{"spec":{"suspend":true}}`); err != nil {
		refused(t, err, "set the annotation holdshort.dev/hold")
	}
	if job := w.get(t, name); *job.Spec.Suspend {
		t.Error("applying suspend again suspends what runs")
	}
	refused(t, w.patch(t.Context(), w.alice, name, `{"metadata":{"annotations":{"holdshort.dev/hold":""}},"spec":{"suspend":true}}`), "")
	if job := w.get(t, name); !*job.Spec.Suspend {
		t.Error("a hold does not suspend")
	}
}

// records: what the ledger would believe is not written where it does not look,
// to be believed once it does.
func (w *world) records(t *testing.T, ctx context.Context) {
	jobs := w.alice.BatchV1().Jobs("research")
	forge := func(job *batchv1.Job, key string) *batchv1.Job {
		job.Labels = map[string]string{policies.LabelQueue: "q"}
		if key == policies.LabelState {
			job.Labels[key] = policies.StateQueued
		} else {
			job.Annotations = map[string]string{key: "1"}
		}
		return job
	}
	eventually(t, "the guard of such a namespace", func() error {
		if _, err := jobs.Create(ctx, forge(newJob("probe"), policies.AnnotationUser), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			return errors.New("a forgery is taken")
		}
		return nil
	})
	for _, key := range []string{
		policies.AnnotationReservation, policies.AnnotationBypass, policies.AnnotationUser, policies.AnnotationArrival,
		policies.AnnotationInjected, policies.AnnotationMutated, policies.AnnotationBackoff, policies.AnnotationPreempted,
		policies.AnnotationRan, policies.LabelState,
	} {
		job := forge(newJob("recorded"), key)
		_, err := jobs.Create(ctx, job, metav1.CreateOptions{})
		refused(t, err, "written by holdshort alone")

		delete(job.Labels, policies.LabelQueue)
		job.Labels["app"] = "x"
		job.GenerateName, job.Name = "recorded-", ""
		made, err := jobs.Create(ctx, job, metav1.CreateOptions{})
		refused(t, err, "")
		refused(t, w.patch(ctx, w.alice, made.Name, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`), "written by holdshort alone")
	}
	job := newJob("honest")
	job.Labels = map[string]string{policies.LabelQueue: "q", policies.LabelPriority: "urgent"}
	job.Annotations = map[string]string{policies.AnnotationHold: "true"}
	made, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	refused(t, err, "")
	for _, key := range []string{`"labels":{"holdshort.dev/state":"queued"}`, `"annotations":{"holdshort.dev/arrival":"1"}`} {
		refused(t, w.patch(ctx, w.alice, made.Name, `{"metadata":{`+key+`}}`), "written by holdshort alone")
	}
	// What it was given where it was looked after stays, and hinders no other edit.
	if err := w.patch(ctx, w.root, made.Name, `{"metadata":{"labels":{"holdshort.dev/state":"queued"},"annotations":{"holdshort.dev/user":"alice"}}}`); err != nil {
		t.Fatal(err)
	}
	refused(t, w.patch(ctx, w.alice, made.Name, `{"metadata":{"annotations":{"mine":"x"}}}`), "")
	refused(t, w.patch(ctx, w.alice, made.Name, `{"metadata":{"annotations":{"holdshort.dev/user":"boss"}}}`), "written by holdshort alone")
}
