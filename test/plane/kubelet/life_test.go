package kubelet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// t0 is when every story begins.
func t0() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func testTable(gpus int64) *table {
	object, err := NodeSpec{Name: "n", GPUs: gpus, CPU: "4"}.object(metav1.NewTime(t0()))
	if err != nil {
		panic(err)
	}
	return newTable(object)
}

// testPod asks for so many GPUs and may carry annotations, name then value.
func testPod(uid string, gpus int64, annotations ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid), Annotations: map[string]string{}},
		Spec: corev1.PodSpec{NodeName: "n", RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{ResourceGPU: *resource.NewQuantity(gpus, resource.DecimalSI)}},
		}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[annotations[i]] = annotations[i+1]
	}
	return pod
}

// deletedAt is a newer version of the pod, told to stop with some grace.
func deletedAt(pod *corev1.Pod, told time.Time, graceSeconds int64) *corev1.Pod {
	pod = pod.DeepCopy()
	killed := metav1.NewTime(told.Add(time.Duration(graceSeconds) * time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &killed, &graceSeconds
	return pod
}

// reportAll does what is due, as if all writes succeeded, and names it.
func reportAll(l *life) []string {
	var did []string
	for {
		switch l.due() {
		case nothing:
			return did
		case report:
			did = append(did, string(status(l).Phase))
			l.reported = l.changes
		case remove:
			did = append(did, "removed")
			l.removed = true
		}
	}
}

func TestALife(t *testing.T) {
	const noGrace = -1
	type moment struct {
		after time.Duration
		told  int64 // deleted just now with this grace period; 0: not
		want  []string
		used  int64 // GPUs taken on the node afterwards
	}
	cases := []struct {
		name    string
		pod     *corev1.Pod
		moments []moment
	}{
		{
			name: "a process runs for its time and succeeds",
			pod:  testPod("p", 2, AnnotationRun, "10s"),
			moments: []moment{
				{0, 0, []string{"Running"}, 2}, {9 * time.Second, 0, nil, 2}, {10 * time.Second, 0, []string{"Succeeded"}, 0},
			},
		},
		{
			name:    "an exit code makes it fail",
			pod:     testPod("p", 2, AnnotationRun, "10s", AnnotationExitCode, "3"),
			moments: []moment{{0, 0, []string{"Running"}, 2}, {10 * time.Second, 0, []string{"Failed"}, 0}},
		},
		{
			name: "told to stop, it holds its devices for the whole grace period",
			pod:  testPod("p", 2),
			moments: []moment{
				{0, 0, []string{"Running"}, 2}, {time.Minute, 30, nil, 2}, {89 * time.Second, 0, nil, 2},
				{90 * time.Second, 0, []string{"Failed", "removed"}, 0},
			},
		},
		{
			name: "or as long as it needs",
			pod:  testPod("p", 2, AnnotationStop, "3s"),
			moments: []moment{
				{0, 0, []string{"Running"}, 2}, {time.Minute, 30, nil, 2}, {63 * time.Second, 0, []string{"Failed", "removed"}, 0},
			},
		},
		{
			name: "but never longer than the grace period",
			pod:  testPod("p", 2, AnnotationStop, "1h"),
			moments: []moment{
				{0, 0, []string{"Running"}, 2}, {time.Minute, 5, nil, 2}, {65 * time.Second, 0, []string{"Failed", "removed"}, 0},
			},
		},
		{
			name: "deleted by force, it holds its devices as long as its ghost walks",
			pod:  testPod("p", 2, AnnotationGhost, "20s"),
			moments: []moment{
				{0, 0, []string{"Running"}, 2}, {time.Minute, noGrace, nil, 2}, {79 * time.Second, 0, nil, 2}, {80 * time.Second, 0, []string{"Failed", "removed"}, 0},
			},
		},
		{
			name: "a process that ends by itself while it is told to stop has succeeded",
			pod:  testPod("p", 2, AnnotationRun, "70s"),
			moments: []moment{
				{0, 0, []string{"Running"}, 2}, {time.Minute, 30, nil, 2}, {70 * time.Second, 0, []string{"Succeeded", "removed"}, 0},
			},
		},
		{
			name: "a finished pod is removed as soon as that is asked for",
			pod:  testPod("p", 2, AnnotationRun, "10s"),
			moments: []moment{
				{0, 0, []string{"Running"}, 2}, {10 * time.Second, 0, []string{"Succeeded"}, 0}, {time.Minute, 30, []string{"removed"}, 0},
			},
		},
		{
			name:    "one that is deleted before it was seen never starts",
			pod:     deletedAt(testPod("p", 2), t0(), 30),
			moments: []moment{{0, 0, []string{"Failed", "removed"}, 0}},
		},
		{
			name:    "one that does not fit fails at once",
			pod:     testPod("p", 9),
			moments: []moment{{0, 0, []string{"Failed"}, 0}, {time.Minute, 0, nil, 0}},
		},
		{
			name:    "one whose script cannot be read fails at once",
			pod:     testPod("p", 1, AnnotationRun, "soon"),
			moments: []moment{{0, 0, []string{"Failed"}, 0}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			devices, l := testTable(8), &life{pod: c.pod}
			for _, m := range c.moments {
				now := t0().Add(m.after)
				if m.told != 0 {
					l.pod = deletedAt(l.pod, now, max(0, m.told))
				}
				l.advance(devices, now)
				if diff := cmp.Diff(m.want, reportAll(l)); diff != "" {
					t.Errorf("writes after %s (-want +got):\n%s", m.after, diff)
				}
				if used := devices.used(ResourceGPU); used != m.used {
					t.Errorf("after %s the node has %d GPUs in use; want %d", m.after, used, m.used)
				}
			}
		})
	}
}

// TestAProcessDoesWhatItIsToldWhileItRuns: its machine hangs, and comes back.
func TestAProcessDoesWhatItIsToldWhileItRuns(t *testing.T) {
	table := testTable(1)
	hangs := testPod("a", 1, AnnotationStop, "1h")
	l := &life{pod: hangs}
	l.advance(table, t0())
	l.pod = deletedAt(hangs, t0(), 3600)
	l.advance(table, t0().Add(time.Minute))
	if diff := cmp.Diff([]string{"Running"}, reportAll(l)); diff != "" {
		t.Errorf("while it hangs (-want +got):\n%s", diff)
	}
	l.pod.Annotations[AnnotationStop] = "1s"
	l.advance(table, t0().Add(time.Minute))
	if diff := cmp.Diff([]string{"Failed", "removed"}, reportAll(l)); diff != "" {
		t.Errorf("when it is back (-want +got):\n%s", diff)
	}
}

func TestAFailingProcessIsRestartedWhereThePodSaysSo(t *testing.T) {
	pod := testPod("p", 1, AnnotationRun, "10s", AnnotationExitCode, "1")
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	devices, l := testTable(8), &life{pod: pod}
	l.advance(devices, t0())
	reportAll(l)
	l.advance(devices, t0().Add(11*time.Second))
	if diff := cmp.Diff([]string{"Running"}, reportAll(l)); diff != "" {
		t.Errorf("writes at the restart (-want +got):\n%s", diff)
	}
	said := status(l).ContainerStatuses[0]
	if said.RestartCount != 1 || said.LastTerminationState.Terminated == nil || said.LastTerminationState.Terminated.ExitCode != 1 {
		t.Errorf("the restart is not reported as one after exit code 1: %+v", said)
	}
	if at, ok := l.wake(); !ok || !at.Equal(t0().Add(21*time.Second)) {
		t.Errorf("it wakes at %v, %v; want 10 s after the restart, which came 1 s after the exit", at, ok)
	}
}

func TestRunningPodsOfAnEarlierFleetGoOn(t *testing.T) {
	pod, start := testPod("p", 2, AnnotationRun, "60s"), metav1.NewTime(t0().Add(-50*time.Second))
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &start
	devices, l := testTable(8), &life{pod: pod}
	l.advance(devices, t0())
	if did := reportAll(l); did != nil || devices.used(ResourceGPU) != 2 {
		t.Errorf("writes %v and %d GPUs in use; want none and 2", did, devices.used(ResourceGPU))
	}
	l.advance(devices, t0().Add(10*time.Second))
	if diff := cmp.Diff([]string{"Succeeded"}, reportAll(l)); diff != "" {
		t.Errorf("writes at the end of its minute (-want +got):\n%s", diff)
	}
}
