package ledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/policies"
)

func TestRoomIsGivenOnceAlsoBeforeTheWriteIsSeen(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("first", 3)
	b.create("second", 3)
	b.step()
	b.wantAdmitted(map[string]bool{"first": true, "second": false})
	b.step() // the informer has not delivered the admission yet
	b.step()
	b.wantAdmitted(map[string]bool{"second": false})
}

func TestAnAdmissionThatMovedIsDecidedAgainOnWhatTheJobIsNow(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("grown", 2)
	b.round(b.t.Context()) // decided on 2 pods …
	job, _ := b.get("grown")
	nine := int32(9)
	job.Spec.Parallelism, job.Spec.Completions = &nine, &nine
	if err := b.store.Update(t.Context(), job); err != nil { // … but it asks for 9 now
		t.Fatal(err)
	}
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"grown": false})
	b.create("other", 4) // and nothing is left of the reservation for 2
	b.step()
	b.wantAdmitted(map[string]bool{"other": true})
}

func TestAJobThatIsDeletedWhileItIsWrittenLeavesNothing(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("gone", 4)
	b.round(b.t.Context())
	job, _ := b.get("gone")
	if err := b.store.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("gone")
	b.step()
	b.create("next", 4)
	b.step()
	b.wantAdmitted(map[string]bool{"next": false}) // it may have been written, and its pods are being made
	b.now = b.now.Add(10 * time.Second)
	b.step()
	b.wantAdmitted(map[string]bool{"next": true})
}

func TestWhatTheAPIServerRefusesIsNotTriedAgainAtOnceAndHoldsNobodyUp(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	patches := 0
	b.answer = func() error {
		patches++
		return apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "refused", errors.New("some policy says no"))
	}
	b.create("refused", 4)
	b.step()
	b.answer = nil
	b.create("next", 4)
	for range 3 {
		b.step()
	}
	if patches != 1 {
		t.Errorf("%d patches were sent, want 1", patches)
	}
	b.wantAdmitted(map[string]bool{"refused": false, "next": true})

	b.begin("next")
	next, _ := b.get("next")
	if err := b.store.Delete(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	b.watch("next")
	b.now = b.now.Add(refusedPause)
	b.step()
	b.wantAdmitted(map[string]bool{"refused": true})
}

func TestAnUnknownOutcomeKeepsTheRoomUntilItIsKnown(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("unknown", 4)
	b.round(b.t.Context())
	<-b.work // the write is under way, and its answer is lost
	uid := types.UID("uid-unknown")
	b.inbox.put(func(batch *batch) {
		batch.written = append(batch.written, written{uid: uid, outcome: apply.Outcome{Status: apply.Unknown, Err: errors.New("timeout")}})
	})
	b.create("next", 4)
	b.round(b.t.Context()) // asks for the Job to be read again
	b.wantAdmitted(map[string]bool{"next": false})
	b.step() // it was not made
	b.step()
	b.step()
	if b.admitted("unknown") == b.admitted("next") {
		t.Errorf("admitted: unknown %v, next %v; want one of them", b.admitted("unknown"), b.admitted("next"))
	}
}

func TestAWaitingJobIsToldOnceWhyAndOnlyWhenTheReasonHasStood(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("first", 4)
	b.create("waits", 1)
	patches := 0
	b.answer = func() error { patches++; return nil }
	b.step()
	b.step()
	if job, _ := b.get("waits"); job.Annotations[policies.AnnotationMessage] != "" {
		t.Error("told at once, though most reasons are gone in a moment")
	}
	b.now = b.now.Add(explainAfter)
	for range 4 {
		b.step()
		b.now = b.now.Add(time.Second)
	}
	job, _ := b.get("waits")
	want := "WaitingForQuota: research uses 4 of 4 nvidia.com/gpu on gpu; 1 asked, 0 left"
	if got := job.Annotations[policies.AnnotationMessage]; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if patches != 2 { // one admission, one explanation
		t.Errorf("%d patches, want 2", patches)
	}
}

