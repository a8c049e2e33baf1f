//go:build plane

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const priorityPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    classes:
      urgent: {priority: 1000}
      normal: {priority: 100}
    queues:
      line:
        namespaces: {names: [line]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 1}
`

func TestS5TheHighestPriorityGoesFirstThenArrivalAlsoWithinTheSameSecond(t *testing.T) {
	ctx, s := scene(t, "line", priorityPolicy, history.Limit{Queue: "line", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 1})
	_, err := s.Apply(ctx, job{name: "running", queue: "line", priority: "normal", pods: 1, gpus: 1, run: "6s"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "running", 1))

	// All in one file, so within the same second or two.
	var file strings.Builder
	names := []string{"zulu", "mike", "alfa"} // names must not matter
	for _, name := range names {
		file.WriteString(job{name: name, queue: "line", priority: "normal", pods: 1, gpus: 1, run: "300ms"}.yaml())
	}
	file.WriteString(job{name: "urgent", queue: "line", priority: "urgent", pods: 1, gpus: 1, run: "300ms"}.yaml())
	_, err = s.Apply(ctx, file.String())
	must(t, err)
	for _, name := range append(names, "urgent") {
		must(t, s.Finished(ctx, name))
	}
	want := append([]string{"running", "urgent"}, names...)
	if diff := cmp.Diff(want, admissionOrder(t, ctx, s)); diff != "" {
		t.Errorf("admitted in another order (-want +got):\n%s", diff)
	}
}

// admissionOrder lists the Jobs by the time in their reservations.
func admissionOrder(t *testing.T, ctx context.Context, s *stories.Scene) []string {
	t.Helper()
	jobs, err := s.Client.BatchV1().Jobs(s.NS).List(ctx, metav1.ListOptions{})
	must(t, err)
	slices.SortFunc(jobs.Items, func(a, b batchv1.Job) int {
		return int(reservation(t, &a).Time - reservation(t, &b).Time)
	})
	var names []string
	for _, j := range jobs.Items {
		names = append(names, j.Name)
	}
	return names
}

func TestS5ManyJobsOfOneSecondAreAdmittedInTheOrderOfTheirCreation(t *testing.T) {
	ctx, s := scene(t, "line", priorityPolicy)
	var file strings.Builder
	var want []string
	for i := range 8 {
		name := fmt.Sprintf("n%d", (i*5)%8) // not in the order of the alphabet
		want = append(want, name)
		file.WriteString(job{name: name, queue: "line", pods: 1, gpus: 1, run: "100ms"}.yaml())
	}
	_, err := s.Apply(ctx, file.String())
	must(t, err)
	for _, name := range want {
		must(t, s.Finished(ctx, name))
	}
	if diff := cmp.Diff(want, admissionOrder(t, ctx, s)); diff != "" {
		t.Errorf("admitted in another order (-want +got):\n%s", diff)
	}
}

func reservation(t *testing.T, j *batchv1.Job) demand.Reservation {
	t.Helper()
	r, err := stories.Reservation(j)
	must(t, err)
	return r
}

func jobsOf(ctx context.Context, s *stories.Scene) ([]batchv1.Job, error) {
	list, err := s.Client.BatchV1().Jobs(s.NS).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
