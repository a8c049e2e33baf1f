package command

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
)

func queued(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team", UID: types.UID(name),
			Labels: map[string]string{policies.LabelQueue: "research", policies.LabelState: policies.StateQueued},
		},
		Spec: batchv1.JobSpec{Suspend: new(true)},
	}
}

func over(name string) *batchv1.Job {
	job := queued(name)
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	return job
}

func headed(name string) *v1alpha1.Queue {
	queue := &v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "research"}}
	if name != "" {
		queue.Status.Head = &v1alpha1.QueueHead{Namespace: "team", Name: name}
	}
	return queue
}

func TestABoardShowsWhatChanged(t *testing.T) {
	tests := map[string]struct {
		do   func(b *board) error
		want []string
	}{
		"a Job that says what it said before is no news": {
			func(b *board) error { return b.jobChanged(queued("a"), false) }, nil,
		},
		"a new one has no position": {
			func(b *board) error { return b.jobChanged(queued("c"), false) }, []string{"c waiting 0"},
		},
		"who came to the head and who left it change, and nobody else": {
			func(b *board) error { return b.queueChanged(headed("b"), false) }, []string{"b waiting 1", "a waiting 0"},
		},
		"the same head is no news": {
			func(b *board) error { return b.queueChanged(headed("a"), false) }, nil,
		},
		"one that is over is shown once, as it was in the list": {
			func(b *board) error {
				if err := b.jobChanged(over("a"), false); err != nil {
					return err
				}
				later := over("a")
				later.Status.Succeeded = 1
				later.Annotations = map[string]string{policies.AnnotationArrival: "7"}
				return b.jobChanged(later, false)
			}, []string{"a complete 0"},
		},
		"one that was over before is not": {
			func(b *board) error { return b.jobChanged(over("c"), false) }, nil,
		},
		"a deleted one says so": {
			func(b *board) error { return b.jobChanged(queued("a"), true) }, []string{"a deleted"},
		},
		"without queues there are no positions": {
			func(b *board) error {
				b.forgetQueues()
				return b.jobChanged(queued("a"), false)
			}, []string{"a waiting 0"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			b := newBoard([]batchv1.Job{*queued("a"), *queued("b")}, map[string]*v1alpha1.Queue{"research": headed("a")},
				func(list report.JobList) error {
					for _, row := range list.Items {
						if row.Deleted {
							got = append(got, row.Name+" deleted")
							continue
						}
						got = append(got, fmt.Sprintf("%s %s %d", row.Name, row.State, row.Position))
					}
					return nil
				})
			b.wants = (&jobQuery{}).wants
			if err := b.show([]batchv1.Job{*queued("a"), *queued("b")}, false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a waiting 1", "b waiting 0"}, got); diff != "" {
				t.Fatalf("the list (-want +got):\n%s", diff)
			}
			got = nil
			if err := test.do(b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichJobsAQueryWants(t *testing.T) {
	row := func(name, queue, state string) report.Job { return report.Job{Name: name, Queue: queue, State: state} }
	tests := map[string]struct {
		query jobQuery
		row   report.Job
		want  bool
	}{
		"all that are not over":                     {jobQuery{}, row("a", "q", report.StateHeld), true},
		"what is over is not":                       {jobQuery{}, row("a", "q", report.StateFailed), false},
		"unless asked for":                          {jobQuery{finished: true}, row("a", "q", report.StateFailed), true},
		"or named":                                  {jobQuery{names: []string{"a"}}, row("a", "q", report.StateFailed), true},
		"or its state is":                           {jobQuery{states: []string{report.StateFailed}}, row("a", "q", report.StateFailed), true},
		"a name that was not asked for":             {jobQuery{names: []string{"b"}}, row("a", "q", report.StateHeld), false},
		"a state that was not asked for":            {jobQuery{states: []string{report.StateWaiting}}, row("a", "q", report.StateHeld), false},
		"another queue":                             {jobQuery{queue: "other"}, row("a", "q", report.StateHeld), false},
		"the queue alone does not bring the old up": {jobQuery{queue: "q"}, row("a", "q", report.StateComplete), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.query.wants(test.row); got != test.want {
				t.Errorf("wanted %t, want %t", got, test.want)
			}
		})
	}
}
