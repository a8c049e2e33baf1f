package ledger

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
)

func TestLittleIsToldWhileThereIsMuchToWrite(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	const waiting = explainBurst + 10
	for i := range waiting {
		b.create(fmt.Sprintf("j%02d", i), 8)
	}
	for i := range writers + 1 { // elsewhere
		b.standing.busy[fmt.Sprint("other-", i)] = true
	}
	told := func() int {
		b.step()
		b.now = b.now.Add(explainAfter)
		b.step()
		n := 0
		for i := range waiting {
			if job, _ := b.get(fmt.Sprintf("j%02d", i)); job.Annotations[policies.AnnotationMessage] != "" {
				n++
			}
		}
		return n
	}
	if n := told(); n == 0 || n > tersePerSecond {
		t.Errorf("%d of %d were told why they wait, want some, and at most %d", n, waiting, tersePerSecond)
	}
	clear(b.standing.busy)
	b.now = b.now.Add(time.Second)
	if n := told(); n < explainBurst {
		t.Errorf("%d were told when the writers had time again, want at least %d", n, explainBurst)
	}
}

func TestWhatCannotBeToldKeepsNobodyFromStarting(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	for range toldMax {
		b.talk.work <- func(context.Context) {} // the API server takes long over each
	}
	b.create("big", 8)
	b.create("small", 1)
	for range 3 {
		b.round(t.Context())
		for len(b.work) > 0 {
			(<-b.work)(t.Context())
		}
		b.now = b.now.Add(time.Second)
	}
	b.wantAdmitted(map[string]bool{"small": true, "big": false})
	for len(b.talk.work) > 0 {
		<-b.talk.work
	}
	b.step()
	if job, _ := b.get("big"); job.Annotations[policies.AnnotationMessage] == "" {
		t.Error("the other is never told why it waits")
	}
}

func TestAQueueIsWrittenAgainBeforeTheWatchHasTold(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	queue := func() *v1alpha1.Queue {
		q := &v1alpha1.Queue{}
		if err := b.store.Get(t.Context(), types.NamespacedName{Name: "research"}, q); err != nil {
			t.Fatal(err)
		}
		return q
	}
	b.step()
	known := queue()
	b.inbox.put(func(batch *batch) { batch.queues["research"] = known })
	for i := range 3 {
		b.create(fmt.Sprintf("j%d", i), 1)
		b.now = b.now.Add(statusEvery)
		b.step() // the watch of Queues is slow
		b.now = b.now.Add(statusEvery / 2)
		b.step()
		if got, want := queue().Status.Admitted, int64(i+1); got != want {
			t.Errorf("%d admitted, want %d", got, want)
		}
	}
	if n := len(b.Events.(*events.FakeRecorder).Events); n != 3 {
		t.Errorf("%d events, want one for each admission", n)
	}
}

func TestAJobThatChangesItsQueueIsToldOfTheNewOne(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy +
		"      other: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 2}}}\n"})
	b.create("waits", 5)
	told := func() string {
		for range 4 {
			b.step()
			b.now = b.now.Add(time.Second)
		}
		job, _ := b.get("waits")
		return job.Annotations[policies.AnnotationMessage]
	}
	if got := told(); !strings.Contains(got, "; research may use at most 4") {
		t.Errorf("told %q first", got)
	}
	job, _ := b.get("waits")
	job.Labels[policies.LabelQueue] = "other"
	if err := b.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("waits")
	if got := told(); !strings.Contains(got, "; other may use at most 2") {
		t.Errorf("told %q, though it is in queue other", got)
	}
}

// Every Job that waits for its namespace is told anew once something else of it is in the
// way, and not for each pod that comes and goes there.
func TestWhatIsSaidOfANamespaceIsOfNow(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	quota := func(hard, used string) {
		q := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "gpus"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse(hard)}},
		}
		if used != "" {
			q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse(used)}}
		}
		b.inbox.put(func(batch *batch) { batch.resourceQuotas[types.NamespacedName{Namespace: "a", Name: "gpus"}] = q })
		for range 4 {
			b.step()
			b.now = b.now.Add(statusEvery)
		}
	}
	status := func() *v1alpha1.Queue {
		q := &v1alpha1.Queue{}
		if err := b.store.Get(t.Context(), types.NamespacedName{Name: "research"}, q); err != nil {
			t.Fatal(err)
		}
		return q
	}
	quota("3", "")
	known := status()
	b.inbox.put(func(batch *batch) { batch.queues["research"] = known })
	b.create("first", 2)
	b.create("second", 2)
	for _, s := range []struct{ hard, used, says string }{
		{"3", "", "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace is new: the API server has not counted yet how much requests.nvidia.com/gpu is used"},
		{"3", "2", "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 2 requests.nvidia.com/gpu asked, 2 of 3 used"},
		{"3", "3", "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 2 requests.nvidia.com/gpu asked, 2 of 3 used"},
		{"4", "3", "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 2 requests.nvidia.com/gpu asked, 3 of 4 used"},
	} {
		quota(s.hard, s.used)
		for _, name := range []string{"first", "second"} {
			if job, _ := b.get(name); job.Annotations[policies.AnnotationMessage] != s.says {
				t.Errorf("%s of %s used: %s is told %q, want %q", s.used, s.hard, name, job.Annotations[policies.AnnotationMessage], s.says)
			}
		}
		want := "is used"
		if s.used != "" {
			want = s.used + " of " + s.hard + " used"
		}
		if head := status().Status.Head; head == nil || !strings.HasSuffix(head.Message, want) {
			t.Errorf("the queue's status says %+v, want %q", head, want)
		}
	}
}
