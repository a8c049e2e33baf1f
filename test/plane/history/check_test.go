package history

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/demand"
	ledgerresource "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

const gpu = "nvidia.com/gpu"

// tape is a history in the making; each step is the next version.
type tape struct {
	events []Event
}

func (h *tape) put(change Change, e Event) *tape {
	e.Change, e.Version = change, int64(len(h.events)+1)
	h.events = append(h.events, e)
	return h
}

func (h *tape) job(change Change, job *batchv1.Job, edits ...func(*batchv1.Job)) *tape {
	job = job.DeepCopy()
	for _, edit := range edits {
		edit(job)
	}
	return h.put(change, Event{Job: job})
}

func (h *tape) pod(change Change, pod *corev1.Pod, edits ...func(*corev1.Pod)) *tape {
	pod = pod.DeepCopy()
	for _, edit := range edits {
		edit(pod)
	}
	return h.put(change, Event{Pod: pod})
}

func (h *tape) node(name string, gpus int64) *tape {
	return h.put(Existed, Event{Node: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			gpu: *resource.NewQuantity(gpus, resource.DecimalSI), "pods": resource.MustParse("110"),
		}},
	}})
}

// queuedJob of two pods with one GPU each, in queue research, suspended.
func queuedJob(name string) *batchv1.Job {
	two, yes := int32(2), true
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{policies.LabelQueue: "research"}},
		Spec:       batchv1.JobSpec{Parallelism: &two, Completions: &two, Suspend: &yes},
	}
}

// admittedAt lifts a Job with a reservation, made at some time, for its two pods.
func admittedAt(time int64) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		text, err := json.Marshal(demand.Reservation{
			UID: string(job.UID), Queue: "research", Time: time,
			PodSets: []demand.ReservedPodSet{{Count: 2, Requests: ledgerresource.List{gpu: 1}, Flavors: map[string]string{gpu: "h100"}}},
		})
		if err != nil {
			panic(err)
		}
		job.Annotations = map[string]string{policies.AnnotationReservation: string(text)}
		no := false
		job.Spec.Suspend = &no
	}
}

// copiedFrom gives a Job the annotations of another one's admission.
func copiedFrom(other string) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		source := queuedJob(other)
		admittedAt(1)(source)
		job.Annotations = source.Annotations
	}
}

// forNothing writes a reservation of the Job's own that charges nobody.
func forNothing(job *batchv1.Job) {
	job.Annotations = map[string]string{policies.AnnotationReservation: fmt.Sprintf(`{"uid":%q,"queue":"research","time":1}`, job.UID)}
}

func beingDeleted(job *batchv1.Job) { now := metav1.Now(); job.DeletionTimestamp = &now }

// rewrote is what is said of Job a when it went from one version to another.
func rewrote(from, to func(*batchv1.Job)) string {
	before, after := queuedJob("a"), queuedJob("a")
	from(before)
	to(after)
	return fmt.Sprintf("its reservation was changed, from %q to %q, while it was admitted or being deleted",
		before.Annotations[policies.AnnotationReservation], after.Annotations[policies.AnnotationReservation])
}

func lifted(job *batchv1.Job) { no := false; job.Spec.Suspend = &no }

func ownedBy(apiVersion string) func(*batchv1.Job) {
	yes := true
	return func(job *batchv1.Job) {
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: "JobSet", Name: "set", UID: "set", Controller: &yes}}
	}
}

func managedBy(controller string) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.ManagedBy = &controller }
}

func completed(job *batchv1.Job) {
	job.Status.Succeeded = 2
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
}

func grown(job *batchv1.Job) {
	four := int32(4)
	job.Spec.Parallelism, job.Spec.Completions = &four, &four
}

// podOf is an unbound pod of a Job, marked by an admission.
func podOf(job string, number int) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("%s-%d", job, number), UID: types.UID(fmt.Sprintf("%s-%d", job, number)),
			Labels:          map[string]string{policies.LabelQueue: "research"},
			Annotations:     map[string]string{policies.AnnotationFlavors: `{"nvidia.com/gpu":"h100"}`},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: job, UID: types.UID(job), Controller: &yes}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{gpu: resource.MustParse("1")},
		}}}},
	}
}

