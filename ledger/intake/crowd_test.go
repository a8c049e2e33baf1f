package intake_test

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

func TestAJobThatCarriesTooMuchIsHeld(t *testing.T) {
	keys := func(n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprint("k", i)] = ""
		}
		return all
	}
	for _, c := range []struct {
		name, says string
		crowd      func(*batchv1.Job)
	}{
		{"as many of all as it may", "", func(job *batchv1.Job) {
			job.Labels, job.Annotations = keys(intake.KeysMax), keys(intake.KeysMax)
			job.OwnerReferences = make([]metav1.OwnerReference, intake.OwnersMax)
		}},
		{"labels", "metadata.labels: 1001", func(job *batchv1.Job) { job.Labels = keys(intake.KeysMax + 1) }},
		{"annotations", "metadata.annotations: 1001", func(job *batchv1.Job) { job.Annotations = keys(intake.KeysMax + 1) }},
		{"labels of its template", "spec.template.metadata.labels: 1001", func(job *batchv1.Job) { job.Spec.Template.Labels = keys(intake.KeysMax + 1) }},
		{"annotations of its template", "spec.template.metadata.annotations: 1001", func(job *batchv1.Job) { job.Spec.Template.Annotations = keys(intake.KeysMax + 1) }},
		{"owners", "metadata.ownerReferences: 101", func(job *batchv1.Job) {
			job.OwnerReferences = make([]metav1.OwnerReference, intake.OwnersMax+1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := jobOf(t, `containers: [{name: a}]`)
			c.crowd(job)
			problem := intake.Job(job, intake.Env{}).Problem
			if c.says == "" {
				if problem != nil {
					t.Fatalf("held: %v", problem)
				}
				return
			}
			if problem == nil || problem.Code != reason.BadRequest || !strings.Contains(problem.Message, c.says) {
				t.Errorf("problem %v, want BadRequest with %q", problem, c.says)
			}
		})
	}
}

func TestAmongTooManyOwnersNobodyLooksForAParent(t *testing.T) {
	yes := true
	set := metav1.OwnerReference{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "s", UID: "u", Controller: &yes}
	for others, want := range map[int]bool{0: false, intake.OwnersMax - 1: false, intake.OwnersMax: true} {
		job := jobOf(t, `containers: [{name: a}]`)
		job.Labels = map[string]string{policies.LabelQueue: "q"}
		job.OwnerReferences = append(make([]metav1.OwnerReference, others), set)
		if got := intake.Managed(job, policies.Namespace{Name: "n"}, intake.Scope{}); got != want {
			t.Errorf("with %d other owners, managed is %t; want %t", others, got, want)
		}
	}
}
