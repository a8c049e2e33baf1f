package ledger

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/policies"
)

// A pod asks for more than was booked: that is told once, also when a manager that
// begins anew sees the same pod for the first time.
func TestAPodThatAsksForMoreIsToldOfOnce(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("train", 2)
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"train": true})
	b.begin("train")
	told := func() (notes []string) {
		list := &eventsv1.EventList{}
		if err := b.store.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Regarding.UID != "uid-train" || e.Regarding.Name != "train" || e.Regarding.Kind != "Job" || e.Type != corev1.EventTypeWarning {
				t.Errorf("an event about %+v", e.Regarding)
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		return notes
	}
	wants := func(n int) {
		t.Helper()
		want := []string{"RequestsDiffer: a pod asks for 2 nvidia.com/gpu, 1 was booked; its pods are counted by that. " +
			"Try: find what changes pods (a webhook, a policy), or ask for it in the Job"}[:n]
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	see := func(name, gpus string) {
		job, _ := b.get("train")
		controller := true
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, UID: "pod-1",
			Labels:          map[string]string{batchv1.ControllerUidLabel: "uid-train", policies.LabelQueue: "research"},
			Annotations:     map[string]string{policies.AnnotationFlavors: job.Spec.Template.Annotations[policies.AnnotationFlavors]},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "uid-train", Controller: &controller}},
		}}
		pod.Spec.NodeName, pod.Status.StartTime = "n1", &metav1.Time{Time: b.now}
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)},
		}}}
		b.inbox.put(func(batch *batch) { batch.pods[pod.UID] = podChange{pod: pod} })
		b.step()
		b.step()
	}
	see("pod-1", "1")
	wants(0)
	see("pod-1", "2")
	wants(1)
	again := New(b.Options)
	again.writer, again.since = b.writer, b.since
	b.Loop = again
	b.inbox.put(func(batch *batch) {
		batch.namespaces["a"] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		batch.nodes["n1"] = node("n1", 8)
	})
	b.watch("train")
	see("pod-1", "2")
	if of := b.book.HasDifferences(); of {
		t.Error("the one who began anew has not told it")
	}
	wants(1)
	if job, _ := b.get("train"); *job.Spec.Suspend {
		t.Error("it is taken back")
	}
}
