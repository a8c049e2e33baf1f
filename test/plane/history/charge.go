package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// row is what a limit is about.
type row struct{ queue, flavor, resource string }

type charges map[row]int64

// reservation of a Job, nil unless it names this very Job.
func reservation(job *batchv1.Job) *demand.Reservation {
	text, ok := job.Annotations[policies.AnnotationReservation]
	if !ok {
		return nil
	}
	r := &demand.Reservation{}
	if json.Unmarshal([]byte(text), r) != nil || r.UID != string(job.UID) {
		return nil
	}
	return r
}

// charged sums up all queues. A Job that was admitted and runs is charged
// max(what it may run, what its pods hold). Any other pod that an admission has
// marked is charged what it holds, bound or not, till it is over: an orphan that
// has no node yet is given one by the scheduler all the same.
func (w *world) charged() charges {
	sum, holding := charges{}, map[types.UID]charges{}
	for _, pod := range w.pods {
		into := sum
		if owner := w.owner(pod); owner != nil && w.admitted(owner) {
			if holding[owner.UID] == nil {
				holding[owner.UID] = charges{}
			}
			into = holding[owner.UID]
		}
		into.addPod(pod, w.instead)
	}
	for uid, job := range w.jobs {
		if w.admitted(job) {
			sum.addLarger(w.claim(job), holding[uid])
		}
	}
	return sum
}

// holders is who holds how much of a row, a line each.
func (w *world) holders(k row) string {
	var lines []string
	for _, pod := range w.pods {
		own := charges{}
		if own.addPod(pod, w.instead); own[k] > 0 {
			lines = append(lines, fmt.Sprintf("pod %s of %s holds %d: %s on %q, deleted: %v", pod.Name, jobOf(pod), own[k],
				pod.Status.Phase, pod.Spec.NodeName, pod.DeletionTimestamp != nil))
		}
	}
	for _, job := range w.jobs {
		if w.admitted(job) && w.claim(job)[k] > 0 {
			lines = append(lines, fmt.Sprintf("Job %s (%s) may run %d: %d active, %d succeeded, conditions %v", job.Name, job.UID,
				w.claim(job)[k], job.Status.Active, job.Status.Succeeded, job.Status.Conditions))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// owner is the Job that controls a pod, nil if there is none: what a pod says of
// a Job elsewhere is not true.
func (w *world) owner(pod *corev1.Pod) *batchv1.Job {
	job := w.jobs[jobOf(pod)]
	if job == nil || job.Namespace != pod.Namespace {
		return nil
	}
	return job
}

// admitted: one that is being deleted gets no more pods, and an orphaning deletion
// lets go of those that it has while it is still there.
func (w *world) admitted(job *batchv1.Job) bool {
	return w.given[job.UID] != nil && !suspended(job) && !over(job) && job.DeletionTimestamp == nil
}

// claim is what an admitted Job may run, by the requests it was admitted with.
func (w *world) claim(job *batchv1.Job) charges {
	claimed := charges{}
	r := w.given[job.UID]
	for _, set := range r.PodSets {
		claimed.add(r.Queue, set.Flavors, set.Requests.Times(mayRun(job)), w.instead)
	}
	return claimed
}

// addPod charges a pod by what the admission wrote into its template.
func (c charges) addPod(pod *corev1.Pod, instead map[string]map[string]int64) {
	queue, flavors := pod.Labels[policies.LabelQueue], map[string]string{}
	if queue == "" || podEnded(pod) || json.Unmarshal([]byte(pod.Annotations[policies.AnnotationFlavors]), &flavors) != nil {
		return
	}
	c.add(queue, flavors, asks(pod), instead)
}

// add charges amounts, each as what the policy charges instead of it. Where that has no
// flavor of its own, another policy was in force then, and it is that of what was asked.
func (c charges) add(queue string, flavors map[string]string, takes map[string]int64, instead map[string]map[string]int64) {
	for name, amount := range takes {
		units := instead[name]
		if len(units) == 0 {
			units = map[string]int64{name: 1}
		}
		for unit, each := range units {
			flavor, charged := flavors[unit]
			if !charged {
				flavor, charged = flavors[name]
			}
			if charged {
				c[row{queue, flavor, unit}] += amount * each
			}
		}
	}
}

func (c charges) addLarger(a, b charges) {
	for k, amount := range a {
		c[k] += max(amount, b[k])
	}
	for k, amount := range b {
		if _, both := a[k]; !both {
			c[k] += amount
		}
	}
}
