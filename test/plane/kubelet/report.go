package kubelet

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusPatch is a strategic merge patch, bound to the pod's UID, so that it
// never lands on another pod of the same name.
func statusPatch(l *life) ([]byte, error) {
	patch := struct {
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
		Status corev1.PodStatus `json:"status"`
	}{Status: status(l)}
	patch.Metadata.UID = l.pod.UID
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the status of pod %s/%s: %w", l.pod.Namespace, l.pod.Name, err)
	}
	return text, nil
}

// status is what the kubelet says about a pod.
func status(l *life) corev1.PodStatus {
	start := metav1.NewTime(l.started)
	said := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &start, HostIP: "127.0.0.1"}
	switch {
	case l.refused != nil: // no container ever was
		said.Phase, said.Reason, said.Message = corev1.PodFailed, l.refused.reason, l.refused.message
		return said
	case l.state == ended && l.exitCode == 0:
		said.Phase = corev1.PodSucceeded
	case l.state == ended:
		said.Phase = corev1.PodFailed
	}
	said.Conditions = conditions(l)
	for _, container := range l.pod.Spec.InitContainers {
		said.InitContainerStatuses = append(said.InitContainerStatuses, initStatus(l, container))
	}
	for _, container := range l.pod.Spec.Containers {
		said.ContainerStatuses = append(said.ContainerStatuses, containerStatus(l, container))
	}
	return said
}

func conditions(l *life) []corev1.PodCondition {
	ready, reason, at := corev1.ConditionTrue, "", metav1.NewTime(l.since)
	if l.state == ended {
		ready, reason, at = corev1.ConditionFalse, "PodCompleted", metav1.NewTime(l.ended)
		if l.exitCode != 0 {
			reason = "PodFailed"
		}
	}
	started := metav1.NewTime(l.started)
	return []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: started},
		{Type: corev1.ContainersReady, Status: ready, Reason: reason, LastTransitionTime: at},
		{Type: corev1.PodReady, Status: ready, Reason: reason, LastTransitionTime: at},
	}
}

func containerStatus(l *life, container corev1.Container) corev1.ContainerStatus {
	up := l.state == running
	said := corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: "pretended://" + container.Image,
		ContainerID:  fmt.Sprintf("pretended://%s/%s/%d", l.pod.UID, container.Name, l.restarts),
		RestartCount: l.restarts, Ready: up, Started: &up,
	}
	if up {
		said.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(l.since)}
		if l.restarts > 0 {
			said.LastTerminationState.Terminated = terminated(l)
		}
		return said
	}
	said.State.Terminated = terminated(l)
	return said
}

// initStatus: ordinary init containers are done in no time, sidecars share the
// fate of the others.
func initStatus(l *life, container corev1.Container) corev1.ContainerStatus {
	if policy := container.RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
		return containerStatus(l, container)
	}
	at := metav1.NewTime(l.started)
	return corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: "pretended://" + container.Image, Ready: true,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: at, FinishedAt: at}},
	}
}

func terminated(l *life) *corev1.ContainerStateTerminated {
	reason, end := "Completed", l.ended
	if l.exitCode != 0 {
		reason = "Error"
	}
	if l.state == running { // it was restarted
		end = l.since.Add(-restartPause)
	}
	return &corev1.ContainerStateTerminated{
		ExitCode: l.exitCode, Reason: reason, StartedAt: metav1.NewTime(l.started), FinishedAt: metav1.NewTime(end),
	}
}
