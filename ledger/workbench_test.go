package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	t       testing.TB
	store   client.WithWatch
	now     time.Time
	answer  func() error         // of the next patches of Jobs; nil: carry out
	second  *bundle              // of the shadow, if there is one
	metrics *prometheus.Registry // its own
}

const loopPolicy = `holdshort:
  config:
    flavors: {gpu: {}}
    queues:
      research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}
`

func newBench(t testing.TB, files map[string]string) *bench {
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
	policy := engine.New(engine.Options{Now: func() time.Time { return b.now }})
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
		"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI), "pods": resource.MustParse("1000"),
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

// jobOf stores a suspended Job of one such pod, and lets the loop see it.
func (b *bench) jobOf(name, spec string) {
	b.t.Helper()
	suspended, one := true, int32(1)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(b.now),
		Labels: map[string]string{policies.LabelQueue: "research", policies.LabelState: policies.StateQueued},
	}}
	job.Spec.Suspend, job.Spec.Parallelism, job.Spec.Completions = &suspended, &one, &one
	job.Spec.Template.Spec = *parsed[corev1.PodSpec](b.t, spec)
	if err := b.store.Create(b.t.Context(), job); err != nil {
		b.t.Fatal(err)
	}
	b.watch(name)
}

// watch delivers the newest state of a Job, as an informer would.
func (b *bench) watch(name string) {
	job, found := b.get(name)
	if !found {
		job = b.last(types.UID("uid-" + name))
	}
	if job != nil {
		b.markJob(job, !found)
	}
}

// last is what a Job was when it was last delivered.
func (b *bench) last(uid types.UID) *batchv1.Job {
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	if job := b.inbox.next.jobs[uid]; job != nil {
		return job
	}
	if t := b.jobs[uid]; t != nil {
		return t.raw
	}
	return nil
}

// begin has the Job controller say that it has begun a Job.
func (b *bench) begin(name string) {
	b.t.Helper()
	job, _ := b.get(name)
	job.Status.StartTime = &metav1.Time{Time: b.now}
	if err := b.store.Status().Update(b.t.Context(), job); err != nil {
		b.t.Fatal(err)
	}
	b.watch(name)
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
	for len(b.work)+len(b.talk.work) > 0 {
		select {
		case write := <-b.work:
			write(b.t.Context())
		case write := <-b.talk.work:
			write(b.t.Context())
		}
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
