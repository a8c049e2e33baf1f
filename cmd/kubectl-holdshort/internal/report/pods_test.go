package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podStatus(name string, status corev1.PodStatus) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: status}
}

func ended(code int32, why string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: why}}
}

func container(c corev1.ContainerStatus) []corev1.ContainerStatus {
	c.Name = "train"
	return []corev1.ContainerStatus{c}
}

func TestTroubleOfAPod(t *testing.T) {
	waits := func(why, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why, Message: message}}
	}
	tests := map[string]struct {
		status corev1.PodStatus
		want   *Failing
	}{
		"a kubelet that refuses says so of the pod": {
			corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "Allocate failed\n due to no devices"},
			&Failing{Reason: "UnexpectedAdmissionError", Message: "Allocate failed due to no devices"},
		},
		"a container that ended with an error has a code": {
			corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: container(corev1.ContainerStatus{State: ended(137, "OOMKilled")})},
			&Failing{Reason: "OOMKilled", Message: "container train exited with 137", ExitCode: 137},
		},
		"one that is restarted over and over says how it ended": {
			corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: container(corev1.ContainerStatus{
				State: waits("CrashLoopBackOff", "back-off"), LastTerminationState: ended(1, "Error"), RestartCount: 4,
			})},
			&Failing{Reason: "Error", Message: "container train exited with 1, restarted 4×", ExitCode: 1},
		},
		"an image that can't be had": {
			corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: container(corev1.ContainerStatus{State: waits("ImagePullBackOff", "no such image")})},
			&Failing{Reason: "ImagePullBackOff", Message: "container train: no such image"},
		},
		"no node": {
			corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"},
			}},
			&Failing{Reason: "Unschedulable", Message: "0/3 nodes"},
		},
		"a drained node": {
			corev1.PodStatus{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "drain"},
			}},
			&Failing{Reason: "EvictionByEvictionAPI", Message: "drain"},
		},
		"a failure that nobody explains": {corev1.PodStatus{Phase: corev1.PodFailed}, &Failing{Reason: "Failed"}},
		"a container that is being made": {
			corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: container(corev1.ContainerStatus{State: waits("ContainerCreating", "")})}, nil,
		},
		"one that runs again is well": {
			corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: container(corev1.ContainerStatus{
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: ended(1, "Error"), RestartCount: 1,
			})}, nil,
		},
		"one that is through is well": {
			corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: container(corev1.ContainerStatus{State: ended(0, "Completed")})}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podStatus("p", test.status)
			if diff := cmp.Diff(test.want, trouble(&pod)); diff != "" {
				t.Errorf("trouble (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodThatWasToldToEndIsNoTrouble(t *testing.T) {
	pod := podStatus("p", corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: container(corev1.ContainerStatus{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	})})
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if f := trouble(&pod); f != nil {
		t.Errorf("trouble: %+v", f)
	}
}

func TestPodsThatFailAlikeAreOneLine(t *testing.T) {
	oom := corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: container(corev1.ContainerStatus{State: ended(137, "OOMKilled")})}
	evicted := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: message}
	}
	got := failing([]corev1.Pod{
		podStatus("a", oom), podStatus("b", evicted("node n1 was low on memory")), podStatus("c", evicted("node n2 was low on memory")),
	})
	want := []Failing{
		{Pods: 2, Pod: "b", Reason: "Evicted", Message: "node n1 was low on memory"},
		{Pods: 1, Pod: "a", Reason: "OOMKilled", Message: "container train exited with 137", ExitCode: 137},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failing (-want +got):\n%s", diff)
	}
}

func TestOneLineIsCutBetweenCharacters(t *testing.T) {
	got := oneLine(strings.Repeat("ä", messageMax+1))
	if want := strings.Repeat("ä", messageMax) + "…"; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}
