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

func TestRequestsWithLimitRanges(t *testing.T) {
	limits := func(specs ...string) environment { return environment{limitRanges: specs} }
	run(t, []requestCase{
		{
			name:        "the container's own limit comes before the LimitRange's default request",
			environment: limits(`limits: [{type: Container, defaultRequest: {cpu: 1}}]`),
			spec:        `containers: [{name: a, resources: {limits: {cpu: 3}}}]`,
			want:        resource.List{"cpu": 3000},
		},
		{
			name:        "each resource is defaulted for itself",
			environment: limits(`limits: [{type: Container, default: {cpu: 3}, defaultRequest: {memory: 1Gi}}]`),
			spec:        `containers: [{name: a, resources: {limits: {cpu: 2, memory: 8Gi}}}]`,
			want:        resource.List{"cpu": 2000, "memory": 8 * gi},
		},
		{
			name:        "nothing said gets the default request",
			environment: limits(`limits: [{type: Container, default: {memory: 2Gi}, defaultRequest: {memory: 1Gi}}]`),
			spec:        `containers: [{name: a}, {name: b}]`,
			want:        resource.List{"memory": 2 * gi},
		},
		{
			name:        "a default limit without default request is both",
			environment: limits(`limits: [{type: Container, default: {memory: 2Gi}}]`),
			spec:        `containers: [{name: a}]`,
			want:        resource.List{"memory": 2 * gi},
		},
		{
			name:        "max stands in for the default, min only for the request",
			environment: limits(`limits: [{type: Container, max: {memory: 4Gi}, min: {cpu: 100m}}]`),
			spec:        `containers: [{name: a}]`,
			want:        resource.List{"memory": 4 * gi, "cpu": 100},
		},
		{
			name:        "limits for whole pods and volume claims default nothing",
			environment: limits(`limits: [{type: Pod, max: {memory: 4Gi}}, {type: PersistentVolumeClaim, min: {storage: 1Gi}}]`),
			spec:        `containers: [{name: a}]`,
		},
		{
			name: "of two LimitRanges the larger default counts, whatever their order",
			environment: limits(
				`limits: [{type: Container, defaultRequest: {memory: 1Gi}}]`,
				`limits: [{type: Container, defaultRequest: {memory: 3Gi}}]`,
				`limits: [{type: Container, defaultRequest: {memory: 2Gi}}]`,
			),
			spec: `containers: [{name: a}]`,
			want: resource.List{"memory": 3 * gi},
		},
		{
			name:        "init containers are defaulted as well",
			environment: limits(`limits: [{type: Container, defaultRequest: {cpu: 2}}]`),
			spec: `
initContainers: [{name: i}]
containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			want: resource.List{"cpu": 2000},
		},
	})
}

func TestRequestsWithPodLevelResources(t *testing.T) {
	run(t, []requestCase{
		{
			name: "a pod-level request replaces the sum of the containers",
			spec: `
resources: {requests: {cpu: 8}}
containers: [{name: a}]`,
			want: resource.List{"cpu": 8000},
		},
		{
			name: "what the pod level leaves out is the sum of the containers",
			spec: `
resources: {requests: {cpu: 8}}
containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}}]`,
			want: resource.List{"cpu": 8000, "memory": gi, "nvidia.com/gpu": 1},
		},
		{
			name: "a pod-level limit is the request only where no container asks",
			spec: `
resources: {limits: {memory: 4Gi, cpu: 2}}
containers: [{name: a, resources: {requests: {memory: 2Gi}}}]`,
			want: resource.List{"memory": 2 * gi, "cpu": 2000},
		},
		{
			name: "huge pages of the containers become the pod's",
			spec: `
resources: {requests: {cpu: 1}}
containers:
- {name: a, resources: {limits: {hugepages-2Mi: 64Mi}}}
- {name: b, resources: {limits: {hugepages-2Mi: 32Mi}}}`,
			want: resource.List{"cpu": 1000, "hugepages-2Mi": 96 * mi},
		},
		{
			name:        "a LimitRange still fills the containers",
			environment: environment{limitRanges: []string{`limits: [{type: Container, defaultRequest: {memory: 1Gi}}]`}},
			spec: `
resources: {limits: {memory: 4Gi}}
containers: [{name: a}, {name: b}]`,
			want: resource.List{"memory": 2 * gi},
		},
	})
}

func TestRequestsWithRuntimeClass(t *testing.T) {
	run(t, []requestCase{
		{
			name:        "its overhead is on every pod",
			environment: environment{runtime: `{metadata: {name: kata}, handler: kata, overhead: {podFixed: {memory: 160Mi}}}`},
			spec: `
runtimeClassName: kata
containers: [{name: a, resources: {requests: {memory: 1Gi}}}]`,
			want: resource.List{"memory": gi + 160*mi},
		},
		{
			name:        "overhead is on top of pod-level requests",
			environment: environment{runtime: `{metadata: {name: kata}, handler: kata, overhead: {podFixed: {cpu: 250m}}}`},
			spec: `
runtimeClassName: kata
resources: {requests: {cpu: 8}}
containers: [{name: a}]`,
			want: resource.List{"cpu": 8250},
		},
		{
			name:        "a class without overhead adds none",
			environment: environment{runtime: `{metadata: {name: plain}, handler: runc}`},
			spec: `
runtimeClassName: plain
containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			want: resource.List{"cpu": 1000},
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
