package apply_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// failed is a Job of which 5 of 8 pods were started and taken back, the third time.
func failed(t *testing.T) *batchv1.Job {
	t.Helper()
	job := eightPods()
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "train:1"}}
	return takenBack(t, startedWith(t, job, 8, 5), effect.Suspend{
		Job: &demand.Job{UID: "u1"}, Reason: reason.NotPlaced(1, 120, nil), Backoff: &demand.Backoff{UID: "u1", Count: 3, Code: "placement timeout"},
	})
}

func failures(job *batchv1.Job) int64 { return intake.Job(job, intake.Env{}).Backoff.Count }

func admittedAgain(t *testing.T, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	admit := admission("a100", "node-7")
	admit.Job = intake.Job(job, intake.Env{})
	admit.Reservation.PodSets[0].Count = admit.Job.PodSets[0].Count
	patch, err := apply.AdmitPatch(job, admit)
	return patched(t, job, patch, err)
}

func TestFailuresAreKeptUntilTheJobIsAnother(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*batchv1.Job)
		want   int64
	}{
		{"as it is", func(*batchv1.Job) {}, 3},
		{"with another label of its user's", func(j *batchv1.Job) { j.Labels["team"] = "x" }, 3},
		{"with another image", func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Image = "train:2" }, 0},
		{"for other machines", func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector["zone"] = "b" }, 0},
		{"with fewer pods", func(j *batchv1.Job) { *j.Spec.Parallelism = 4 }, 0},
		{"in another queue", func(j *batchv1.Job) { j.Labels[policies.LabelQueue] = "search" }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := failed(t)
			c.change(job)
			if got := failures(job); got != c.want {
				t.Errorf("%d failures while it waits, want %d", got, c.want)
			}
			again := admittedAgain(t, job)
			if got := failures(again); got != c.want {
				t.Errorf("%d failures when it is admitted again, on another flavor, want %d", got, c.want)
			}
			if _, recorded := again.Annotations[policies.AnnotationBackoff]; recorded != (c.want > 0) {
				t.Errorf("recorded: %t", recorded)
			}
		})
	}
}

func TestAnOwnerWhoHoldsAWaitingJobHasItForgotten(t *testing.T) {
	for _, c := range []struct {
		name string
		says reason.Reason
		want int64
	}{
		{"a Job that its owner holds", reason.OwnerHolds(), 0},
		{"one that an operator holds", reason.OperatorHolds("research"), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := failed(t)
			patch, err := apply.ExplainPatch(job, effect.Explain{Job: intake.Job(job, intake.Env{}), State: policies.StateHeld, Reason: c.says})
			if got := failures(patched(t, job, patch, err)); got != c.want {
				t.Errorf("%d failures, want %d", got, c.want)
			}
		})
	}
}

func TestATakingBackSaysWhatBecomesOfTheJob(t *testing.T) {
	for says, want := range map[reason.Code]string{
		reason.BackingOff: policies.StateQueued, reason.Preempted: policies.StateQueued,
		reason.GaveUp: policies.StateHeld, reason.HeldByOwner: policies.StateHeld, reason.QueueHeld: policies.StateHeld,
	} {
		back := takenBack(t, startedWith(t, eightPods(), 8, 8), effect.Suspend{Job: &demand.Job{UID: "u1"}, Reason: reason.Reason{Code: says}})
		if got := back.Labels[policies.LabelState]; got != want {
			t.Errorf("%s: state %s, want %s", says, got, want)
		}
	}
}
