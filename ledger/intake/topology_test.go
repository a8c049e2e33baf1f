package intake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

func TestAtWhichLevelAJobIsToBeTogether(t *testing.T) {
	for _, c := range []struct {
		name, annotations string
		want              demand.Topology
		problem           string
	}{
		{"anywhere, if it says nothing", `{a: b}`, demand.Topology{}, ""},
		{"required", `{holdshort.dev/required-topology: example.com/rack}`, demand.Topology{Level: "example.com/rack", Required: true}, ""},
		{"preferred", `{holdshort.dev/preferred-topology: rack}`, demand.Topology{Level: "rack"}, ""},
		{"an empty one is none", `{holdshort.dev/required-topology: "", holdshort.dev/preferred-topology: rack}`, demand.Topology{Level: "rack"}, ""},
		{"both", `{holdshort.dev/required-topology: rack, holdshort.dev/preferred-topology: block}`, demand.Topology{Level: "rack", Required: true},
			"metadata.annotations[holdshort.dev/preferred-topology]: the Job has holdshort.dev/required-topology, too"},
		{"no label", `{holdshort.dev/preferred-topology: "a rack"}`, demand.Topology{Level: "a rack"},
			`metadata.annotations[holdshort.dev/preferred-topology]: "a rack" cannot be a node label. Try: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := intake.Job(parse[batchv1.Job](t, "metadata: {uid: u1, annotations: "+c.annotations+"}\nspec: {parallelism: 2}"), intake.Env{})
			if diff := cmp.Diff(c.want, got.PodSets[0].Topology); diff != "" {
				t.Error(diff)
			}
			says(t, got.Problem, c.problem)
		})
	}
	misplaced := parse[batchv1.Job](t, "metadata: {uid: u1}\nspec: {template: {metadata: {annotations: {holdshort.dev/required-topology: rack}}}}")
	says(t, intake.Job(misplaced, intake.Env{}).Problem,
		"spec.template.metadata.annotations[holdshort.dev/required-topology]: it is read on the Job, not on its pods. Try: metadata.annotations[")
}

func says(t *testing.T, problem *reason.Reason, want string) {
	t.Helper()
	switch {
	case (problem == nil) != (want == ""):
		t.Errorf("problem is %v, want %q", problem, want)
	case problem != nil && (problem.Code != reason.BadRequest || !strings.HasPrefix(problem.Message, want)):
		t.Errorf("problem is %v, want BadRequest: %s", problem, want)
	}
}

// TestAPolicyDecidesTheTopology: what mutate says counts as if its user had written it,
// and stands on the Job only.
func TestAPolicyDecidesTheTopology(t *testing.T) {
	job := parse[batchv1.Job](t, "metadata: {uid: u1, annotations: {holdshort.dev/preferred-topology: block}}\nspec: {parallelism: 2}")
	got, record := intake.Mutate(job, policies.Mutation{Annotations: map[string]string{
		policies.AnnotationRequiredTopology: "rack", policies.AnnotationPreferredTopology: "", "note": "x"}})
	counted := intake.Job(got, intake.Env{})
	if want := (demand.Topology{Level: "rack", Required: true}); counted.PodSets[0].Topology != want || counted.Problem != nil {
		t.Errorf("got %v (%v), want %v", counted.PodSets[0].Topology, counted.Problem, want)
	}
	if diff := cmp.Diff(map[string]string{"note": "x"}, got.Spec.Template.Annotations); diff != "" {
		t.Errorf("the pods have:\n%s", diff)
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	got.Annotations[policies.AnnotationMutated] = string(text)
	if diff := cmp.Diff(job.Annotations, intake.AsWritten(got).Annotations); diff != "" {
		t.Errorf("as its user wrote it:\n%s", diff)
	}
}
