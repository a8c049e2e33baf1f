package ledger

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/policies"
)

// A big cluster, which the manager is to hold in less than 1 GiB. The chart's GOMEMLIMIT
// has the collector work harder before it needs more; a third of it is left for that.
const (
	bigNodes   = 10_000
	bigPods    = 100_000
	bigRunning = 5_000 // Jobs, of 16 pods each: 80,000 of the pods, a GPU each
	bigWaiting = 10_000
	bigMost    = 620 // MiB that may live
)

const bigPolicy = `holdshort:
  config:
    flavors: {gpu: {}}
    queues:
      research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 80000, cpu: 10000000, memory: 10000Ti}}}
`

// stored is what an object costs in the cache: decoded from the wire, each text its own.
func stored[T any, P interface {
	*T
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}](tb testing.TB, from P) P {
	tb.Helper()
	data, err := from.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	to := P(new(T))
	if err := to.Unmarshal(data); err != nil {
		tb.Fatal(err)
	}
	return to
}

// bigPod is one of the pods: of a running Job, or of nobody's.
func bigPod(tb testing.TB, like *corev1.Pod, i int) *corev1.Pod {
	pod := *like
	pod.Name, pod.UID, pod.Spec.NodeName = fmt.Sprintf("pod-%06d", i), types.UID(fmt.Sprintf("pod-uid-%06d-3f5e-4a80-8f21-0123456789ab", i)), bigNode(i%bigNodes)
	if i < 16*bigRunning {
		of := i / 16
		uid, yes := bigUID(of), true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: fmt.Sprint("job-", of), UID: uid, Controller: &yes}}
		pod.Labels = map[string]string{
			batchv1.ControllerUidLabel: string(uid), batchv1.JobNameLabel: fmt.Sprint("job-", of), "controller-uid": string(uid),
			policies.LabelQueue: "research", "app.kubernetes.io/name": "trainer",
		}
	} else {
		pod.OwnerReferences, pod.Labels, pod.Annotations = nil, map[string]string{"app": fmt.Sprint("app-", i%500)}, nil
	}
	return stored(tb, &pod)
}

func bigNode(i int) string { return fmt.Sprintf("node-%05d", i) }
func bigUID(i int) types.UID {
	return types.UID(fmt.Sprintf("job-uid-%06d-3f5e-4a80-8f21-0123456789ab", i))
}

func bigMachine(tb testing.TB, i int) *corev1.Node {
	n := node(bigNode(i), 8)
	for _, key := range []string{"nvidia.com/gpu.product", "nvidia.com/gpu.count", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"} {
		n.Labels[key] = "NVIDIA-H100-80GB-HBM3"
	}
	for l := range 40 { // as feature discovery says
		n.Labels[fmt.Sprintf("feature.node.kubernetes.io/cpu-cpuid.%02d", l)] = "true"
	}
	n.Annotations = map[string]string{"csi.volume.kubernetes.io/nodeid": `{"driver":"` + n.Name + `"}`}
	n.Status.Allocatable["cpu"], n.Status.Allocatable["memory"] = resource.MustParse("192"), resource.MustParse("2Ti")
	n.Status.Capacity = n.Status.Allocatable
	for i := range 50 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.com/image-%02d@sha256:0123456789abcdef0123456789abcdef", i)}, SizeBytes: 1 << 30})
	}
	return stored(tb, n)
}