func TestADeviceOfAPodThatWasDeletedByForceIsFreeAWhileLater(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": strings.Replace(loopPolicy, ": 4}", ": 8}", 1)})
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "notebook", UID: "pod-1"}}
	taken := metav1.NewTime(b.now)
	stranger.Spec.NodeName, stranger.Status.Phase, stranger.Status.StartTime = "n1", corev1.PodRunning, &taken
	stranger.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("6")},
		Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("6")},
	}}}
	ended := stranger.DeepCopy()
	ended.Status.Phase = corev1.PodFailed
	pulling := stranger.DeepCopy() // its devices are given, and nothing runs yet
	pulling.Status.Phase = corev1.PodPending
	pulling.Spec.InitContainers, pulling.Spec.Containers = pulling.Spec.Containers, []corev1.Container{{Name: "rest"}}
	for name, last := range map[string]*corev1.Pod{"by force": stranger, "by force while pulling": pulling, "by its kubelet": ended} {
		byForce := last != ended
		job := strings.ReplaceAll(name, " ", "-")
		b.inbox.put(func(batch *batch) { batch.pods["pod-1"] = podChange{pod: stranger} })
		b.create(job, 4)
		b.step()
		b.wantAdmitted(map[string]bool{job: false})
		b.inbox.put(func(batch *batch) { batch.pods["pod-1"] = podChange{pod: last, gone: true} })
		b.step()
		b.wantAdmitted(map[string]bool{job: !byForce})
		b.now = b.now.Add(ghostStands)
		b.step()
		b.wantAdmitted(map[string]bool{job: true})
		done, _ := b.get(job)
		if err := b.store.Delete(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		b.watch(job)
	}
}

func TestQueuesArePublishedNowAndThenAndOnlyWhenTheyChanged(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	queue := func() (q v1alpha1.Queue) {
		if err := b.store.Get(t.Context(), types.NamespacedName{Name: "research"}, &q); err != nil {
			t.Fatal(err)
		}
		b.inbox.put(func(batch *batch) { batch.queues["research"] = &q })
		return q
	}
	b.step()
	first := queue()
	for i := range 3 {
		b.create(fmt.Sprintf("j%d", i), 2)
		b.step()
	}
	if now := queue(); now.ResourceVersion != first.ResourceVersion {
		t.Error("published twice within a second")
	}
	b.now = b.now.Add(statusEvery)
	b.step()
	second := queue()
	if s := second.Status; s.Admitted != 2 || s.Pending != 1 || s.Summary != "4/4 nvidia.com/gpu on gpu" || s.Head == nil || s.Head.Name != "j2" {
		t.Errorf("published %+v", s)
	}
	b.now = b.now.Add(time.Minute)
	b.step()
	if now := queue(); now.ResourceVersion != second.ResourceVersion {
		t.Error("published though nothing changed")
	}
}

func TestManyAdmissionsAtOnceAreNotAsManyEvents(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": strings.Replace(loopPolicy, "nvidia.com/gpu: 4", "nvidia.com/gpu: 400", 1)})
	b.inbox.put(func(batch *batch) { batch.nodes["n1"] = node("n1", 400) })
	noted := func() int { return len(b.Events.(*events.FakeRecorder).Events) }
	const jobs = eventsBurst + 10
	for i := range jobs {
		b.create(fmt.Sprintf("job-%d", i), 1)
	}
	b.step()
	b.step()
	for i := range jobs {
		b.wantAdmitted(map[string]bool{fmt.Sprintf("job-%d", i): true})
	}
	if got := noted(); got != eventsBurst {
		t.Errorf("%d events for %d admissions, want %d", got, jobs, eventsBurst)
	}
	b.now = b.now.Add(time.Second)
	b.create("later", 1)
	b.step()
	b.step()
	if got := noted(); got != eventsBurst+1 {
		t.Errorf("%d events, want one more, a second later", got)
	}
}

func TestASuspendedJobThatStillCountsAsStartedIsFreedOfThat(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("held", 1)
	b.create("stopping", 1)
	for name, suspension := range map[string]corev1.ConditionStatus{"held": corev1.ConditionTrue, "stopping": corev1.ConditionFalse} {
		job, _ := b.get(name)
		job.Annotations = map[string]string{policies.AnnotationHold: "true"}
		if err := b.store.Update(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		job.Status.StartTime = &metav1.Time{Time: b.now}
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: suspension}}
		if err := b.store.Status().Update(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		b.watch(name)
	}
	b.step()
	if job, _ := b.get("held"); job.Status.StartTime != nil {
		t.Errorf("a held Job keeps its start time, and with it an immutable template")
	}
	if job, _ := b.get("stopping"); job.Status.StartTime == nil {
		t.Errorf("a Job whose suspension the Job controller has not seen is touched")
	}
	patches := 0
	b.answer = func() error { patches++; return nil }
	for range 3 {
		b.step()
	}
	if patches != 0 {
		t.Errorf("%d patches more", patches)
	}
}

