package intake_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/resource"
)

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

func TestServersBefore137FillInThePodLevelFirst(t *testing.T) {
	early := environment{early: true, limitRanges: []string{`limits: [{type: Container, defaultRequest: {memory: 1Gi}}]`}}
	run(t, []requestCase{
		{
			name:        "so a pod-level limit is the request, whatever a LimitRange gives the containers",
			environment: early,
			spec: `
resources: {limits: {memory: 4Gi}}
containers: [{name: a}, {name: b}]`,
			want: resource.List{"memory": 4 * gi},
		},
		{
			name:        "and a container's own request leaves out what the others get later",
			environment: early,
			spec: `
resources: {limits: {memory: 4Gi}}
containers: [{name: a, resources: {requests: {memory: 512Mi}}}, {name: b}]`,
			want: resource.List{"memory": 512 * mi},
		},
		{
			name:        "but where the pod level says nothing of memory, the containers count",
			environment: early,
			spec: `
resources: {requests: {cpu: 1}}
containers: [{name: a}, {name: b}]`,
			want: resource.List{"cpu": 1000, "memory": 2 * gi},
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
