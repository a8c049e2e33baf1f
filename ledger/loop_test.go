package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// bench is a loop whose rounds and writers run when the test says so, against a
// store that the test can make answer with errors.
type bench struct {
	*Loop
	t      *testing.T
	store  client.WithWatch
	now    time.Time
	answer func() error // of the next patches of Jobs; nil: carry out
}

const loopPolicy = `holdshort:
  config:
    flavors: {gpu: {}}
    queues:
      research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}
`

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{t: t, now: time.Unix(1_800_000_000, 0)}
	b.store = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Queue{}).Build()
	scripted := interceptor.NewClient(b.store, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if b.answer != nil {
				if err := b.answer(); err != nil {
					return err
				}
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	})
	policy := engine.New(engine.Options{})
	bundle := engine.Bundle{Source: "test", Files: map[string][]byte{}}
	for name, text := range files {
		bundle.Files[name] = []byte(text)
	}
	if _, err := policy.Activate(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	b.Loop = New(Options{
		Client: scripted, Events: events.NewFakeRecorder(1000), Policy: policy.Active,
		Now: func() time.Time { return b.now }, Log: logr.Discard(),
	})
	b.writer = apply.Writer{Client: scripted, Retry: time.Microsecond, RetryMax: time.Microsecond}
	b.since = b.now
	b.inbox.put(func(batch *batch) {
		batch.namespaces["a"] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		batch.nodes["n1"] = node("n1", 8)
	})
	return b
}

func node(name string, gpus int64) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = corev1.ResourceList{
		"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI), "pods": resource.MustParse("100"),
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// create stores a suspended Job of gpus pods with one GPU each, and lets the
// loop see it.
func (b *bench) create(name string, gpus int32) {
	b.t.Helper()
	suspended := true
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(b.now),
		Labels: map[string]string{policies.LabelQueue: "research", policies.LabelState: policies.StateQueued},
	}}
	job.Spec.Suspend, job.Spec.Parallelism, job.Spec.Completions = &suspended, &gpus, &gpus
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
	}}}
	if err := b.store.Create(b.t.Context(), job); err != nil {
		b.t.Fatal(err)
	}
	b.watch(name)
}

// watch delivers the newest state of a Job, as an informer would.
func (b *bench) watch(name string) {
	job, found := b.get(name)
	b.inbox.put(func(batch *batch) {
		if found {
			batch.jobs[job.UID] = job
		} else {
			batch.jobs[types.UID("uid-"+name)] = nil
		}
	})
}

func (b *bench) get(name string) (*batchv1.Job, bool) {
	b.t.Helper()
	job := &batchv1.Job{}
	err := b.store.Get(b.t.Context(), types.NamespacedName{Namespace: "a", Name: name}, job)
	if err != nil && !apierrors.IsNotFound(err) {
		b.t.Fatal(err)
	}
	return job, err == nil
}

// step is one round, then everything that the writers have to do.
func (b *bench) step() {
	b.t.Helper()
	b.round(b.t.Context())
	for len(b.work) > 0 {
		(<-b.work)(b.t.Context())
	}
	if err := b.book.SelfCheck(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) admitted(name string) bool {
	job, found := b.get(name)
	return found && !*job.Spec.Suspend && job.Annotations[policies.AnnotationReservation] != ""
}

func (b *bench) wantAdmitted(want map[string]bool) {
	b.t.Helper()
	for name, is := range want {
		if got := b.admitted(name); got != is {
			b.t.Errorf("%s is admitted: %v, want %v", name, got, is)
		}
	}
}

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

func TestAHoldRuleIsAskedForAndItsNoIsNotAskedAnewEachRound(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": loopPolicy,
		"freeze.rego": `package holdshort.policy

hold contains {"code": "ops.example/Freeze", "message": "not before noon", "until_ns": 1800000060000000000} if {
	input.workload.name == "frozen"
	input.now_ns < 1800000060000000000
}
`,
	})
	b.create("frozen", 3)
	b.create("free", 1)
	b.step()
	b.wantAdmitted(map[string]bool{"frozen": false, "free": true})
	b.now = b.now.Add(explainAfter)
	b.step()
	job, _ := b.get("frozen")
	if got := job.Annotations[policies.AnnotationMessage]; got == "" || job.Labels[policies.LabelState] != policies.StateHeld {
		t.Errorf("told %q, state %q; want HeldByPolicy and held", got, job.Labels[policies.LabelState])
	}
	b.now = time.Unix(1_800_000_060, 0)
	b.step()
	b.wantAdmitted(map[string]bool{"frozen": true})
}

func TestAPolicyThatFailsForOneJobHoldsThatOneOnly(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": loopPolicy,
		"broken.rego": `package holdshort.policy

deny contains {"code": "team.example/Bad", "message": "x"} if to_number(input.workload.labels.size) > 1
`,
	})
	b.create("fine", 1)
	b.create("broken", 1)
	job, _ := b.get("broken")
	job.Labels["size"] = "many"
	if err := b.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("broken")
	b.step()
	b.wantAdmitted(map[string]bool{"fine": true, "broken": false})
	b.now = b.now.Add(explainAfter)
	b.step()
	job, _ = b.get("broken")
	message := job.Annotations[policies.AnnotationMessage]
	for _, part := range []string{"PolicyError", "broken.rego:3"} {
		if !strings.Contains(message, part) {
			t.Errorf("the message does not say %s: %q", part, message)
		}
	}
}

func TestADeviceOfAPodThatWasDeletedByForceIsFreeAWhileLater(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": strings.Replace(loopPolicy, ": 4}", ": 8}", 1)})
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "notebook", UID: "pod-1"}}
	stranger.Spec.NodeName, stranger.Status.Phase = "n1", corev1.PodRunning
	stranger.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("6")},
		Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("6")},
	}}}
	ended := stranger.DeepCopy()
	ended.Status.Phase = corev1.PodFailed
	for name, last := range map[string]*corev1.Pod{"by force": stranger, "by its kubelet": ended} {
		byForce := last == stranger
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

func TestASlowHoldRuleHoldsTheJobsThatItIsAboutAndNobodyElseUp(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": strings.Replace(loopPolicy, ": 4}", ": 8}", 1),
		"slow.rego": `package holdshort.policy

hold contains {"code": "ops.example/Slow", "message": "never said"} if {
	startswith(input.workload.name, "slow")
	count(numbers.range(1, 30000000)) < 0
}
`,
	})
	b.Now = time.Now // the budget is of real time
	b.since = time.Now()
	for i := range 5 {
		b.create(fmt.Sprintf("slow-%d", i), 1)
	}
	b.create("z-fast", 1)
	started := time.Now()
	for !b.admitted("z-fast") && time.Since(started) < time.Minute {
		b.step()
	}
	b.wantAdmitted(map[string]bool{"z-fast": true, "slow-0": false})
	rounds := 0
	for ; rounds < 3; rounds++ {
		b.step()
	}
	if b.admitted("slow-1") {
		t.Error("a Job is admitted whose rule never answered")
	}
}

func TestQueuesArePublishedOnceASecondAndOnlyWhenTheyChanged(t *testing.T) {
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