func TestAPodElsewhereIsNotAJobsPod(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("train", 1)
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"train": true})
	pod := func(name, namespace string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name), Labels: map[string]string{batchv1.ControllerUidLabel: "uid-train"},
		}}
		controller := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "uid-train", Controller: &controller}}
		p.Spec.NodeName, p.Status.StartTime = "n1", &metav1.Time{Time: b.now}
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		}}}
		return p
	}
	charged := func() (total int64) {
		for key, amount := range b.book.Usage() {
			if key.Resource == "nvidia.com/gpu" {
				total += amount
			}
		}
		return total
	}
	b.inbox.put(func(batch *batch) {
		batch.pods["mine"] = podChange{pod: pod("mine", "a")}
		batch.pods["forged"] = podChange{pod: pod("forged", "b")}
	})
	b.step()
	if got := charged(); got != 1 {
		t.Errorf("the queue is charged %d GPUs, want 1: the pod in namespace b is none of the Job's", got)
	}
	b.inbox.put(func(batch *batch) { batch.pods["second"] = podChange{pod: pod("second", "a")} })
	b.step()
	if got := charged(); got != 2 {
		t.Errorf("the queue is charged %d GPUs, want 2: the second pod is the Job's own", got)
	}
}

// refuseAll has the API server take no patch any more, and counts them.
func (b *bench) refuseAll() *int {
	patches := 0
	b.answer = func() error {
		patches++
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "full", nil)
	}
	return &patches
}

// stepsWithPatches takes a few rounds, after which so many were tried in all.
func (b *bench) stepsWithPatches(want int, patches *int) {
	b.t.Helper()
	for range 10 {
		b.step()
	}
	if *patches != want {
		b.t.Errorf("%d patches were tried, want %d", *patches, want)
	}
}

func TestWhatCannotBeWrittenOnAJobIsNotTriedAgainAndAgain(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("first", 4)
	b.step()
	b.step()
	b.create("full", 1)
	b.step()
	b.now = b.now.Add(explainAfter)
	patches := b.refuseAll()
	b.stepsWithPatches(1, patches)
	b.now = b.now.Add(refusedPause)
	b.stepsWithPatches(2, patches)
	b.answer = nil
	b.begin("first")
	first, _ := b.get("first")
	if err := b.store.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	b.watch("first")
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"full": true}) // it may start all the same
}

// TestAJobThatIsFullIsTakenBackAllTheSame: where nothing longer can be written on
// a Job, it is suspended without a word, and not tried again at once.
func TestAJobThatIsFullIsTakenBackAllTheSame(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("full", 4)
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"full": true})
	b.now = b.now.Add(10 * time.Minute) // no pod was ever made
	patches := b.refuseAll()
	b.stepsWithPatches(1, patches)
	b.answer = nil
	b.now = b.now.Add(refusedPause)
	b.step()
	job, _ := b.get("full")
	a := job.Annotations
	if !*job.Spec.Suspend || a[policies.AnnotationReservation] != "" || a[policies.AnnotationMessage] != "" || a[policies.AnnotationBackoff] == "" {
		t.Errorf("want it suspended, with nothing but its backoff: %v %v", *job.Spec.Suspend, a)
	}
}

func TestARoundThatDoesNotEndIsUnhealthy(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.step()
	b.now = b.now.Add(time.Hour)
	if err := b.Healthy(); err != nil {
		t.Errorf("between rounds: %v", err)
	}
	b.began.Store(b.now.UnixNano())
	b.now = b.now.Add(roundMax)
	if err := b.Healthy(); err != nil {
		t.Errorf("during a round: %v", err)
	}
	b.now = b.now.Add(time.Second)
	if b.Healthy() == nil {
		t.Error("a round that does not end is healthy")
	}
}
