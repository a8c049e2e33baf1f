package intake_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

func TestPod(t *testing.T) {
	gpus := resource.List{"nvidia.com/gpu": 2, "pods": 1}
	spec := `spec: {nodeName: n1, containers: [{name: a, resources: {requests: {nvidia.com/gpu: 2}}}]}`
	cases := []struct {
		name string
		pod  string
		want *supply.Pod
	}{
		{
			name: "a bound pod holds what it asks for, whoever made it",
			pod:  "{metadata: {uid: p1, namespace: lab, name: notebook}, " + spec + "}",
			want: &supply.Pod{UID: "p1", Namespace: "lab", Name: "notebook", Node: "n1", Requests: gpus},
		},
		{
			name: "a succeeded pod holds nothing",
			pod:  "{" + spec + ", status: {phase: Succeeded}}",
		},
		{
			name: "a failed pod holds nothing",
			pod:  "{" + spec + ", status: {phase: Failed, reason: UnexpectedAdmissionError}}",
		},
		{
			name: "a deleting pod holds until it is gone",
			pod:  `{metadata: {deletionTimestamp: "2026-01-01T00:00:40Z", deletionGracePeriodSeconds: 30}, ` + spec + ", status: {phase: Running}}",
			want: &supply.Pod{Node: "n1", Requests: gpus, Deleting: true, DeletingSince: time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC).UnixNano()},
		},
		{
			name: "a pod on a lost node still holds",
			pod:  "{" + spec + ", status: {phase: Unknown}}",
			want: &supply.Pod{Node: "n1", Requests: gpus},
		},
		{
			name: "the controlling Job is known by UID",
			pod:  "{metadata: {labels: {batch.kubernetes.io/controller-uid: u1}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: u1, controller: true}]}, " + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus, JobUID: "u1"},
		},
		{
			name: "a pod that its Job's controller does not select is not the Job's",
			pod:  "{metadata: {labels: {controller-uid: u2}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: u1, controller: true}]}, " + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus},
		},
		{
			name: "an owner that does not control is none",
			pod:  "{metadata: {ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: u1}]}, " + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus},
		},
		{
			name: "a Job of another group is another kind",
			pod:  "{metadata: {ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: train, uid: u1, controller: true}]}, " + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus},
		},
		{
			name: "what the admission wrote into the template is read back",
			pod:  `{metadata: {labels: {holdshort.dev/queue: research}, annotations: {holdshort.dev/flavors: '{"nvidia.com/gpu":"h100"}'}}, ` + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus, Queue: "research", Flavors: map[string]string{"nvidia.com/gpu": "h100"}},
		},
		{
			name: "a queue that no policy can have is none",
			pod:  `{metadata: {labels: {holdshort.dev/queue: Research_1}, annotations: {holdshort.dev/flavors: '{"pods":"h100"}'}}, ` + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus, Flavors: map[string]string{"pods": "h100"}},
		},
		{
			name: "flavors that no policy can have are none",
			pod:  `{metadata: {labels: {holdshort.dev/queue: research}, annotations: {holdshort.dev/flavors: '{"pods":"h 100"}'}}, ` + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus, Queue: "research"},
		},
		{
			name: "flavors that cannot be read are none",
			pod:  `{metadata: {annotations: {holdshort.dev/flavors: '["h100"]'}}, ` + spec + "}",
			want: &supply.Pod{Node: "n1", Requests: gpus},
		},
		{
			name: "an unbound pod says where it may land",
			pod:  `{spec: {nodeSelector: {gpu: h100}, containers: [{name: a, resources: {requests: {nvidia.com/gpu: 2}}}]}}`,
			want: &supply.Pod{Requests: gpus, Place: demand.Place{NodeSelector: map[string]string{"gpu": "h100"}}},
		},
		{
			name: "an unschedulable pod says since when",
			pod:  `{spec: {containers: [{name: a}]}, status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, lastTransitionTime: "2026-01-01T00:00:10Z"}]}}`,
			want: &supply.Pod{Requests: resource.List{"pods": 1}, UnschedulableSince: second},
		},
		{
			name: "one on which the scheduler fails, too",
			pod:  `{spec: {containers: [{name: a}]}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulerError, lastTransitionTime: "2026-01-01T00:00:10Z"}]}}`,
			want: &supply.Pod{Requests: resource.List{"pods": 1}, UnschedulableSince: second},
		},
		{
			name: "a gated pod is gated, not unschedulable",
			pod: `{spec: {schedulingGates: [{name: g}], containers: [{name: a}]},
status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, lastTransitionTime: "2026-01-01T00:00:10Z"}]}}`,
			want: &supply.Pod{Requests: resource.List{"pods": 1}, Gated: true, Place: demand.Place{Unverified: []string{"schedulingGates"}}},
		},
		{
			name: "a bound pod says since when",
			pod: `{metadata: {creationTimestamp: "2026-01-01T00:00:05Z"}, ` + spec + `,
status: {conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T00:00:10Z"}]}}`,
			want: &supply.Pod{Node: "n1", Requests: gpus, Created: second - 5e9, BoundSince: second},
		},
		{
			name: "one that was made for its node is there as long as it exists",
			pod:  `{metadata: {creationTimestamp: "2026-01-01T00:00:10Z"}, ` + spec + `}`,
			want: &supply.Pod{Node: "n1", Requests: gpus, Created: second, BoundSince: second},
		},
		{
			name: "a ready pod is ready",
			pod:  `{` + spec + `, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			want: &supply.Pod{Node: "n1", Requests: gpus, Ready: true},
		},
		{
			name: "a pod being resized down holds what the node still gives it",
			pod: `
spec: {nodeName: n1, containers: [{name: a, resources: {requests: {cpu: 1}}}]}
status: {phase: Running, containerStatuses: [{name: a, allocatedResources: {cpu: 1}, resources: {requests: {cpu: 16}}}]}`,
			want: &supply.Pod{Node: "n1", Requests: resource.List{"cpu": 16_000, "pods": 1}, Terms: demand.Terms{Compute: true}},
		},
		{
			name: "overhead, sidecars and init containers are held too",
			pod: `
spec:
  nodeName: n1
  overhead: {cpu: 250m}
  initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, {name: i, resources: {requests: {cpu: 4}}}]
  containers: [{name: a, resources: {requests: {cpu: 2}}}]`,
			want: &supply.Pod{Node: "n1", Requests: resource.List{"cpu": 5250, "pods": 1}, Terms: demand.Terms{Compute: true}},
		},
		{
			name: "an amount beyond counting is held at the limit",
			pod:  `{spec: {nodeName: n1, containers: [{name: a, resources: {requests: {memory: 9E}}}, {name: b, resources: {requests: {memory: 9E}}}]}}`,
			want: &supply.Pod{Node: "n1", Requests: resource.List{"memory": resource.Limit, "pods": 1}, Terms: demand.Terms{Compute: true}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pod := parse[corev1.Pod](t, c.pod)
			got := intake.Pod(pod, nil)
			if c.want != nil {
				c.want.Labels = pod.Labels // as they are, for others to keep away by
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNode(t *testing.T) {
	cordon := policies.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"}
	cases := []struct {
		name string
		node string
		want supply.Node
	}{
		{
			name: "what it can give and what is built in are told apart",
			node: `{metadata: {name: n1, labels: {gpu: h100}}, status: {capacity: {cpu: 8, nvidia.com/gpu: 8}, allocatable: {cpu: 7500m, memory: 1Gi, pods: 110, nvidia.com/gpu: 7}, conditions: [{type: Ready, status: "True"}]}}`,
			want: supply.Node{
				Name: "n1", Labels: map[string]string{"gpu": "h100"}, Ready: true,
				Allocatable: resource.List{"cpu": 7500, "memory": gi, "pods": 110, "nvidia.com/gpu": 7},
				Capacity:    resource.List{"cpu": 8000, "nvidia.com/gpu": 8},
			},
		},
		{
			name: "a device plugin that went away leaves a zero, and the devices built in",
			node: `{status: {capacity: {nvidia.com/gpu: 8}, allocatable: {nvidia.com/gpu: 0}, conditions: [{type: Ready, status: "True"}]}}`,
			want: supply.Node{Ready: true, Allocatable: resource.List{"nvidia.com/gpu": 0}, Capacity: resource.List{"nvidia.com/gpu": 8}},
		},
		{
			name: "less than nothing is nothing",
			node: `{status: {allocatable: {nvidia.com/gpu: "-1"}}}`,
			want: supply.Node{Allocatable: resource.List{"nvidia.com/gpu": 0}, Capacity: resource.List{}},
		},
		{
			name: "a node whose readiness is unknown is not ready",
			node: `{status: {conditions: [{type: Ready, status: Unknown}]}}`,
			want: supply.Node{Allocatable: resource.List{}, Capacity: resource.List{}},
		},
		{
			name: "a cordon is a taint before it is written down as one",
			node: `{spec: {unschedulable: true}}`,
			want: supply.Node{Taints: []policies.Taint{cordon}, Allocatable: resource.List{}, Capacity: resource.List{}},
		},
		{
			name: "and the same taint after",
			node: `{spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: "2026-01-01T00:00:10Z"}]}}`,
			want: supply.Node{Taints: []policies.Taint{cordon}, Allocatable: resource.List{}, Capacity: resource.List{}},
		},
		{
			name: "one whose cards are being divided anew is closed until that has succeeded",
			node: `{metadata: {labels: {nvidia.com/mig.config.state: pending}}, status: {allocatable: {nvidia.com/gpu: 8}}}`,
			want: supply.Node{
				Labels:      map[string]string{"nvidia.com/mig.config.state": "pending"},
				Closed:      "its cards are being divided anew (nvidia.com/mig.config.state: pending)",
				Allocatable: resource.List{"nvidia.com/gpu": 8}, Capacity: resource.List{},
			},
		},
		{
			name: "and open once it has",
			node: `{metadata: {labels: {nvidia.com/mig.config.state: success}}}`,
			want: supply.Node{Labels: map[string]string{"nvidia.com/mig.config.state": "success"}, Allocatable: resource.List{}, Capacity: resource.List{}},
		},
		{
			name: "devices that HAMi announces many times over are nobody's",
			node: `{metadata: {annotations: {hami.io/node-nvidia-register: "[]"}}, status: {capacity: {nvidia.com/gpu: 80}, allocatable: {cpu: 8, nvidia.com/gpu: 80}}}`,
			want: supply.Node{
				Unsure:      "HAMi shares its devices, which can't be counted yet",
				Allocatable: resource.List{"cpu": 8000}, Capacity: resource.List{},
			},
		},
		{
			name: "taints that only discourage keep nothing away",
			node: `{spec: {taints: [{key: slow, effect: PreferNoSchedule}, {key: gpu, value: "yes", effect: NoExecute}]}}`,
			want: supply.Node{Taints: []policies.Taint{{Key: "gpu", Value: "yes", Effect: "NoExecute"}}, Allocatable: resource.List{}, Capacity: resource.List{}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := intake.Node(parse[corev1.Node](t, c.node))
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}
		})
	}
}
