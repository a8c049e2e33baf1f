//go:build plane

package requests_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/test/plane/cluster"
)

// jobs are specs without template, by name, and how many pods the Job
// controller starts at first.
func jobs() map[string]struct {
	spec  string
	first int64
} {
	return map[string]struct {
		spec  string
		first int64
	}{
		"nothing-said": {`{}`, 1},
		"zero":         {`{parallelism: 0}`, 0},
		"wide":         {`{parallelism: 8, completions: 3}`, 3},
		"waves":        {`{parallelism: 2, completions: 5}`, 2},
		"work-queue":   {`{parallelism: 5}`, 5},
		"one":          {`{parallelism: 5, completions: 1}`, 1},
		"indexed":      {`{parallelism: 3, completions: 7, completionMode: Indexed}`, 3},
		"failing":      {`{parallelism: 3, completions: 7, completionMode: Indexed, backoffLimitPerIndex: 0}`, 3},
		"replaced":     {`{parallelism: 2, completions: 2, backoffLimit: 2}`, 2},
		"late":         {`{parallelism: 2, completions: 4, podReplacementPolicy: Failed}`, 2},
	}
}

// At no moment in the life of a Job do more pods run than the ledger reads from
// the very same object, and at its peak there are as many as were foreseen.
func TestNoMorePodsRunThanForeseen(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	f := start(t, ctx, cluster.Options{Nodes: []cluster.NodeSpec{{Name: "node-1"}}})
	client := f.Client.BatchV1().Jobs("none")
	events, err := client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for name, want := range jobs() {
		job := makeJob(t, name, want.spec)
		if got := intake.Job(job, f.env("none")).PodSets[0].Count; got != want.first {
			t.Errorf("%s: %d pods foreseen, want %d", name, got, want.first)
		}
		if _, err := client.Create(ctx, job, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, most := range follow(ctx, t, events) {
		if most != jobs()[name].first {
			t.Errorf("%s: at most %d pods ran at once, %d foreseen", name, most, jobs()[name].first)
		}
	}
}

// follow watches until all Jobs but the one without pods are over, and returns
// the most active pods of each.
func follow(ctx context.Context, t *testing.T, events watch.Interface) map[string]int64 {
	t.Helper()
	most, done := map[string]int64{}, map[string]bool{}
	for len(done) < len(jobs())-1 {
		select {
		case <-ctx.Done():
			t.Fatalf("of %d Jobs only %v are over in time; most pods so far: %v", len(jobs()), done, most)
		case event := <-events.ResultChan():
			job, ok := event.Object.(*batchv1.Job)
			if !ok {
				t.Fatalf("watch ended: %v", event.Object)
			}
			got := intake.Job(job, intake.Env{})
			if got.Active > got.PodSets[0].Count && !got.Finished {
				t.Errorf("%s: %d pods run, %d foreseen from %+v", job.Name, got.Active, got.PodSets[0].Count, job.Status)
			}
			most[job.Name] = max(most[job.Name], got.Active)
			if over(job) {
				done[job.Name] = true
			}
		}
	}
	return most
}

// over: complete or failed, and its pods are gone.
func over(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func makeJob(t *testing.T, name, spec string) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "none"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &job.Spec); err != nil {
		t.Fatal(err)
	}
	exit := "0"
	if name == "failing" || name == "replaced" {
		exit = "1"
	}
	job.Spec.Template.Annotations = map[string]string{
		"plane.holdshort.dev/run":       "2s",
		"plane.holdshort.dev/exit-code": exit,
	}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "a", Image: "registry.example/train"}},
	}
	return job
}
