package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// The machines.
const (
	nodes   = 20
	each    = 8 // GPUs of a node
	gpus    = nodes * each
	foreign = gpus / 3 // held by pods that nobody queued
)

// stranger is a pod that nobody queued.
type stranger struct {
	node string
	gpus int64
}

// gang is a Job: so many pods, of so many GPUs each.
type gang struct {
	name       string
	pods, gpus int64
	run        time.Duration
}

// load is what both are given.
type load struct {
	strangers []stranger
	free      map[string]int64 // of each node, beside the strangers
	gangs     []gang
}

// draw makes the load of a seed.
func draw(seed uint64, jobs int) load {
	r := rand.New(rand.NewPCG(seed, 1))
	l := load{free: map[string]int64{}}
	for n := range nodes {
		l.free[nodeName(n)] = each
	}
	for left := int64(foreign); left > 0; {
		s := stranger{nodeName(r.IntN(nodes)), min(left, pick(r, 1, 1, 2, 2, 4, 8))}
		if l.free[s.node] >= s.gpus {
			l.free[s.node] -= s.gpus
			l.strangers = append(l.strangers, s)
			left -= s.gpus
		}
	}
	for len(l.gangs) < jobs {
		g := gang{
			name: fmt.Sprintf("gang-%03d", len(l.gangs)), pods: pick(r, 1, 1, 2, 2, 3, 4, 8), gpus: pick(r, 1, 2, 3, 4, 8),
			run: time.Duration(3000+r.IntN(10_000)) * time.Millisecond,
		}
		if l.holds(g) { // or it would never run, anywhere
			l.gangs = append(l.gangs, g)
		}
	}
	return l
}

func pick(r *rand.Rand, from ...int64) int64 { return from[r.IntN(len(from))] }

func nodeName(n int) string { return fmt.Sprintf("node-%02d", n) }

// holds tells whether a gang runs where strangers are alone.
func (l load) holds(g gang) bool {
	pods := int64(0)
	for _, free := range l.free {
		pods += free / g.gpus
	}
	return pods >= g.pods
}

// least is the time that nobody can beat: the work divided by what is free.
func (l load) least() time.Duration {
	var work time.Duration
	for _, g := range l.gangs {
		work += time.Duration(g.pods*g.gpus) * g.run
	}
	return work / (gpus - foreign)
}

func specs() []cluster.NodeSpec {
	var all []cluster.NodeSpec
	for n := range nodes {
		all = append(all, cluster.NodeSpec{Name: nodeName(n), GPUs: each})
	}
	return all
}

func (s stranger) pod(n int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("stranger-%02d", n)}, Spec: spec(s.gpus)}
	p.Spec.NodeName = s.node
	return p
}

// job of a gang, for whoever sets its labels.
func (g gang) job() *batchv1.Job {
	pods := int32(g.pods)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: g.name, Labels: map[string]string{}}}
	j.Spec.Parallelism, j.Spec.Completions = &pods, &pods
	j.Spec.Template.Annotations = map[string]string{kubelet.AnnotationRun: g.run.String(), kubelet.AnnotationStop: "100ms"}
	j.Spec.Template.Spec = spec(g.gpus)
	return j
}

func spec(gpus int64) corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{kubelet.ResourceGPU: *resource.NewQuantity(gpus, resource.DecimalSI)},
		}}},
	}
}