// bigJob is one that runs or waits.
func bigJob(tb testing.TB, like *corev1.Pod, i int, runs bool) *batchv1.Job {
	pods, suspended := int32(16), !runs
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: fmt.Sprint("job-", i), UID: bigUID(i), ResourceVersion: "7", CreationTimestamp: metav1.NewTime(time.Unix(1_800_000_000, 0)),
		Labels: map[string]string{policies.LabelQueue: "research", policies.LabelState: policies.StateQueued},
	}}
	j.Spec.Parallelism, j.Spec.Completions, j.Spec.Suspend = &pods, &pods, &suspended
	like.Spec.DeepCopyInto(&j.Spec.Template.Spec)
	j.Spec.Template.Spec.NodeName, j.Spec.Template.Spec.Affinity = "", nil
	j.Spec.Template.Spec.Volumes = nil
	if runs {
		j.Labels[policies.LabelState] = policies.StateAdmitted
		j.Annotations = map[string]string{policies.AnnotationReservation: fmt.Sprintf(
			`{"uid":%q,"queue":"research","podSets":[{"name":"main","count":16,"requests":{"nvidia.com/gpu":1,"cpu":8100,"memory":68786585600,"pods":1},"flavors":{"nvidia.com/gpu":"gpu","cpu":"gpu","memory":"gpu","pods":"gpu"}}],"revision":"abc","time":7}`, bigUID(i))}
	}
	return stored(tb, j)
}

func liveMiB() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and unique's table still held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkMemory is what lives of a big cluster: the pods as the API server tells them
// and as the cache keeps them, and all that the manager holds, cache, book and plan.
func BenchmarkMemory(b *testing.B) {
	like := aRealPod(b)
	for b.Loop() {
		empty := liveMiB()
		var whole []any
		for i := range bigPods / 20 {
			whole = append(whole, bigPod(b, like, i))
		}
		b.ReportMetric(20*(liveMiB()-empty), "MiB-pods-whole")
		runtime.KeepAlive(whole)
		whole = nil

		l, cache := bigLoop(b, like, empty)
		for range 3 {
			l.round(b.Context())
		}
		all := liveMiB() - empty
		b.ReportMetric(all, "MiB-manager")
		b.ReportMetric(all/bigMost, "of-bound")
		if all > bigMost {
			b.Errorf("MISS: %.0f MiB live; the most is %d", all, bigMost)
		} else {
			b.Logf("PASS: %.0f MiB live; the most is %d", all, bigMost)
		}
		if got := len(l.jobs); got != bigRunning+bigWaiting {
			b.Fatalf("the loop knows %d Jobs", got)
		}
		runtime.KeepAlive(cache)
	}
}

// bigLoop has seen a big cluster, through the cache.
func bigLoop(b *testing.B, like *corev1.Pod, empty float64) (*bench, []any) {
	l := newBench(b, map[string]string{"data.yaml": bigPolicy})
	l.inbox.put(func(batch *batch) {
		batch.namespaces["research"] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "research"}}
	})
	var cache []any
	keep := func(obj any, err error) any {
		if err != nil {
			b.Fatal(err)
		}
		cache = append(cache, obj)
		return obj
	}
	for i := range bigNodes {
		n := keep(slimNode(bigMachine(b, i))).(*corev1.Node)
		l.inbox.put(func(batch *batch) { batch.nodes[n.Name] = n })
	}
	nodes, slim := liveMiB(), newSlimmer()
	b.ReportMetric(nodes-empty, "MiB-nodes")
	for i := range bigPods {
		l.markPod(keep(slim.pod(bigPod(b, like, i))).(*corev1.Pod), false)
	}
	b.ReportMetric(liveMiB()-nodes, "MiB-pods")
	pods := liveMiB()
	for i := range bigRunning + bigWaiting {
		l.markJob(keep(bigJob(b, like, i, i < bigRunning), nil).(*batchv1.Job), false)
	}
	b.ReportMetric(liveMiB()-pods, "MiB-jobs")
	return l, cache
}

// BenchmarkSlimPod is what a pod's event costs in the cache before anybody reads it.
func BenchmarkSlimPod(b *testing.B) {
	like, slim := aRealPod(b), newSlimmer()
	pods := make([]*corev1.Pod, b.N)
	for i := range pods {
		pods[i] = bigPod(b, like, i%bigPods)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, pod := range pods {
		if _, err := slim.pod(pod); err != nil {
			b.Fatal(err)
		}
	}
}
