package ledger

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What a decision reads beside Jobs, pods and machines wakes those who wait, too.
func TestWhoWaitsIsLookedAtAgainWhenWhatItIsReadByChanges(t *testing.T) {
	name := types.NamespacedName{Namespace: "a", Name: "default"}
	defaulted := func(gpus string) *corev1.LimitRange {
		lr := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		lr.Spec.Limits = []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"example.com/more": resource.MustParse(gpus)},
		}}
		return lr
	}
	const limited = `holdshort:
  config:
    flavors: {gpu: {}}
    queues:
      research:
        namespaces: %s
        flavors: [gpu]
        quota: {gpu: {nvidia.com/gpu: 4, example.com/more: 2}}
`
	for _, c := range []struct {
		name, namespaces string
		before, after    func(*batch)
	}{
		{
			"a LimitRange", `{all: true}`,
			func(b *batch) { b.limitRanges[name] = defaulted("3") },
			func(b *batch) { b.limitRanges[name] = nil },
		},
		{
			"a namespace", `{labels: {team: ours}}`,
			func(b *batch) { b.namespaces["a"] = namespace("a", nil) },
			func(b *batch) { b.namespaces["a"] = namespace("a", map[string]string{"team": "ours"}) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"data.yaml": fmt.Sprintf(limited, c.namespaces)})
			b.inbox.put(c.before)
			b.create("waits", 1)
			b.step()
			b.wantAdmitted(map[string]bool{"waits": false})
			b.inbox.put(c.after)
			b.step()
			b.wantAdmitted(map[string]bool{"waits": true})
		})
	}
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// A priority class that changes, or comes late, counts for who waits already.
func TestAPriorityClassThatComesLateCounts(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("first", 4)
	b.create("urgent", 4)
	job, _ := b.get("urgent")
	job.Spec.Template.Spec.PriorityClassName = "urgent"
	if err := b.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("urgent")
	b.inbox.put(func(batch *batch) {
		batch.priorityClasses["urgent"] = &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}
	})
	b.step()
	b.wantAdmitted(map[string]bool{"first": false, "urgent": true})
}
