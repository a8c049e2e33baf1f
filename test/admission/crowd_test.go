//go:build plane

package admission_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/policies"
)

// keysOf makes so many keys, as short as they may be: an object has room for a
// great many of them.
func keysOf(n int) map[string]string {
	keys := map[string]string{}
	for i := range n {
		keys[fmt.Sprintf("k%04x", i)] = ""
	}
	return keys
}

func ownersOf(n int) []metav1.OwnerReference {
	owners := make([]metav1.OwnerReference, n)
	for i := range owners {
		owners[i] = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "t", UID: types.UID(fmt.Sprint(i))}
	}
	return owners
}

// tooMuch are the ways to carry more than a Job in a queue may.
func tooMuch() map[string]func(*batchv1.Job) {
	return map[string]func(*batchv1.Job){
		"labels":                          func(job *batchv1.Job) { job.Labels = keysOf(1001) },
		"annotations":                     func(job *batchv1.Job) { job.Annotations = keysOf(1001) },
		"labels of the pod template":      func(job *batchv1.Job) { job.Spec.Template.Labels = keysOf(1001) },
		"annotations of the pod template": func(job *batchv1.Job) { job.Spec.Template.Annotations = keysOf(1001) },
		// A parent among them hides it from nobody.
		"owner references": func(job *batchv1.Job) {
			yes := true
			set := metav1.OwnerReference{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "s", UID: "u", Controller: &yes}
			job.OwnerReferences = append(ownersOf(100), set)
		},
	}
}

func crowdedJob(name string, crowd func(*batchv1.Job)) *batchv1.Job {
	job, yes := newJob(name), true
	job.Spec.Suspend = &yes
	crowd(job)
	if job.Labels == nil {
		job.Labels = map[string]string{"app": "x"} // without any, it gets those of its template
	}
	return job
}

// crowdedAtCreation: a Job that carries too much is not created in a queue, and
// no matter to us in none.
func (w *world) crowdedAtCreation(t *testing.T) {
	jobs, dry := w.alice.BatchV1().Jobs("research"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for what, crowd := range tooMuch() {
		t.Run(what, func(t *testing.T) {
			job := crowdedJob("crowded", crowd)
			_, err := jobs.Create(t.Context(), job, dry)
			refused(t, err, "")
			job.Labels[policies.LabelQueue] = "q"
			_, err = jobs.Create(t.Context(), job, dry)
			refused(t, err, "has too many "+what)
		})
	}
	t.Run("as much as it may carry", func(t *testing.T) {
		job := crowdedJob("full", func(job *batchv1.Job) {
			job.Labels, job.Annotations = keysOf(990), keysOf(990)
			job.Spec.Template.Annotations, job.OwnerReferences = keysOf(1000), ownersOf(100)
		})
		job.Labels[policies.LabelQueue] = "q"
		_, err := jobs.Create(t.Context(), job, dry)
		refused(t, err, "")
	})
}

// crowded: it does not come to carry too much in its queue, nor enters one so,
// unless the garbage collector leaves it there.
func (w *world) crowded(t *testing.T) {
	ctx := t.Context()
	for what, crowd := range tooMuch() {
		t.Run(what, func(t *testing.T) {
			name := jobName(t)
			w.create(t, w.alice, crowdedJob(name, crowd))
			refused(t, w.patch(ctx, w.alice, name, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`), "has too many "+what)
		})
	}
	name := "grows-a-crowd"
	w.queued(t, name)
	more, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": keysOf(1001)}})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, w.patch(ctx, w.alice, name, string(more)), "has too many labels")
	if err := w.patch(ctx, w.root, name, string(more)); err != nil {
		t.Fatal(err)
	}
	refused(t, w.patch(ctx, w.alice, name, `{"metadata":{"labels":{"another":"x"}}}`), "has too many labels")
	refused(t, w.patch(ctx, w.alice, name, `{"metadata":{"labels":{"k0001":null},"annotations":{"mine":"x"},"finalizers":["`+finalizer+`"]}}`), "")
	refused(t, w.patch(ctx, w.alice, name, `{"metadata":{"finalizers":null}}`), "")
	for _, forged := range []string{`"labels":{"holdshort.dev/state":"admitted"}`, `"annotations":{"holdshort.dev/reservation":"{}"}`} {
		refused(t, w.patch(ctx, w.alice, name, `{"metadata":{`+forged+`}}`), "Only holdshort writes")
	}

	name = "orphan-of-a-crowd"
	w.waiting(t, name, true, "")
	if err := w.patch(ctx, w.alice, name, string(more)); err != nil {
		t.Fatal(err)
	}
	const orphan = `{"metadata":{"ownerReferences":null}}`
	refused(t, w.patch(ctx, w.alice, name, orphan), "has too many labels")
	refused(t, w.patch(ctx, w.as(t, collector), name, orphan), "")

	name = "pod-of-a-crowd"
	w.admitted(t, name)
	pod := w.podOf(t, name)
	pod.OwnerReferences = append(pod.OwnerReferences, ownersOf(100)...)
	_, err = w.alice.CoreV1().Pods("research").Update(ctx, pod, metav1.UpdateOptions{})
	refused(t, err, "stays with its Job")
}

// inTime: what somebody put into a queue with thousands of labels, or owners, is
// written to and deleted as fast as if it were in none.
func (w *world) inTime(t *testing.T) {
	for what, crowd := range map[string]func(*batchv1.Job){
		"labels": func(job *batchv1.Job) { job.Labels = keysOf(20_000) },
		"template": func(job *batchv1.Job) {
			job.Spec.Template.Labels, job.Spec.Template.Annotations = keysOf(10_000), keysOf(10_000)
		},
		"owners": func(job *batchv1.Job) { job.OwnerReferences = ownersOf(7000) },
	} {
		t.Run(what, func(t *testing.T) {
			plain, ours := crowdedJob("plain-"+what, crowd), crowdedJob("ours-"+what, crowd)
			ours.Labels[policies.LabelQueue] = "q"
			for _, job := range []*batchv1.Job{plain, ours} {
				w.create(t, w.root, job)
			}
			without, with := w.timeOfWrite(t, plain.Name), w.timeOfWrite(t, ours.Name)
			t.Logf("a write takes %s, in a queue %s", without, with)
			if with > 3*without+time.Second/2 {
				t.Errorf("a write takes %s in a queue, and %s in none", with, without)
			}
		})
	}
	orphan := metav1.DeletePropagationOrphan
	for _, name := range []string{"ours-labels", "ours-template"} {
		if err := w.alice.BatchV1().Jobs("research").Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the Job to be gone", func() error {
			return stillThere(w.alice.BatchV1().Jobs("research").Get(t.Context(), name, metav1.GetOptions{}))
		})
	}
}

// timeOfWrite is the shortest of some: others use the machine as well.
func (w *world) timeOfWrite(t *testing.T, name string) time.Duration {
	t.Helper()
	shortest := time.Hour
	for i := range 4 {
		began := time.Now()
		if err := w.patch(t.Context(), w.alice, name, fmt.Sprintf(`{"metadata":{"annotations":{"i":"%d"}}}`, i)); err != nil {
			t.Fatal(err)
		}
		shortest = min(shortest, time.Since(began))
	}
	return shortest
}
