package intake_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/intake"
)

// parse reads an object as a user would write it.
func parse[T any](t testing.TB, text string) *T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return &object
}

// jobOf is a Job with this pod spec.
func jobOf(t testing.TB, podSpec string) *batchv1.Job {
	t.Helper()
	job := parse[batchv1.Job](t, `
metadata: {name: train, namespace: research, uid: u1, labels: {holdshort.dev/queue: research}}
spec: {suspend: true, parallelism: 1}`)
	job.Spec.Template.Spec = *parse[corev1.PodSpec](t, podSpec)
	return job
}

// environment holds the cluster objects that one test needs.
type environment struct {
	limitRanges []string // specs
	runtime     string
	priority    string
	early       bool // an API server before 1.37
}

func (e environment) env(t testing.TB) intake.Env {
	t.Helper()
	env := intake.Env{PodLevelEarly: e.early}
	for _, spec := range e.limitRanges {
		env.LimitRanges = append(env.LimitRanges, &corev1.LimitRange{Spec: *parse[corev1.LimitRangeSpec](t, spec)})
	}
	env.RuntimeClass = func(name string) *nodev1.RuntimeClass {
		if class := parse[nodev1.RuntimeClass](t, e.runtime); class.Name == name {
			return class
		}
		return nil
	}
	env.PriorityClass = func(name string) *schedulingv1.PriorityClass {
		if class := parse[schedulingv1.PriorityClass](t, e.priority); class.Name == name {
			return class
		}
		return nil
	}
	return env
}

// schedulingLookup finds one PriorityClass and parses nothing on the way.
func schedulingLookup(class *schedulingv1.PriorityClass) func(string) *schedulingv1.PriorityClass {
	return func(string) *schedulingv1.PriorityClass { return class }
}
