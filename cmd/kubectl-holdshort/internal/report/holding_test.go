package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

const gpu = "nvidia.com/gpu"

// queueJob is a Job of the queue research that waits for 2 GPUs of h100.
func queueJob(namespace, name string, change ...func(*batchv1.Job)) batchv1.Job {
	job := batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: uidOf(name), Annotations: map[string]string{},
			Labels: map[string]string{policies.LabelQueue: "research", policies.LabelState: policies.StateQueued},
		},
		Spec: batchv1.JobSpec{Suspend: new(true), Parallelism: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "i", Resources: asking(1)}},
		}}},
	}
	for _, f := range change {
		f(&job)
	}
	return job
}

func uidOf(name string) types.UID { return types.UID("uid-" + name) }

func asking(gpus int64) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI)}}
}

func admittedOn(flavor string, pods int) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		run(j)
		j.Annotations[policies.AnnotationReservation] = fmt.Sprintf(`{"uid":%q,"queue":"research","time":1,"podSets":[`+
			`{"name":"main","count":%d,"requests":{"nvidia.com/gpu":1,"pods":1},"flavors":{"nvidia.com/gpu":%q,"pods":%q}}]}`,
			j.UID, pods, flavor, flavor)
	}
}

func bypassed(j *batchv1.Job) {
	run(j)
	j.Annotations[policies.AnnotationBypass] = "incident 7"
}

// gpuPod is a pod of a Job, as its controller made it.
func gpuPod(namespace, job string, ending bool) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: job + "-0", Namespace: namespace, UID: uidOf("pod-of-" + job),
			Labels:          map[string]string{batchv1.JobNameLabel: job, batchv1.ControllerUidLabel: string(uidOf(job))},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, UID: uidOf(job), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: asking(1).Limits}}}},
	}
	if ending {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return pod
}

func TestWhoHoldsWhatAJobWaitsFor(t *testing.T) {
	tests := map[string]struct {
		jobs       []batchv1.Job
		pods       []corev1.Pod
		everywhere bool
		want       []string // namespace/name state amount
		elsewhere  int64
		unnamed    int64
	}{
		"an admitted Job is named": {
			jobs: []batchv1.Job{queueJob("team", "a", admittedOn("h100", 4))}, want: []string{"team/a admitted 4"},
		},
		"one of another flavor holds nothing of this": {
			jobs: []batchv1.Job{queueJob("team", "a", admittedOn("a100", 4))}, elsewhere: 4,
		},
		"one that was started past the queue holds what its pods ask, seen or not": {
			jobs: []batchv1.Job{queueJob("team", "a", bypassed)}, want: []string{"team/a bypassed 2"}, elsewhere: 2,
		},
		"so does one that just runs": {
			jobs: []batchv1.Job{queueJob("team", "a", run)}, want: []string{"team/a running 2"}, elsewhere: 2,
		},
		"but not of this flavor if others have all of it": {
			jobs: []batchv1.Job{queueJob("team", "a", admittedOn("h100", 4)), queueJob("team", "b", bypassed)},
			want: []string{"team/a admitted 4"},
		},
		"pods of a Job that was taken back hold what they have until they end": {
			jobs: []batchv1.Job{queueJob("team", "a")}, pods: []corev1.Pod{gpuPod("team", "a", true)},
			want: []string{"team/a pods ending 1"}, elsewhere: 3,
		},
		"a Job that is being deleted holds what its pods have left": {
			jobs: []batchv1.Job{queueJob("team", "a", admittedOn("h100", 4), func(j *batchv1.Job) {
				j.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			})},
			pods: []corev1.Pod{gpuPod("team", "a", true)}, want: []string{"team/a deleting 1"}, elsewhere: 3,
		},
		"a pod that was read twice counts once": {
			pods: []corev1.Pod{gpuPod("team", "gone", true), gpuPod("team", "gone", true)},
			want: []string{"team/gone pods ending 1"}, elsewhere: 3,
		},
		"Jobs of other namespaces are named too where they may be read, and what is left is nobody's": {
			jobs:       []batchv1.Job{queueJob("other", "a", admittedOn("h100", 3)), queueJob("team", "b", admittedOn("a100", 4))},
			everywhere: true, want: []string{"other/a admitted 3"}, unnamed: 1,
		},
		"Jobs of other queues are not": {
			jobs: []batchv1.Job{queueJob("team", "a", bypassed, func(j *batchv1.Job) { j.Labels[policies.LabelQueue] = "auto" })}, elsewhere: 4,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			waiting := queueJob("team", "waiting")
			waiting.Annotations[policies.AnnotationMessage] = "WaitingForQuota: research uses 4 of 4 nvidia.com/gpu on h100; 2 asked, 0 left"
			pods := test.pods
			if pods == nil {
				pods = []corev1.Pod{}
			}
			x := Explain(Evidence{
				Job: &waiting, Queue: twoFlavors(4), Neighbours: append(test.jobs, waiting), Pods: pods, Everywhere: test.everywhere,
			})
			var got []string
			for _, h := range x.Holding {
				got = append(got, fmt.Sprintf("%s/%s %s %d", h.Namespace, h.Name, h.State, h.Reserved[gpu]))
			}
			for _, r := range x.Remains {
				got = append(got, fmt.Sprintf("%s/%s pods ending %d", r.Namespace, r.Job, r.Held[gpu]))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("who holds (-want +got):\n%s", diff)
			}
			if x.HeldElsewhere[gpu] != test.elsewhere || x.HeldUnnamed[gpu] != test.unnamed {
				t.Errorf("elsewhere %d, unnamed %d; want %d and %d", x.HeldElsewhere[gpu], x.HeldUnnamed[gpu], test.elsewhere, test.unnamed)
			}
		})
	}
}

