package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
)

// One pod with two cards asks for as much of their memory as two pods with one.
func TestWhatIsAskedForEachDeviceIsMultiplied(t *testing.T) {
	const gpu, mem, cores = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
	units := map[string]string{mem: gpu, cores: gpu}
	for name, c := range map[string]struct {
		pod  string
		want resource.List
	}{
		"two devices": {
			`containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 2048, nvidia.com/gpucores: 20}}}]`,
			resource.List{gpu: 2, mem: 4096, cores: 40},
		},
		"one device": {
			`containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 2048}}}]`,
			resource.List{gpu: 1, mem: 2048},
		},
		"none that is named: one": {
			`containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 2048}}}]`,
			resource.List{mem: 2048},
		},
		"each container has its own": {
			`containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 100}}}, {name: b, resources: {limits: {nvidia.com/gpu: 3, nvidia.com/gpumem: 10}}}, {name: c, resources: {limits: {nvidia.com/gpumem: 1}}}]`,
			resource.List{gpu: 5, mem: 231},
		},
		"what comes first and ends takes the larger": {
			`{initContainers: [{name: i, resources: {limits: {nvidia.com/gpu: 4, nvidia.com/gpumem: 100}}}], containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 300}}}]}`,
			resource.List{gpu: 4, mem: 400},
		},
		"more than can be counted": {
			`containers: [{name: a, resources: {limits: {nvidia.com/gpu: 4, nvidia.com/gpumem: 8E}}}]`,
			resource.List{gpu: 4, mem: resource.Limit},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want[resource.Pods] = 1
			got := intake.Job(jobOf(t, c.pod), intake.Env{PerDevice: units})
			if diff := cmp.Diff(c.want, got.PodSets[0].Requests); diff != "" {
				t.Errorf("a Job asks (-want +got):\n%s", diff)
			}
			if uncountable := c.want[mem] == resource.Limit; uncountable != (got.Problem != nil) {
				t.Errorf("its problem is %v", got.Problem)
			}
			pod := &corev1.Pod{Spec: *parse[corev1.PodSpec](t, c.pod)}
			for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for i := range list {
					list[i].Resources.Requests = list[i].Resources.Limits // as it is stored
				}
			}
			before := pod.DeepCopy()
			if diff := cmp.Diff(c.want, intake.Pod(pod, units).Requests); diff != "" {
				t.Errorf("its pod has (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the pod was written to (-want +got):\n%s", diff)
			}
		})
	}
}