func boundTo(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = node }
}

func deleting(pod *corev1.Pod) { now := metav1.Now(); pod.DeletionTimestamp = &now }

// onItsOwn: its labels match no longer, and its Job's controller let it go.
func onItsOwn(pod *corev1.Pod) { pod.OwnerReferences = nil }

func elsewhere(pod *corev1.Pod) { pod.Namespace = "other" }

// unmarked by any admission.
func unmarked(pod *corev1.Pod) { pod.Labels, pod.Annotations = nil, nil }

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func foundUnschedulable(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes",
	}}
}

func limit(amount int64) []Limit {
	return []Limit{{Queue: "research", Flavor: "h100", Resource: gpu, Amount: amount}}
}

// verdict is what Check says of a history.
type verdict struct {
	name  string
	tape  *tape
	rules Rules
	want  []string
}

func judge(t *testing.T, cases []verdict) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, v := range Check(c.tape.events, c.rules) {
				got = append(got, v.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// byClaim is that the scheduler makes a claim for the pod's GPUs.
func byClaim(p *corev1.Pod) {
	p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
		ResourceClaimName: "made", RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: "nvidia.com/gpu", RequestName: "r"}},
	}
}

func TestCheck(t *testing.T) {
	judge(t, []verdict{
		{
			name: "what a claim was made for is nothing that the node's plugin gives",
			tape: new(tape).node("n", 1).pod(Added, podOf("a", 1)).pod(Added, podOf("a", 2)).
				pod(Changed, podOf("a", 1), boundTo("n"), byClaim).pod(Changed, podOf("a", 2), boundTo("n")),
		},
		{
			name: "a node may be filled to the brim and no further",
			tape: new(tape).node("n", 1).pod(Added, podOf("a", 1)).pod(Added, podOf("a", 2)).
				pod(Changed, podOf("a", 1), boundTo("n")).pod(Changed, podOf("a", 2), boundTo("n")),
			want: []string{"devices: pod/ns/a-2 at version 5: bound to node n, whose pods then held 2 of nvidia.com/gpu, and it has 1"},
		},
		{
			name: "a Job that was created unsuspended was never held",
			tape: new(tape).job(Added, queuedJob("a"), lifted),
			want: []string{`authority: job/ns/a at version 1: created unsuspended, though in queue "research"`},
		},
		{
			name: "one that follows its JobSet may be, one with any other owner may not",
			tape: new(tape).
				job(Added, queuedJob("a"), lifted, ownedBy("jobset.x-k8s.io/v1alpha2")).
				job(Added, queuedJob("b"), lifted, ownedBy("jobset.example.com/v1")),
			want: []string{`authority: job/ns/b at version 2: created unsuspended, though in queue "research"`},
		},
		{
			name: "one that another controller runs may be, one that says who runs all may not",
			tape: new(tape).
				job(Added, queuedJob("a"), lifted, managedBy("example.com/dispatcher")).
				job(Added, queuedJob("b"), lifted, managedBy("kubernetes.io/job-controller")),
			want: []string{`authority: job/ns/b at version 2: created unsuspended, though in queue "research"`},
		},
		{
			name: "a lift needs the Job's own reservation",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), lifted),
			want: []string{"authority: job/ns/a at version 2: lifted without a reservation of its own, and without a bypass"},
		},
		{
			name: "another Job's reservation is none",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1), copiedFrom("b")),
			want: []string{"authority: job/ns/a at version 2: lifted without a reservation of its own, and without a bypass"},
		},
		{
			name: "or a bypass",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), lifted, func(job *batchv1.Job) {
				job.Annotations = map[string]string{policies.AnnotationBypass: "the demo is now"}
			}),
		},
		{
			name: "a second admission needs a suspension before it",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).job(Changed, queuedJob("a"), admittedAt(2)),
			want: []string{
				"authority: job/ns/a at version 3: " + rewrote(admittedAt(1), admittedAt(2)),
				"once: job/ns/a at version 3: admitted again while it was not suspended",
			},
		},
		{
			name: "and with one it is fine",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(2)),
		},
		{
			name: "a reservation that a running Job rewrites is named, and charged as it was",
			tape: new(tape).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("a"), admittedAt(1), forNothing).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
			want: []string{
				"authority: job/ns/a at version 4: " + rewrote(admittedAt(1), forNothing),
				"quota: job/ns/b at version 5: queue research then held 4 of nvidia.com/gpu on flavor h100, and 2 were allowed",
			},
		},
		{
			name: "so is one that it throws away as it is being deleted, from its queue too",
			tape: new(tape).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Added, podOf("a", 2)).
				job(Changed, queuedJob("a"), admittedAt(1), beingDeleted).
				job(Changed, queuedJob("a"), lifted, beingDeleted, func(job *batchv1.Job) { job.Labels = nil }).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2), Queues: []string{"research"}},
			want: []string{
				"authority: job/ns/a at version 7: " + rewrote(admittedAt(1), lifted),
				"quota: job/ns/b at version 8: queue research then held 4 of nvidia.com/gpu on flavor h100, and 2 were allowed",
			},
		},
		{
			name: "a finished Job is not admitted",
			tape: new(tape).job(Added, queuedJob("a"), func(job *batchv1.Job) {
				job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
			}).job(Changed, queuedJob("a"), admittedAt(1)),
			want: []string{"terminal: job/ns/a at version 2: admitted, though finished or being deleted"},
		},
		{
			name: "an unschedulable pod is named once",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Changed, podOf("a", 1), foundUnschedulable).pod(Changed, podOf("a", 1), foundUnschedulable),
			want: []string{"unschedulable: pod/ns/a-1 at version 4: 0/1 nodes"},
		},
		{
			name: "one that comes while its claim is being allocated is not",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Changed, podOf("a", 1), foundUnschedulable, func(pod *corev1.Pod) {
				pod.Status.Conditions[0].Message = "0/1 nodes are available: resource claim ns/c is in the process of being allocated."
			}),
		},
		{
			name: "where machines are not looked at, it may be",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Changed, podOf("a", 1), foundUnschedulable),
			rules: Rules{Homeless: true},
		},
		{
			name: "a pod that nobody queued may be unschedulable",
			tape: new(tape).pod(Added, podOf("a", 1), foundUnschedulable, func(pod *corev1.Pod) { pod.Labels = nil }),
		},
		{
			name: "a gap in the record is no clean record",
			tape: new(tape).put(Missed, Event{Problem: "the watch of jobs ended"}),
			want: []string{"gap:  at version 1: the watch of jobs ended"},
		},
		{
			name: "a Job with all its pods and no more ran once",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Added, podOf("a", 2)).pod(Deleted, podOf("a", 2)).
				job(Changed, queuedJob("a"), admittedAt(1), completed).job(Deleted, queuedJob("a"), admittedAt(1), completed),
			rules: Rules{RanOnce: true},
		},
		{
			name: "one that was suspended and admitted again did not",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Added, podOf("a", 2)).
				job(Changed, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(2)).
				job(Changed, queuedJob("a"), admittedAt(2), completed),
			rules: Rules{RanOnce: true},
			want: []string{
				"ran-once: job/ns/a at version 0: admitted 2 times",
				"ran-once: job/ns/a at version 0: suspended again 1 times",
			},
		},
		{
			name: "a pod too many, a Job that did not end, and one that never began, are named",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Added, podOf("a", 2)).pod(Added, podOf("a", 3)).
				job(Added, queuedJob("b"), grown),
			rules: Rules{RanOnce: true},
			want: []string{
				"ran-once: job/ns/a at version 0: made 3 pods for 2 completions",
				"ran-once: job/ns/a at version 0: did not complete",
				"ran-once: job/ns/b at version 0: admitted 0 times",
				"ran-once: job/ns/b at version 0: made 0 pods for 4 completions",
				"ran-once: job/ns/b at version 0: did not complete",
			},
		},
	})
}

func TestEventsOfSeveralWatchesAreReplayedInTheOrderOfTheirWrites(t *testing.T) {
	events := new(tape).job(Added, queuedJob("a")).pod(Added, podOf("a", 1)).job(Changed, queuedJob("a")).events
	mixed := []Event{events[0], events[2], events[1]}
	sortEvents(mixed)
	if diff := cmp.Diff(events, mixed); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
}