// twoFlavors is the queue with so much of h100 in use, and all of a100.
func twoFlavors(used int64) *v1alpha1.Queue {
	row := func(flavor, name string, used, limit int64) v1alpha1.QueueUsage {
		return v1alpha1.QueueUsage{Flavor: flavor, Resource: name,
			Used: *resource.NewQuantity(used, resource.DecimalSI), Limit: *resource.NewQuantity(limit, resource.DecimalSI)}
	}
	return &v1alpha1.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: "research"},
		Status: v1alpha1.QueueStatus{
			Pending: 6, Usage: []v1alpha1.QueueUsage{row("a100", gpu, 4, 4), row("h100", gpu, used, 4), row("h100", "pods", 3, 9)},
			Reasons: map[string]int64{"WaitingForQuota": 1, "BehindOthers": 1, "NeverFits": 3, "HeldByPolicy": 1},
		},
	}
}

func TestNowIsOnlyAboutWhatBlocksAndHasMoved(t *testing.T) {
	const said = "research uses 4 of 4 nvidia.com/gpu on h100; 3 asked, 0 left"
	tests := map[string]struct {
		message string
		used    int64
		want    string
		rows    []string
	}{
		"numbers that stand still are not said twice, whatever the ledger knows of what is asked": {said, 4, "", []string{"h100"}},
		"moved ones are, of the row that blocks":                                                  {said, 1, "research uses 1 of 4 nvidia.com/gpu on h100; 2 asked, 3 left", []string{"h100"}},
		"a sentence of another version is about no row":                                           {"no share left", 1, "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			waiting := queueJob("team", "waiting")
			waiting.Annotations[policies.AnnotationMessage] = "WaitingForQuota: " + test.message
			x := Explain(Evidence{Job: &waiting, Queue: twoFlavors(test.used)})
			if x.Moved != test.want {
				t.Errorf("now %q, want %q", x.Moved, test.want)
			}
			var rows []string
			for _, u := range x.Now {
				rows = append(rows, u.Flavor)
			}
			if diff := cmp.Diff(test.rows, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyWhoIsInLineCountsForTheRank(t *testing.T) {
	waiting := queueJob("team", "waiting")
	queue := twoFlavors(4)
	queue.Spec.Hold = v1alpha1.HoldStart
	x := Explain(Evidence{Job: &waiting, Queue: queue})
	if x.InLine != 2 || x.Pending != 6 || !x.QueueHeld {
		t.Errorf("%d of %d in line, held %t; want 2 of 6, held", x.InLine, x.Pending, x.QueueHeld)
	}
	if code, jobs := NewQueue(queue).MainReason(); code != "NeverFits" || jobs != 3 {
		t.Errorf("main reason %s (%d), want NeverFits (3)", code, jobs)
	}
}

func TestABypassIsQuoted(t *testing.T) {
	job := queueJob("team", "a", bypassed, func(j *batchv1.Job) {
		j.Status.Failed, j.Spec.BackoffLimit = 2, new(int32(6))
	})
	x := Explain(Evidence{Job: &job})
	if x.Bypass != "incident 7" {
		t.Errorf("bypass %q", x.Bypass)
	}
	if diff := cmp.Diff(&FailedPods{Count: 2, Limit: new(int32(6)), Again: true}, x.FailedPods); diff != "" {
		t.Errorf("failed pods (-want +got):\n%s", diff)
	}
}

func TestAReservationIsCountedOnceOverSeveralRows(t *testing.T) {
	short := []QueueUsage{{Flavor: "a100", Resource: gpu}, {Flavor: "h100", Resource: gpu}}
	got := partOf(amounts.List{gpu: 2, "cpu": 5}, nil, short)
	if diff := cmp.Diff(amounts.List{gpu: 2}, got); diff != "" {
		t.Errorf("part (-want +got):\n%s", diff)
	}
}

func TestWhatIsConvertedIsCountedInTheRowsUnit(t *testing.T) {
	short := []QueueUsage{{Flavor: "h100", Resource: "slices", Counts: map[string]int64{gpu: 7, "nvidia.com/mig-1g.10gb": 1, "slices": 1}}}
	asks := amounts.List{gpu: 2, "nvidia.com/mig-1g.10gb": 3, "cpu": 5}
	for name, test := range map[string]struct {
		flavors map[string]string
		want    amounts.List
	}{
		"nobody knows the flavor":               {nil, amounts.List{"slices": 17}},
		"charged in the unit":                   {map[string]string{"slices": "h100", gpu: "h100"}, amounts.List{"slices": 17}},
		"on another flavor":                     {map[string]string{"slices": "a100", gpu: "h100"}, amounts.List{}},
		"admitted when it was charged as it is": {map[string]string{gpu: "h100", "pods": "a100"}, amounts.List{"slices": 17}},
		"admitted so, and on another flavor":    {map[string]string{gpu: "a100", "pods": "h100"}, amounts.List{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, partOf(asks, test.flavors, short)); diff != "" {
				t.Errorf("part (-want +got):\n%s", diff)
			}
		})
	}
	if got := short[0].askedBy([]Ask{{Pods: 2, Requests: asks}}); got != 34 {
		t.Errorf("%d slices asked, want 34", got)
	}
}

// What is told of the head of a queue is written anew as numbers move: of machines, nothing
// else knows them.
func TestNowIsWhatTheQueueSaysOfItsHead(t *testing.T) {
	for name, test := range map[string]struct {
		head v1alpha1.QueueHead
		want string
	}{
		"it says something else than before": {v1alpha1.QueueHead{Namespace: "team", Name: "waiting", Reason: "WaitingForMachines", Message: "8 free"}, "8 free"},
		"it says the same":                   {v1alpha1.QueueHead{Namespace: "team", Name: "waiting", Reason: "WaitingForMachines", Message: "14 free"}, ""},
		"it waits for something else":        {v1alpha1.QueueHead{Namespace: "team", Name: "waiting", Reason: "WaitingForQuota", Message: "0 left"}, ""},
		"another is the head":                {v1alpha1.QueueHead{Namespace: "team", Name: "first", Reason: "WaitingForMachines", Message: "8 free"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			waiting, queue := queueJob("team", "waiting"), twoFlavors(1)
			waiting.Annotations[policies.AnnotationMessage] = "WaitingForMachines: 14 free"
			queue.Status.Head = &test.head
			if got := Explain(Evidence{Job: &waiting, Queue: queue}).Moved; got != test.want {
				t.Errorf("now %q, want %q", got, test.want)
			}
		})
	}
}

// Behind it, that is of use for who waits for the same ResourceQuota.
func TestNowIsWhatIsUsedOfTheSameResourceQuota(t *testing.T) {
	const q = "ResourceQuota gpus of its namespace: "
	for name, test := range map[string]struct{ namespace, head, want string }{
		"more is used":           {"team", q + "1 pods asked, 8 of 8 used", q + "2 pods asked, 8 of 8 used"},
		"as much is used":        {"team", q + "1 pods asked, 7 of 8 used", ""},
		"another row":            {"team", q + "1 count/pods asked, 8 of 8 used", ""},
		"one of the same name":   {"elsewhere", q + "1 pods asked, 8 of 8 used", ""},
		"the head is told other": {"team", q[:len(q)-2] + " is new", ""},
	} {
		waiting, queue := queueJob("team", "waiting"), twoFlavors(1)
		waiting.Annotations[policies.AnnotationMessage] = "WaitingForNamespaceQuota: " + q + "2 pods asked, 7 of 8 used"
		queue.Status.Head = &v1alpha1.QueueHead{Namespace: test.namespace, Name: "first", Reason: "WaitingForNamespaceQuota", Message: test.head}
		if got := Explain(Evidence{Job: &waiting, Queue: queue}).Moved; got != test.want {
			t.Errorf("%s: now %q, want %q", name, got, test.want)
		}
	}
}
