package apply_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/policies"
)

func startedWith(t *testing.T, job *batchv1.Job, asked, given int64) *batchv1.Job {
	t.Helper()
	admit := admission("h100")
	admit.Job.PodSets = []demand.PodSet{{Name: "main", Count: asked}}
	admit.Reservation.PodSets[0].Count = given
	patch, err := apply.AdmitPatch(job, admit)
	return patched(t, job, patch, err)
}

func eightPods() *batchv1.Job {
	job, eight := userJob(), int32(8)
	job.Spec.Parallelism = &eight
	return job
}

func wantPods(t *testing.T, job *batchv1.Job, want int32, recorded bool) {
	t.Helper()
	record := job.Annotations[policies.AnnotationInjected]
	if got := *job.Spec.Parallelism; got != want || strings.Contains(record, "parallelism") != recorded {
		t.Errorf("parallelism %d with record %s, want %d, recorded: %v", got, record, want, recorded)
	}
}

func TestAJobWithRoomForFewerPodsStartsWithThoseAndGetsTheRestBackWhenItIsSuspended(t *testing.T) {
	suspend := effect.Suspend{Job: &demand.Job{UID: "u1"}}
	runs := startedWith(t, eightPods(), 8, 5)
	wantPods(t, runs, 5, true)
	back := takenBack(t, runs, suspend)
	wantPods(t, back, 8, false)
	wantPods(t, startedWith(t, back, 8, 8), 8, false)
	wantPods(t, startedWith(t, back, 8, 4), 4, true)

	edited := back.DeepCopy()
	*edited.Spec.Parallelism = 5 // its user's, though it is what it ran with
	wantPods(t, startedWith(t, edited, 5, 5), 5, false)

	shrunk := runs.DeepCopy()
	*shrunk.Spec.Parallelism = 3
	wantPods(t, takenBack(t, shrunk, suspend), 3, false)
}

func TestAJobThatSomebodyElseSuspendedAsksForAllWhenItIsAdmittedAgain(t *testing.T) {
	runs := startedWith(t, eightPods(), 8, 5)
	*runs.Spec.Suspend = true
	wantPods(t, startedWith(t, runs, 8, 8), 8, false)
	wantPods(t, startedWith(t, runs, 8, 6), 6, true)
}

func TestParallelismBeyondWhatIsLeftStaysIfThereIsRoomForThat(t *testing.T) {
	wantPods(t, startedWith(t, eightPods(), 3, 3), 8, false)
	wantPods(t, startedWith(t, eightPods(), 3, 2), 2, true)
}
