package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// TestADomainIsChosenAnewAfterATakeBack: the label of a required domain and the
// preference for others go with the admission that wrote them; what the user wrote stays.
func TestADomainIsChosenAnewAfterATakeBack(t *testing.T) {
	in := func(names ...string) *demand.Domains { return &demand.Domains{Level: "rack", Names: names} }
	job := userJob()
	first := admission("h100", "n1")
	first.NodeSelector["rack"] = "r1"
	second := admission("h100", "n7")
	second.NodeSelector["rack"], second.PreferDomains = "r2", in("r2", "r3")
	third := admission("h100")
	third.PreferDomains = in("r4")
	for _, c := range []struct {
		admit effect.Admit
		rack  string
		terms []corev1.PreferredSchedulingTerm
	}{
		{first, "r1", intake.Preferred([]string{"n1"}, nil)},
		{second, "r2", intake.Preferred([]string{"n7"}, in("r2", "r3"))},
		{third, "", intake.Preferred(nil, in("r4"))},
	} {
		patch, err := apply.AdmitPatch(job, c.admit)
		job = patched(t, job, patch, err)
		spec := job.Spec.Template.Spec
		want := map[string]string{"zone": "a", "gpu": "h100"}
		if c.rack != "" {
			want["rack"] = c.rack
		}
		if diff := cmp.Diff(want, spec.NodeSelector); diff != "" {
			t.Errorf("node selector (-want +got):\n%s", diff)
		}
		own := userJob().Spec.Template.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		if diff := cmp.Diff(append(own, c.terms...), spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution); diff != "" {
			t.Errorf("preferences (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(userJob().Spec.Template.Spec, intake.AsWritten(job).Spec.Template.Spec); diff != "" {
			t.Errorf("as its user wrote it (-want +got):\n%s", diff)
		}
		patch, err = apply.SuspendPatch(job, effect.Suspend{Job: c.admit.Job, Reason: reason.NotPlaced(1, 1, nil)})
		job = patched(t, job, patch, err)
	}
}

// TestWhatThePolicyWantsOfTheTopologyIsWritten: the annotations are a user's, so that an
// admission writes what mutate made of them.
func TestWhatThePolicyWantsOfTheTopologyIsWritten(t *testing.T) {
	job := userJob()
	job.Annotations = map[string]string{policies.AnnotationPreferredTopology: "block"}
	admit := admission("h100")
	_, admit.Job.Mutated = intake.Mutate(job, policies.Mutation{Annotations: map[string]string{
		policies.AnnotationRequiredTopology: "rack", policies.AnnotationPreferredTopology: ""}})
	patch, err := apply.AdmitPatch(job, admit)
	got := patched(t, job, patch, err)
	topology := func(j *batchv1.Job) [2]string {
		return [2]string{j.Annotations[policies.AnnotationRequiredTopology], j.Annotations[policies.AnnotationPreferredTopology]}
	}
	if want := [2]string{"rack", ""}; topology(got) != want {
		t.Errorf("got %q, want %q", topology(got), want)
	}
	if want := [2]string{"", "block"}; topology(intake.AsWritten(got)) != want {
		t.Errorf("as written: got %q, want %q", topology(intake.AsWritten(got)), want)
	}
}
