//go:build plane

package placement_test

import (
	"fmt"
	"math/rand/v2"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// drawn is a small cluster with what runs there and the Jobs that want to.
type drawn struct {
	Seed      uint64
	Nodes     []machine
	Strangers []stranger
	Jobs      []*batchv1.Job // in the order of their arrival
	Devices   *devices       // nil: none but those of device plugins
	Around    around
}

type machine struct {
	kubelet.NodeSpec
	Cordoned, NotReady bool
}

// stranger is a pod that nobody queued.
type stranger struct {
	*corev1.Pod
	Terminating bool // told to go, and not gone for a long time
}

// text is a cluster for people to read, and to build again by hand.
func (d *drawn) text() string {
	data, err := yaml.Marshal(d)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// dice make everything of a cluster from its seed.
type dice struct{ *rand.Rand }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func (d dice) from(least, most int) int { return least + d.IntN(most-least+1) }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// draw makes the cluster of a seed. Amounts are small, so that most of what is
// asked for fits just so, or just not.
func draw(seed uint64) *drawn {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	c := &drawn{Seed: seed}
	for i := range d.from(3, 8) {
		c.Nodes = append(c.Nodes, d.machine(fmt.Sprintf("c%d-n%d", seed, i)))
	}
	for i := range d.IntN(9) {
		c.Strangers = append(c.Strangers, d.stranger(fmt.Sprintf("stranger-%d", i), c.Nodes))
	}
	for i := range d.from(1, 4) {
		c.Jobs = append(c.Jobs, d.job(fmt.Sprintf("train-%d", i)))
	}
	if d.chance(25) { // a second one of a kind
		twin := c.Jobs[0].DeepCopy()
		twin.Name = "twin"
		c.Jobs = append(c.Jobs, twin)
	}
	// Dice of their own: what else there is of a cluster does not change by it.
	if d := (dice{rand.New(rand.NewPCG(seed, 1))}); d.chance(60) {
		d.drawDevices(c)
	}
	if d := (dice{rand.New(rand.NewPCG(seed, 2))}); d.chance(60) {
		d.drawAround(c)
	}
	return c
}

func (d dice) machine(name string) machine {
	m := machine{
		NodeSpec: kubelet.NodeSpec{
			Name: name, CPU: fmt.Sprint(d.from(2, 10)), Memory: fmt.Sprintf("%dGi", d.from(4, 16)), Pods: fmt.Sprint(pick(d, 110, 110, d.from(1, 6))),
			Labels: map[string]string{"zone": pick(d, "a", "b"), "rank": fmt.Sprint(d.from(1, 3))},
		},
		Cordoned: d.chance(10), NotReady: d.chance(10),
	}
	if d.chance(60) {
		m.GPUs = int64(d.from(1, 8))
	}
	if d.chance(25) {
		m.Taints = append(m.Taints, corev1.Taint{
			Key: pick(d, "team", "maintenance"), Value: pick(d, "", "blue"),
			Effect: pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		})
	}
	return m
}

func (d dice) stranger(name string, nodes []machine) stranger {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": d.app()}},
		Spec:       d.pod(),
	}
	pod.Spec.PriorityClassName = pick(d, "", "low", "high")
	s := stranger{Pod: pod}
	if d.chance(60) { // past the scheduler, as static pods and those of some operators
		pod.Spec.NodeName = nodes[d.IntN(len(nodes))].Name
		pod.Spec.NodeSelector, pod.Spec.Affinity = nil, d.apart(nil)
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	}
	s.Terminating = d.chance(20)
	return s
}

func (d dice) app() string { return pick(d, "red", "green") }

func (d dice) job(name string) *batchv1.Job {
	yes, pods := true, int32(d.from(1, 5))
	labels := map[string]string{"app": d.app()}
	spec := d.pod()
	spec.PriorityClassName = pick(d, "even", "even", "high")
	spec.Affinity = d.apart(d.nodeAffinity(spec.Affinity))
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{policies.LabelQueue: name}},
		Spec: batchv1.JobSpec{
			Suspend: &yes, Parallelism: &pods, Completions: &pods,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
}

// pod is what a pod asks for, and where it may run.
func (d dice) pod() corev1.PodSpec {
	grace := int64(1)
	asks := corev1.ResourceList{"cpu": resource.MustParse(fmt.Sprintf("%dm", 250*d.from(1, 8)))}
	if d.chance(50) {
		asks["memory"] = resource.MustParse(fmt.Sprintf("%dGi", d.from(1, 4)))
	}
	limits := corev1.ResourceList{}
	if d.chance(50) {
		limits[kubelet.ResourceGPU] = *resource.NewQuantity(int64(d.from(1, 3)), resource.DecimalSI)
	}
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{Name: "main", Image: "pretended", Resources: corev1.ResourceRequirements{Requests: asks, Limits: limits}}},
	}
	if d.chance(25) {
		spec.NodeSelector = map[string]string{"zone": pick(d, "a", "b")}
	}
	if d.chance(30) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: pick(d, "team", "maintenance"), Operator: corev1.TolerationOpExists,
		})
	}
	if d.chance(5) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	}
	if d.chance(15) {
		spec.Containers[0].Ports = []corev1.ContainerPort{{
			ContainerPort: 8080, HostPort: pick(d, int32(8080), 8081), HostIP: pick(d, "", "", "", "127.0.0.1"),
			Protocol: pick(d, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		}}
	}
	return spec
}

func (d dice) nodeAffinity(a *corev1.Affinity) *corev1.Affinity {
	if !d.chance(25) {
		return a
	}
	requirement := pick(d,
		corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}},
		corev1.NodeSelectorRequirement{Key: "rank", Operator: corev1.NodeSelectorOpGt, Values: []string{"1"}},
		corev1.NodeSelectorRequirement{Key: "rank", Operator: corev1.NodeSelectorOpIn, Values: []string{"1", "3"}},
	)
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{requirement}}},
	}}}
}

// apart keeps a pod from the nodes where pods of some label run.
func (d dice) apart(a *corev1.Affinity) *corev1.Affinity {
	if !d.chance(20) {
		return a
	}
	if a == nil {
		a = &corev1.Affinity{}
	}
	a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.app()}}, TopologyKey: corev1.LabelHostname,
	}}}
	return a
}
