package history

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// world is the objects at one moment of the history.
type world struct {
	jobs  map[types.UID]*batchv1.Job
	pods  map[types.UID]*corev1.Pod
	nodes map[string]*corev1.Node
	// given is what each Job was lifted with, whatever has become of it since.
	given map[types.UID]*demand.Reservation
	// instead is what is charged for one unit of a resource.
	instead map[string]map[string]int64
}

func newWorld(instead map[string]map[string]int64) *world {
	return &world{map[types.UID]*batchv1.Job{}, map[types.UID]*corev1.Pod{}, map[string]*corev1.Node{}, map[types.UID]*demand.Reservation{}, instead}
}

func (w *world) apply(e Event) {
	switch {
	case e.Job != nil:
		w.remember(e)
		put(w.jobs, e.Job.UID, e.Job, e.Change)
	case e.Pod != nil:
		put(w.pods, e.Pod.UID, e.Pod, e.Change)
	case e.Node != nil:
		put(w.nodes, e.Node.Name, e.Node, e.Change)
	}
}

// remember the reservation of a Job at the version that lifted it, or at the
// first one that was seen of it. What it says of itself later is hearsay.
func (w *world) remember(e Event) {
	before := w.jobs[e.Job.UID]
	switch {
	case e.Change == Deleted, suspended(e.Job):
		delete(w.given, e.Job.UID)
	case before == nil, suspended(before):
		w.given[e.Job.UID] = reservation(e.Job)
	}
}

func put[K comparable, V any](objects map[K]V, key K, object V, change Change) {
	if change == Deleted {
		delete(objects, key)
		return
	}
	objects[key] = object
}

// holds: a pod holds what it asks for from its binding until it is terminal or
// gone, being deleted or not.
func holds(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && !podEnded(pod) }

func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// jobOf is the UID of the Job that controls a pod.
func jobOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Job" {
		return owner.UID
	}
	return ""
}

// asks is what a pod takes from its node: cpu in thousandths.
func asks(pod *corev1.Pod) map[string]int64 {
	amounts := count(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	amounts[string(corev1.ResourcePods)] = 1
	return amounts
}

func count(list corev1.ResourceList) map[string]int64 {
	amounts := map[string]int64{}
	for name, quantity := range list {
		amounts[string(name)] = quantity.Value()
		if name == corev1.ResourceCPU {
			amounts[string(name)] = quantity.MilliValue()
		}
	}
	return amounts
}

// queueOf a Job; none if it follows its JobSet, or is another controller's.
func queueOf(job *batchv1.Job) string {
	owner := metav1.GetControllerOf(job)
	if owner != nil && owner.Kind == "JobSet" && strings.HasPrefix(owner.APIVersion, "jobset.x-k8s.io/") {
		return ""
	}
	if by := job.Spec.ManagedBy; by != nil && *by != "" && *by != batchv1.JobControllerName {
		return ""
	}
	return job.Labels[policies.LabelQueue]
}

// suspended, the way the API server reads it.
func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// over: it is complete or failed, or its controller has decided that it will be.
func over(job *batchv1.Job) bool {
	for _, condition := range job.Status.Conditions {
		switch condition.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
			if condition.Status == corev1.ConditionTrue {
				return true
			}
		}
	}
	return false
}

// mayRun is how many pods the Job controller keeps going.
func mayRun(job *batchv1.Job) int64 {
	if over(job) || suspended(job) {
		return 0
	}
	parallelism := int64(1)
	if job.Spec.Parallelism != nil {
		parallelism = int64(*job.Spec.Parallelism)
	}
	succeeded := int64(job.Status.Succeeded)
	if counting := job.Status.UncountedTerminatedPods; counting != nil {
		succeeded += int64(len(counting.Succeeded))
	}
	if job.Spec.Completions == nil {
		if succeeded > 0 {
			return min(parallelism, int64(job.Status.Active))
		}
		return parallelism
	}
	return max(0, min(parallelism, int64(*job.Spec.Completions)-succeeded))
}

// sortedPods in an order that does not depend on the map.
func (w *world) sortedPods() []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(w.pods))
	for _, pod := range w.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return pods
}
