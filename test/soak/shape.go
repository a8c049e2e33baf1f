package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

const (
	queues = 10
	each   = 4 // GPUs of a node
)

// shape is what is created.
type shape struct {
	nodes, jobs, strangers int
	quota                  int64         // of each queue
	run                    time.Duration // of a Job, on average
}

// soak is the shape with a part of machines, quotas and Jobs, at a pace that is as many
// times faster.
func soak(part, faster float64) shape {
	some := func(n, least int) int { return max(least, int(math.Round(float64(n)*part))) }
	return shape{
		nodes: some(500, 8), jobs: some(2000, 40), strangers: some(250, 3), quota: int64(some(120, 16)),
		run: time.Duration(float64(90*time.Second) / faster),
	}
}

// least is the time that nobody can beat, about: the work divided by the quota.
func (s shape) least() time.Duration {
	return time.Duration(float64(s.jobs)*podsMean*gpusMean/float64(queues*s.quota)) * s.run
}

// What a Job asks for: 2.5 pods with 2 GPUs each, on average.
const podsMean, gpusMean = 2.5, 2.0

func pick(r *rand.Rand, from ...int64) int64 { return from[r.IntN(len(from))] }

func queueName(n int) string { return fmt.Sprintf("soak-%d", n%queues) }
func nodeName(n int) string  { return fmt.Sprintf("node-%03d", n) }

func (s shape) specs() []cluster.NodeSpec {
	var all []cluster.NodeSpec
	for n := range s.nodes {
		all = append(all, cluster.NodeSpec{Name: nodeName(n), GPUs: each})
	}
	return all
}

func (s shape) policy() string {
	var b strings.Builder
	b.WriteString("holdshort:\n  config:\n    flavors:\n      gpu: {}\n    queues:\n")
	for q := range queues {
		fmt.Fprintf(&b, `      %s:
        namespaces: {all: true}
        flavors: [gpu]
        quota:
          gpu: {%s: %d}
        placementTimeoutSeconds: 20
`, queueName(q), kubelet.ResourceGPU, s.quota)
	}
	return b.String()
}

func (s shape) quotas() map[string]int64 {
	all := map[string]int64{}
	for q := range queues {
		all[queueName(q)] = s.quota
	}
	return all
}

func (s shape) job(n int, r *rand.Rand) *batchv1.Job {
	pods, tries := int32(pick(r, 1, 2, 3, 4)), int32(50)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("job-%04d", n), Labels: map[string]string{policies.LabelQueue: queueName(n)},
	}}
	j.Spec.Parallelism, j.Spec.Completions, j.Spec.BackoffLimit = &pods, &pods, &tries
	j.Spec.Template = template(pick(r, 1, 1, 2, 4), time.Duration(float64(s.run)*(0.5+r.Float64())))
	return j
}

func stranger(name string, gpus int64, run time.Duration) *corev1.Pod {
	t := template(gpus, run)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: t.Annotations}, Spec: t.Spec}
}

func template(gpus int64, run time.Duration) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			kubelet.AnnotationRun: run.Round(time.Millisecond).String(), kubelet.AnnotationStop: "100ms",
		}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{kubelet.ResourceGPU: *resource.NewQuantity(gpus, resource.DecimalSI)},
			}}},
		},
	}
}
