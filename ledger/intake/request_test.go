package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
)

const (
	mi = int64(1) << 20
	gi = int64(1) << 30
)

type requestCase struct {
	name string
	environment
	spec string
	want resource.List // besides one of pods
}

func TestRequestsOfOnePodAreThoseOfTheAPIServer(t *testing.T) {
	run(t, []requestCase{
		{
			name: "requests are taken as they are",
			spec: `containers: [{name: a, resources: {requests: {cpu: 1500m, memory: 2Gi, nvidia.com/gpu: 2}}}]`,
			want: resource.List{"cpu": 1500, "memory": 2 * gi, "nvidia.com/gpu": 2},
		},
		{
			name: "no requests at all still take a pod's slot",
			spec: `containers: [{name: a}]`,
		},
		{
			name: "limits alone become the requests",
			spec: `containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2}}}]`,
			want: resource.List{"nvidia.com/gpu": 2},
		},
		{
			name: "a request beside a limit stays",
			spec: `containers: [{name: a, resources: {limits: {cpu: 4}, requests: {cpu: 1}}}]`,
			want: resource.List{"cpu": 1000},
		},
		{
			name: "asking for zero is not asking",
			spec: `containers: [{name: a, resources: {requests: {nvidia.com/gpu: 0, cpu: 1}}}]`,
			want: resource.List{"cpu": 1000},
		},
		{
			name: "a thousandth of a thousandth of a core counts as a thousandth",
			spec: `containers: [{name: a, resources: {requests: {cpu: 1u}}}]`,
			want: resource.List{"cpu": 1},
		},
		{
			name: "fractions of two containers are added before they are rounded",
			spec: `containers: [{name: a, resources: {requests: {cpu: 500u}}}, {name: b, resources: {requests: {cpu: 500u}}}]`,
			want: resource.List{"cpu": 1},
		},
		{
			name: "half a byte is a byte",
			spec: `containers: [{name: a, resources: {requests: {memory: 500m}}}]`,
			want: resource.List{"memory": 1},
		},
		{
			name: "2,000,000,000 cores on one pod are counted",
			spec: `containers: [{name: a, resources: {requests: {cpu: 2G}}}]`,
			want: resource.List{"cpu": 2_000_000_000_000},
		},
	})
}

func TestRequestsWithInitContainersAndSidecars(t *testing.T) {
	run(t, []requestCase{
		{
			name: "containers add up, a bigger init container wins",
			spec: `
initContainers: [{name: i, resources: {requests: {cpu: 5, memory: 1Gi}}}]
containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}}}, {name: b, resources: {requests: {cpu: 2, memory: 1Gi}}}]`,
			want: resource.List{"cpu": 5000, "memory": 2 * gi},
		},
		{
			name: "a sidecar's GPU is held beside the main container's",
			spec: `
initContainers: [{name: s, restartPolicy: Always, resources: {requests: {nvidia.com/gpu: 1}}}]
containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}}}]`,
			want: resource.List{"nvidia.com/gpu": 2},
		},
		{
			name: "an init container without GPU in front of it changes nothing",
			spec: `
initContainers: [{name: i}, {name: s, restartPolicy: Always, resources: {requests: {nvidia.com/gpu: 1}}}]
containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}}}]`,
			want: resource.List{"nvidia.com/gpu": 2},
		},
		{
			name: "an init container runs beside the sidecars before it, not those after it",
			spec: `
initContainers:
- {name: s1, restartPolicy: Always, resources: {requests: {cpu: 1}}}
- {name: i, resources: {requests: {cpu: 10}}}
- {name: s2, restartPolicy: Always, resources: {requests: {cpu: 2}}}
containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			want: resource.List{"cpu": 11_000},
		},
		{
			name: "limits of init containers become requests too",
			spec: `
initContainers: [{name: i, resources: {limits: {memory: 4Gi}}}]
containers: [{name: a, resources: {requests: {memory: 1Gi}}}]`,
			want: resource.List{"memory": 4 * gi},
		},
	})
}

func run(t *testing.T, cases []requestCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := jobOf(t, c.spec)
			before := job.DeepCopy()
			got := intake.Job(job, c.env(t))
			if got.Problem != nil {
				t.Fatalf("it can be counted, but: %s", got.Problem.Message)
			}
			want := resource.List{resource.Pods: 1}
			want.AddTo(c.want, 1)
			if diff := cmp.Diff(want, got.PodSets[0].Requests); diff != "" {
				t.Errorf("requests of one pod (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, job); diff != "" {
				t.Errorf("reading changed the Job:\n%s", diff)
			}
		})
	}
}
