package intake_test

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

func TestWhatCannotBeCountedIsNamed(t *testing.T) {
	kata := `{metadata: {name: kata}, handler: kata, overhead: {podFixed: {memory: 160Mi}}, scheduling: {nodeSelector: {runtime: kata}}}`
	cases := []struct {
		name string
		environment
		parallelism int32
		spec        string
		says        []string
	}{
		{
			name: "a negative request, though another container makes up for it",
			spec: `containers: [{name: a, resources: {requests: {nvidia.com/gpu: 4}}}, {name: b, resources: {requests: {nvidia.com/gpu: "-4"}}}]`,
			says: []string{"spec.template.spec.containers[1].resources.requests[nvidia.com/gpu]", "-4", "Try: "},
		},
		{
			name: "a negative limit of an init container",
			spec: `{initContainers: [{name: i, resources: {limits: {cpu: "-1"}}}], containers: [{name: a}]}`,
			says: []string{"spec.template.spec.initContainers[0].resources.limits[cpu]", "-1"},
		},
		{
			name: "a negative pod-level request",
			spec: `{resources: {requests: {memory: "-1Gi"}}, containers: [{name: a}]}`,
			says: []string{"spec.template.spec.resources.requests[memory]", "-1Gi"},
		},
		{
			name: "part of a device",
			spec: `containers: [{name: a, resources: {requests: {nvidia.com/gpu: 500m}}}]`,
			says: []string{"spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]", "500m", "whole number"},
		},
		{
			name: "more cpu than thousandths can be counted",
			spec: `containers: [{name: a, resources: {requests: {cpu: "9223372036854775807"}}}]`,
			says: []string{"cpu", "9223372036854775807", "more than can be counted"},
		},
		{
			name: "two containers whose sum is beyond counting",
			spec: `containers: [{name: a, resources: {requests: {memory: 4Ei}}}, {name: b, resources: {requests: {memory: 4Ei}}}]`,
			says: []string{"memory", "8Ei", "more than can be counted"},
		},
		{
			name:        "pods whose sum is beyond counting",
			parallelism: 3,
			spec:        `containers: [{name: a, resources: {requests: {memory: 4Ei}}}]`,
			says:        []string{"spec.parallelism", "3 pods", "memory"},
		},
		{
			name: "a RuntimeClass that does not exist, whatever overhead the user writes",
			spec: `{runtimeClassName: kata, overhead: {memory: 1Mi}, containers: [{name: a}]}`,
			says: []string{"spec.template.spec.runtimeClassName", "RuntimeClass kata not found", "Try: "},
		},
		{
			name:        "an overhead that is not the RuntimeClass's",
			environment: environment{runtime: kata},
			spec:        `{runtimeClassName: kata, overhead: {memory: 1Mi}, containers: [{name: a}]}`,
			says:        []string{"spec.template.spec.overhead"},
		},
		{
			name: "an overhead without a RuntimeClass",
			spec: `{overhead: {memory: 1Mi}, containers: [{name: a}]}`,
			says: []string{"spec.template.spec.overhead"},
		},
		{
			name:        "a node selector against the RuntimeClass's",
			environment: environment{runtime: kata},
			spec:        `{runtimeClassName: kata, nodeSelector: {runtime: runc}, containers: [{name: a}]}`,
			says:        []string{"spec.template.spec.nodeSelector[runtime]", "runc", "RuntimeClass kata"},
		},
		{
			name: "a PriorityClass that does not exist",
			spec: `{priorityClassName: gold, containers: [{name: a}]}`,
			says: []string{"spec.template.spec.priorityClassName", "PriorityClass gold not found"},
		},
		{
			name: "devices by claim where the API server has no claims",
			spec: `{resourceClaims: [{name: gpus, resourceClaimTemplateName: two}], containers: [{name: a}]}`,
			says: []string{"spec.template.spec.resourceClaims[gpus]", "does not serve resource.k8s.io/v1"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := jobOf(t, c.spec)
			if c.parallelism != 0 {
				job.Spec.Parallelism = &c.parallelism
			}
			got := intake.Job(job, c.env(t))
			if got.Problem == nil {
				t.Fatal("no Problem: the Job would be admitted")
			}
			want := reason.BadRequest
			if strings.Contains(got.Problem.Message, " not found") {
				want = reason.MissingObject
			}
			if got.Problem.Code != want {
				t.Errorf("code %s, want %s", got.Problem.Code, want)
			}
			for _, part := range c.says {
				if !strings.Contains(got.Problem.Message, part) {
					t.Errorf("message %q does not say %q", got.Problem.Message, part)
				}
			}
			for name, amount := range got.PodSets[0].Requests {
				if amount < 0 {
					t.Errorf("%s is %d: negative amounts are credit for everybody", name, amount)
				}
			}
		})
	}
}

// KAI and Run:ai give a pod a part of a card by an annotation; a pod of theirs that asks
// for a card as a resource, which holds it for the others, counts like any.
func TestAPartOfACardByAnnotationIsHeld(t *testing.T) {
	for _, key := range []string{"gpu-fraction", "gpu-memory"} {
		job := jobOf(t, `containers: [{name: a, resources: {requests: {cpu: 1}}}]`)
		job.Spec.Template.Annotations = map[string]string{key: "0.5"}
		got := intake.Job(job, intake.Env{}).Problem
		if got == nil || got.Code != reason.UnknownResource || !strings.Contains(got.Message, key) {
			t.Errorf("problem %v, want UnknownResource that names %s", got, key)
		}
	}
}

func TestANegativeContributionCancelsNothing(t *testing.T) {
	job := jobOf(t, `containers: [{name: a, resources: {requests: {nvidia.com/gpu: 4}}}, {name: b, resources: {requests: {nvidia.com/gpu: "-4"}}}]`)
	if got := intake.Job(job, intake.Env{}).PodSets[0].Requests["nvidia.com/gpu"]; got != 4 {
		t.Errorf("charged %d nvidia.com/gpu, want 4", got)
	}
}

func TestTwoBillionPodsAreHeldAtTheLimitNotWrapped(t *testing.T) {
	job := jobOf(t, `containers: [{name: a, resources: {requests: {cpu: 3, memory: 64Gi}}}]`)
	many := int32(2_000_000_000)
	job.Spec.Parallelism = &many
	got := intake.Job(job, intake.Env{})
	if got.PodSets[0].Count != 2_000_000_000 {
		t.Errorf("count %d", got.PodSets[0].Count)
	}
	if got.Policy.Total["memory"] != resource.Limit || got.Policy.Total["cpu"] != 6_000_000_000_000 {
		t.Errorf("total %v", got.Policy.Total)
	}
	if got.Problem == nil || !strings.Contains(got.Problem.Message, "2000000000 pods") {
		t.Errorf("problem %v, want one that names the pods", got.Problem)
	}
}
