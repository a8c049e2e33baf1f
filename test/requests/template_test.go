//go:build plane

package requests_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

// drawTemplate makes a pod spec that the API server mostly accepts, with
// everything in it that changes what a pod asks for.
func drawTemplate(t *rapid.T) corev1.PodSpec {
	spec := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		spec.Containers = append(spec.Containers, drawContainer(t, fmt.Sprintf("c%d", i)))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "initContainers") {
		c := drawContainer(t, fmt.Sprintf("i%d", i))
		if always := corev1.ContainerRestartPolicyAlways; rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = &always
		}
		spec.InitContainers = append(spec.InitContainers, c)
	}
	if rapid.IntRange(0, 2).Draw(t, "podLevel") == 0 {
		spec.Resources = drawPodLevel(t)
	}
	// The last class does not exist.
	if class := rapid.SampledFrom([]string{"", "", "", "plain", "kata", "kata", "lost"}).Draw(t, "runtimeClass"); class != "" {
		spec.RuntimeClassName = &class
	}
	if rapid.IntRange(0, 3).Draw(t, "nodeSelector") == 0 {
		spec.NodeSelector = map[string]string{"runtime": rapid.SampledFrom([]string{"kata", "runc"}).Draw(t, "runtime")}
	}
	if rapid.IntRange(0, 2).Draw(t, "tolerates") == 0 {
		spec.Tolerations = []corev1.Toleration{{Key: "kata", Operator: corev1.TolerationOpExists}, {Key: "gpu", Value: "x"}}
	}
	return spec
}

func drawContainer(t *rapid.T, name string) corev1.Container {
	c := corev1.Container{Name: name, Image: "registry.example/train"}
	for _, r := range []struct {
		name corev1.ResourceName
		unit string
		most int
	}{{corev1.ResourceCPU, "37m", 40}, {corev1.ResourceMemory, "300M", 20}, {corev1.ResourceEphemeralStorage, "1Gi", 4}} {
		limit := rapid.IntRange(0, r.most).Draw(t, string(r.name)+" limit")
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0: // both
			set(&c.Resources.Limits, r.name, r.unit, limit)
			set(&c.Resources.Requests, r.name, r.unit, rapid.IntRange(0, limit).Draw(t, "request"))
		case 1:
			set(&c.Resources.Limits, r.name, r.unit, limit)
		case 2:
			set(&c.Resources.Requests, r.name, r.unit, limit)
		}
	}
	drawExact(t, &c, "nvidia.com/gpu", "1")
	drawExact(t, &c, "hugepages-2Mi", "2Mi")
	return c
}

// drawExact draws a resource whose request and limit must be the same.
func drawExact(t *rapid.T, c *corev1.Container, name corev1.ResourceName, unit string) {
	amount := rapid.IntRange(0, 4).Draw(t, string(name))
	switch rapid.IntRange(0, 4).Draw(t, "form") {
	case 0:
		set(&c.Resources.Limits, name, unit, amount)
	case 1:
		set(&c.Resources.Limits, name, unit, amount)
		set(&c.Resources.Requests, name, unit, amount)
	}
}

// drawPodLevel draws resources of the pod itself, big enough for most of what
// its containers ask for.
func drawPodLevel(t *rapid.T) *corev1.ResourceRequirements {
	r := &corev1.ResourceRequirements{}
	for _, one := range []struct {
		name corev1.ResourceName
		unit string
	}{{corev1.ResourceCPU, "37m"}, {corev1.ResourceMemory, "300M"}, {"hugepages-2Mi", "2Mi"}} {
		amount := rapid.IntRange(100, 200).Draw(t, string(one.name)+" of the pod")
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			set(&r.Limits, one.name, one.unit, amount)
		case 1:
			set(&r.Requests, one.name, one.unit, amount)
		case 2:
			set(&r.Limits, one.name, one.unit, amount)
			set(&r.Requests, one.name, one.unit, amount)
		}
	}
	return r
}

func set(list *corev1.ResourceList, name corev1.ResourceName, unit string, times int) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	q := resource.MustParse(unit)
	q.Mul(int64(times))
	(*list)[name] = q
}
