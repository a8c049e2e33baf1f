package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func withRequests(pod *corev1.Pod, name corev1.ResourceName, amount string) *corev1.Pod {
	pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(amount)
	return pod
}

func TestWhatDoesNotFitIsRefusedInAKubeletsWords(t *testing.T) {
	needsOther := testPod("p", 0)
	needsOther.Spec.NodeSelector = map[string]string{"zone": "elsewhere"}
	cases := []struct {
		name string
		pod  *corev1.Pod
		want string // reason; empty if it fits
	}{
		{"as many devices as there are", testPod("p", 6), ""},
		{"a device too many", testPod("p", 7), "UnexpectedAdmissionError"},
		{"a device the node never had", withRequests(testPod("p", 0), "google.com/tpu", "1"), "UnexpectedAdmissionError"},
		{"the last of the cpu", withRequests(testPod("p", 0), "cpu", "4"), ""},
		{"a millicore too much", withRequests(testPod("p", 0), "cpu", "4001m"), "OutOfcpu"},
		{"too much memory", withRequests(testPod("p", 0), "memory", "1Ti"), "OutOfmemory"},
		{"cpu is looked at before devices", withRequests(testPod("p", 7), "cpu", "5"), "OutOfcpu"},
		{"another node's selector", needsOther, "NodeAffinity"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			devices := testTable(8)
			if refused := devices.admit(testPod("first", 2)); refused != nil {
				t.Fatalf("the first pod was refused: %+v", refused)
			}
			got := ""
			if refused := devices.admit(c.pod); refused != nil {
				got = refused.reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLastSlotForPodsIsTheLast(t *testing.T) {
	object, err := NodeSpec{Name: "n", Pods: "1"}.object(metav1.Now())
	if err != nil {
		t.Fatal(err)
	}
	devices := newTable(object)
	if refused := devices.admit(testPod("a", 0)); refused != nil {
		t.Fatalf("the first pod was refused: %+v", refused)
	}
	if refused := devices.admit(testPod("b", 0)); refused == nil || refused.reason != "OutOfpods" {
		t.Errorf("the second pod got %+v; want OutOfpods", refused)
	}
}

// Whatever comes and goes, a table never gives more than it has.
func TestATableNeverGivesMoreThanItHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices := testTable(8)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := rapid.StringMatching("[a-f]").Draw(t, "pod")
			if _, held := devices.held[types.UID(uid)]; held {
				devices.release(types.UID(uid))
				continue
			}
			devices.admit(testPod(uid, rapid.Int64Range(0, 9).Draw(t, "gpus")))
			if used := devices.used(ResourceGPU); used > 8 {
				t.Fatalf("%d of 8 GPUs are in use", used)
			}
		}
	})
}

func TestANodeLooksAsFeatureDiscoveryMakesIt(t *testing.T) {
	with, err := NodeSpec{Name: "a", GPUs: 8, Labels: map[string]string{"zone": "z"}}.object(metav1.Now())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"kubernetes.io/hostname": "a", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "zone": "z",
		"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "81559",
		"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "run.ai/simulated-gpu-node-pool": "default",
	}
	if diff := cmp.Diff(want, with.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	without, err := NodeSpec{Name: "b"}.object(metav1.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, has := without.Status.Allocatable[ResourceGPU]; has || len(without.Labels) != 3 {
		t.Errorf("a node without GPUs carries a trace of them: %v, %v", without.Labels, without.Status.Allocatable)
	}
}

func TestAnAmountThatIsNoneIsNamed(t *testing.T) {
	_, err := NodeSpec{Name: "a", CPU: "lots"}.object(metav1.Now())
	if err == nil || !strings.Contains(err.Error(), `allocatable cpu "lots"`) {
		t.Errorf("error %v; want one that names the resource and the amount", err)
	}
}

func TestScripts(t *testing.T) {
	for annotation, bad := range map[string]string{AnnotationRun: "-1s", AnnotationStop: "3", AnnotationGhost: "x", AnnotationExitCode: "256"} {
		if _, err := readScript(testPod("p", 0, annotation, bad)); err == nil || !strings.Contains(err.Error(), annotation) {
			t.Errorf("%s=%s: error %v; want one that names the annotation", annotation, bad, err)
		}
	}
	got, err := readScript(testPod("p", 0))
	if err != nil || got != (script{run: defaultRun, stop: defaultStop}) {
		t.Errorf("without annotations: %+v, %v; want an hour and the grace period", got, err)
	}
}
