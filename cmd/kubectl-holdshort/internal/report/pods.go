package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// countPods counts pods by what they do. A terminating one still holds what it
// has, whatever its phase.
func countPods(pods []corev1.Pod) *PodCounts {
	counts := &PodCounts{}
	for i := range pods {
		switch phase := pods[i].Status.Phase; {
		case phase == corev1.PodSucceeded:
			counts.Succeeded++
		case phase == corev1.PodFailed:
			counts.Failed++
		case pods[i].DeletionTimestamp != nil:
			counts.Terminating++
		case phase == corev1.PodRunning:
			counts.Running++
		default:
			counts.Pending++
		}
	}
	return counts
}

// failing is what is wrong with pods, those together that have the same reason;
// the most frequent first. The words are those of one of them.
func failing(pods []corev1.Pod) []Failing {
	var list []Failing
	for i := range pods {
		f := trouble(&pods[i])
		if f == nil {
			continue
		}
		same := func(other Failing) bool { return other.Reason == f.Reason && other.ExitCode == f.ExitCode }
		if at := slices.IndexFunc(list, same); at >= 0 {
			list[at].Pods++
			continue
		}
		f.Pods, f.Pod = 1, pods[i].Name
		list = append(list, *f)
	}
	slices.SortStableFunc(list, func(a, b Failing) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return list
}

// trouble is what is wrong with a pod; nil if nothing is, or if it has been told
// to end.
func trouble(pod *corev1.Pod) *Failing {
	failed := pod.Status.Phase == corev1.PodFailed
	if pod.Status.Phase == corev1.PodSucceeded || !failed && pod.DeletionTimestamp != nil {
		return nil
	}
	// The kubelet's own refusals and evictions are said of the whole pod.
	if failed && pod.Status.Reason != "" {
		return &Failing{Reason: pod.Status.Reason, Message: oneLine(pod.Status.Message)}
	}
	for _, containers := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range containers {
			if f := containerTrouble(&containers[i]); f != nil {
				return f
			}
		}
	}
	for _, c := range pod.Status.Conditions {
		disrupted := c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
		unplaced := c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		if disrupted || unplaced {
			return &Failing{Reason: c.Reason, Message: oneLine(c.Message)}
		}
	}
	if failed {
		return &Failing{Reason: "Failed", Message: oneLine(pod.Status.Message)}
	}
	return nil
}

// containerTrouble is a container that cannot start, or that ended with an error.
func containerTrouble(c *corev1.ContainerStatus) *Failing {
	ended := c.State.Terminated
	if ended == nil {
		ended = c.LastTerminationState.Terminated
	}
	if ended != nil && ended.ExitCode != 0 && c.State.Running == nil {
		text := fmt.Sprintf("container %s exited with %d", c.Name, ended.ExitCode)
		if c.RestartCount > 0 {
			text += fmt.Sprintf(", restarted %d×", c.RestartCount)
		}
		if said := oneLine(ended.Message); said != "" {
			text += ": " + said
		}
		return &Failing{Reason: cmp.Or(ended.Reason, "Error"), Message: text, ExitCode: ended.ExitCode}
	}
	if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
		text := "container " + c.Name
		if said := oneLine(w.Message); said != "" {
			text += ": " + said
		}
		return &Failing{Reason: w.Reason, Message: text}
	}
	return nil
}

// messageMax is enough of what a kubelet or container says to know what it is.
const messageMax = 240

// oneLine is the text without line breaks, and not too much of it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > messageMax {
		return string(runes[:messageMax]) + "…"
	}
	return text
}
