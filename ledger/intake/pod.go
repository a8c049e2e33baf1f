package intake

import (
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// legacyControllerUID is the label that selects a Job's pods where the one with a
// prefix does not.
const legacyControllerUID = "controller-uid"

// Pod reads any pod of the cluster; nil for one that is over, which holds
// nothing. A deleting pod still holds what it has. For perDevice, see Env.
func Pod(pod *corev1.Pod, perDevice map[string]string) *supply.Pod {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	// What is wrong with a live pod's amounts changes nothing: it is there, and
	// charged as much as can be counted.
	counted := *pod
	counted.Spec.Containers = forEachDevice(pod.Spec.Containers, perDevice)
	counted.Spec.InitContainers = forEachDevice(pod.Spec.InitContainers, perDevice)
	held, _ := requests(&counted, resourcehelpers.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	result := &supply.Pod{
		UID:       string(pod.UID),
		Namespace: pod.Namespace,
		Name:      pod.Name,
		Node:      pod.Spec.NodeName,
		Requests:  held,
		JobUID:    jobUID(pod),
		Labels:    pod.Labels,
		Queue:     queue(pod),
		Flavors:   flavors(pod),
		Gated:     len(pod.Spec.SchedulingGates) > 0,
		Started:   pod.Status.StartTime != nil,
		Created:   nanoseconds(pod.CreationTimestamp),
		Deleting:  pod.DeletionTimestamp != nil,
		Limits:    limits(pod, resourcehelpers.PodResourcesOptions{UseStatusResources: true}),
		Terms:     terms(&pod.Spec),
	}
	result.Terms.Unset = 0 // it was let in
	if result.Node != "" { // its affinity is not kept; the API server has counted it before
		result.Terms.CrossNamespace = false
	}
	if result.Deleting {
		result.DeletingSince = deletingSince(pod)
	}
	if result.Node != "" {
		result.BoundSince = result.Created // unless somebody says later
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && result.Node != "":
			result.BoundSince = max(result.BoundSince, nanoseconds(c.LastTransitionTime))
		case c.Type == corev1.PodReady:
			result.Ready = c.Status == corev1.ConditionTrue
		case homeless(&c):
			result.UnschedulableSince = nanoseconds(c.LastTransitionTime)
		}
	}
	if result.Node == "" {
		result.Priority = priorityOf(&pod.Spec)
		result.Nominated = pod.Status.NominatedNodeName
		result.Place = place(&pod.Spec, siblings{pod.Namespace, pod.Labels}, tying(&pod.Spec))
	} else {
		result.Place.Once = hostPorts(&pod.Spec)
		result.Place.Apart, _ = apart(pod.Spec.Affinity, siblings{pod.Namespace, pod.Labels})
	}
	return result
}

// homeless: no node will do for the pod, or the scheduler failed on it.
func homeless(c *corev1.PodCondition) bool {
	return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
		(c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulerError)
}

// deletingSince is when a pod was told to go. What is written on it is when it is to
// be gone: that much later than its grace period says.
func deletingSince(pod *corev1.Pod) int64 {
	grace := int64(0)
	if given := pod.DeletionGracePeriodSeconds; given != nil {
		grace = max(0, *given)
	}
	return resource.Sub(nanoseconds(*pod.DeletionTimestamp), resource.Mul(int64(time.Second), grace))
}

// jobUID is the UID of the batch Job whose controller counts the pod as its own:
// both the reference and the label say so. The UID is what counts: a reference to
// a Job that was deleted and made anew names the old one.
func jobUID(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "Job" {
		return ""
	}
	if schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group != "batch" {
		return ""
	}
	for _, key := range []string{batchv1.ControllerUidLabel, legacyControllerUID} {
		if pod.Labels[key] == string(owner.UID) {
			return string(owner.UID)
		}
	}
	return ""
}

// queue that the pod is labelled with; empty if there can be no such queue.
func queue(pod *corev1.Pod) string {
	if name := pod.Labels[policies.LabelQueue]; isName(name) {
		return name
	}
	return ""
}

// flavors that the ledger wrote into the template; nil if it did not.
func flavors(pod *corev1.Pod) map[string]string {
	text, ok := pod.Annotations[policies.AnnotationFlavors]
	if !ok {
		return nil
	}
	var byResource map[string]string
	if json.Unmarshal([]byte(text), &byResource) != nil || !areNames(byResource) {
		return nil
	}
	return byResource
}

func priorityOf(spec *corev1.PodSpec) int64 {
	if spec.Priority == nil {
		return 0
	}
	return int64(*spec.Priority)
}
