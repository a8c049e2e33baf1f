package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/resource"
)

const (
	gpuImplied = "deviceclass.resource.kubernetes.io/gpu"
	migImplied = "deviceclass.resource.kubernetes.io/mig"
	oldImplied = "deviceclass.resource.kubernetes.io/old"
)

// gpuClasses has nvidia.com/gpu given by class gpu, which is newer than old, and a class
// without such a name.
func gpuClasses() intake.Classes {
	as := "nvidia.com/gpu"
	named := func(created int64) *resourceapi.DeviceClass {
		return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(created, 0)}, Spec: resourceapi.DeviceClassSpec{ExtendedResourceName: &as}}
	}
	all := map[string]*resourceapi.DeviceClass{"gpu": named(2), "old": named(1), "mig": {}}
	return intake.Classes{All: all, By: intake.ExtendedBy(all, true)}
}

// Rows count what the API server would, in the ledger's units, as its status says; what is
// not of pods is left out.
func TestResourceQuotasAreReadByTheirStatus(t *testing.T) {
	got := intake.NamespaceQuota(parse[corev1.ResourceQuota](t, `
metadata: {name: q, namespace: a}
spec:
  hard: {requests.nvidia.com/gpu: 8, pods: 10, secrets: 4, count/pods: 15}
  scopes: [NotTerminating]
  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [low]}]}
status:
  hard:
    count/pods: 20
    count/jobs.batch: 5
    cpu: 1500m
    limits.memory: 1Gi
    requests.nvidia.com/gpu: 4
    gpu.deviceclass.resource.k8s.io/devices: 3
    mig.deviceclass.resource.k8s.io/devices: 3
    hugepages-2Mi: 4Mi
    limits.nvidia.com/gpu: 1
    count/resourceclaims.resource.k8s.io: 9
    requests.deviceclass.resource.kubernetes.io/gpu: 3
    requests.deviceclass.resource.kubernetes.io/mig: 3
    requests.example.com/nic: 2
  used: {requests.nvidia.com/gpu: 2, count/pods: 7, cpu: 500m}`), gpuClasses())
	const unknown = nsquota.Unknown
	want := &nsquota.Quota{
		Namespace: "a", Name: "q",
		Scopes: []nsquota.Scope{{Name: "NotTerminating"}, {Name: "PriorityClass", Operator: "In", Values: []string{"low"}}},
		Rows: []nsquota.Row{
			{Name: "count/pods", Of: nsquota.Objects, Resource: "count/pods", Hard: 15, Used: 7},
			{
				Name: "count/resourceclaims.resource.k8s.io", Of: nsquota.Claims, Resource: "count/resourceclaims.resource.k8s.io", Hard: 9, Used: unknown,
				Drawn: []string{gpuImplied, migImplied, oldImplied, "nvidia.com/gpu"},
			},
			{Name: "cpu", Resource: "cpu", Hard: 1500, Used: 500, Needs: demand.RequestsCPU},
			{
				Name: "gpu.deviceclass.resource.k8s.io/devices", Of: nsquota.Devices, Resource: "gpu.deviceclass.resource.k8s.io/devices", Hard: 3, Used: unknown,
				Classes: []string{"gpu"}, Drawn: []string{"nvidia.com/gpu", gpuImplied},
			},
			{Name: "hugepages-2Mi", Resource: "hugepages-2Mi", Hard: 4 << 20, Used: unknown},
			{Name: "limits.memory", Of: nsquota.Limits, Resource: "memory", Hard: 1 << 30, Used: unknown, Needs: demand.LimitsMemory},
			{
				Name: "mig.deviceclass.resource.k8s.io/devices", Of: nsquota.Devices, Resource: "mig.deviceclass.resource.k8s.io/devices", Hard: 3, Used: unknown,
				Classes: []string{"mig"}, Drawn: []string{migImplied},
			},
			{Name: "pods", Of: nsquota.Pods, Resource: "pods", Hard: 10, Used: unknown},
			{
				Name: "requests.deviceclass.resource.kubernetes.io/gpu", Of: nsquota.Limits, Resource: gpuImplied, Hard: 3, Used: unknown,
				Classes: []string{"gpu"}, Drawn: []string{"nvidia.com/gpu"},
			},
			{Name: "requests.deviceclass.resource.kubernetes.io/mig", Of: nsquota.Limits, Resource: migImplied, Hard: 3, Used: unknown},
			{Name: "requests.example.com/nic", Of: nsquota.Limits, Resource: "example.com/nic", Hard: 2, Used: unknown},
			{
				Name: "requests.nvidia.com/gpu", Of: nsquota.Limits, Resource: "nvidia.com/gpu", Hard: 4, Used: 2,
				Classes: []string{"gpu", "old"}, Drawn: []string{gpuImplied, oldImplied},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	cleared := parse[corev1.ResourceQuota](t, "status: {hard: {pods: 1}, used: {pods: 1}}")
	if got := intake.NamespaceQuota(cleared, gpuClasses()); got == nil || got.Rows[0].Hard != 1 {
		t.Errorf("one that limits until it is counted again does not: %+v", got)
	}
	if got := intake.NamespaceQuota(parse[corev1.ResourceQuota](t, "spec: {hard: {secrets: 4}}"), gpuClasses()); got != nil {
		t.Errorf("one of secrets limits pods: %+v", got)
	}
}

// The API server counts what containers ask for each of their devices as it is written.
func TestResourceQuotasCountOnceWhatIsAskedForEachDevice(t *testing.T) {
	units := map[string]string{"nvidia.com/gpumem": "nvidia.com/gpu"}
	quota := intake.NamespaceQuota(parse[corev1.ResourceQuota](t, "spec: {hard: {requests.nvidia.com/gpumem: 20, requests.nvidia.com/gpu: 4}}"),
		intake.Classes{})
	pod := intake.Pod(parse[corev1.Pod](t, `
spec: {containers: [{resources: {requests: {nvidia.com/gpu: 2, nvidia.com/gpumem: 10}, limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 10}}}]}`), units)
	if got := pod.Requests["nvidia.com/gpumem"]; got != 20 {
		t.Errorf("its node gives %d, want 20", got)
	}
	got := map[string]int64{}
	for i := range quota.Rows {
		got[quota.Rows[i].Name] = quota.Rows[i].Takes(&nsquota.Pod{Requests: pod.Requests, Limits: pod.Limits, Terms: pod.Terms})
	}
	if diff := cmp.Diff(map[string]int64{"requests.nvidia.com/gpumem": 10, "requests.nvidia.com/gpu": 2}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTermsOfPods(t *testing.T) {
	all := demand.RequestsCPU | demand.RequestsMemory | demand.LimitsCPU | demand.LimitsMemory
	for name, c := range map[string]struct {
		pod    string
		env    environment
		terms  demand.Terms
		limits resource.List
	}{
		"best effort": {pod: `containers: [{name: a}]`, terms: demand.Terms{Unset: all}},
		"limits are requests, too": {
			pod:   `containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 1}}}]`,
			terms: demand.Terms{Compute: true}, limits: resource.List{"cpu": 2000, "memory": 1 << 30, "nvidia.com/gpu": 1},
		},
		"one container does not say": {
			pod:   `{containers: [{name: a, resources: {requests: {cpu: 1}}}], initContainers: [{name: b, resources: {requests: {memory: 1}}}]}`,
			terms: demand.Terms{Compute: true, Unset: all},
		},
		"the pod says it for all": {
			pod:   `{resources: {limits: {cpu: 2}}, containers: [{name: a}]}`,
			terms: demand.Terms{Compute: true}, limits: resource.List{"cpu": 2000},
		},
		"a default of the namespace": {
			pod: `containers: [{name: a}]`, env: environment{limitRanges: []string{`limits: [{type: Container, default: {cpu: 1, memory: 1}, defaultRequest: {cpu: 1, memory: 1}}]`}},
			terms: demand.Terms{Compute: true}, limits: resource.List{"cpu": 1000, "memory": 1},
		},
		"the rest": {
			pod:   `{activeDeadlineSeconds: 5, priorityClassName: high, containers: [{name: a}], affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: a, namespaces: [b]}}]}}}`,
			env:   environment{priority: "{metadata: {name: high}, value: 5}"},
			terms: demand.Terms{PriorityClass: "high", Terminating: true, CrossNamespace: true, Unset: all},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := intake.Job(jobOf(t, c.pod), c.env.env(t)).PodSets[0]
			if diff := cmp.Diff(c.terms, set.Terms); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.limits, set.Limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsWithoutAPriorityClassHaveTheDefault(t *testing.T) {
	env := intake.Env{PriorityClass: func(name string) *schedulingv1.PriorityClass {
		return map[string]*schedulingv1.PriorityClass{"": {ObjectMeta: metav1.ObjectMeta{Name: "usual"}}}[name]
	}}
	if got := intake.Job(jobOf(t, `containers: [{name: a}]`), env).PodSets[0].Terms.PriorityClass; got != "usual" {
		t.Errorf("its class is %q", got)
	}
}
