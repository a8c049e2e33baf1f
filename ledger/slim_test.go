package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// randomPods are pods with something in every field that may matter.
func randomPods(seed int64) *randfill.Filler {
	names := []corev1.ResourceName{"cpu", "memory", "nvidia.com/gpu", "example.com/slice"}
	return randfill.NewWithSeed(seed).NilChance(0.4).NumElements(1, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(9), resource.DecimalSI)
		},
		func(l *corev1.ResourceList, c randfill.Continue) {
			*l = corev1.ResourceList{}
			for _, name := range names[:c.Intn(len(names)+1)] {
				(*l)[name] = *resource.NewQuantity(c.Int63n(9), resource.DecimalSI)
			}
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawBytes([]byte("{}")) },
		func(p *corev1.PodPhase, c randfill.Continue) { *p = []corev1.PodPhase{"Pending", "Running"}[c.Intn(2)] },
		func(t *corev1.PodConditionType, c randfill.Continue) {
			*t = []corev1.PodConditionType{"PodScheduled", "Ready", "PodResizePending", "PodResizeInProgress", "ContainersReady", "Initialized"}[c.Intn(6)]
		},
		func(s *corev1.ConditionStatus, c randfill.Continue) {
			*s = []corev1.ConditionStatus{"True", "False"}[c.Intn(2)]
		},
		func(a *corev1.UnsatisfiableConstraintAction, c randfill.Continue) {
			*a = []corev1.UnsatisfiableConstraintAction{"DoNotSchedule", "ScheduleAnyway"}[c.Intn(2)]
		},
		func(o *metav1.LabelSelectorOperator, _ randfill.Continue) { *o = metav1.LabelSelectorOpExists },
	)
}

// shape a random pod like a real one: what names each other does.
func shape(pod *corev1.Pod, i int) {
	pod.Annotations = map[string]string{policies.AnnotationFlavors: `{"nvidia.com/gpu":"h100"}`, "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	pod.Labels = map[string]string{policies.LabelQueue: "research", "controller-uid": "job-1", "app": "x"}
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "job-1", Controller: &yes}}
	if i%2 == 0 {
		pod.Spec.NodeName = ""
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			list[i].Name = fmt.Sprint("c", i)
		}
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			list[i].Name = fmt.Sprint("c", i)
		}
	}
	if i%3 == 0 && len(pod.Spec.Containers) > 0 && len(pod.Status.ContainerStatuses) > 0 { // as a kubelet says it
		asked := pod.Spec.Containers[0].Resources.DeepCopy()
		pod.Status.ContainerStatuses[0].Resources, pod.Status.ContainerStatuses[0].AllocatedResources = asked, asked.Requests.DeepCopy()
	}
}

// TestAllThatIsReadOfAPodSurvives: what decisions know of a pod is the same, whatever it
// has, whether it came through the cache or not.
func TestAllThatIsReadOfAPodSurvives(t *testing.T) {
	read, slim := 0, newSlimmer()
	for i := range 2000 {
		whole := &corev1.Pod{}
		randomPods(int64(i)).Fill(whole)
		shape(whole, i)
		want := intake.Pod(whole.DeepCopy(), nil)
		got, err := slim.pod(whole.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, intake.Pod(got.(*corev1.Pod), nil)); diff != "" {
			t.Fatalf("pod %d is read otherwise when it is slim (-whole +slim):\n%s", i, diff)
		}
		if len(want.Place.Unverified) > 0 || len(want.Place.Once) > 0 || want.Ready {
			read++
		}
	}
	if read < 500 {
		t.Errorf("only %d pods had something to read; the random pods are too poor to tell", read)
	}
}

func TestAllThatIsReadOfANodeSurvives(t *testing.T) {
	for i := range 500 {
		whole := &corev1.Node{}
		randomPods(int64(i)).Fill(whole)
		want := intake.Node(whole.DeepCopy())
		got, err := slimNode(whole.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, intake.Node(got.(*corev1.Node))); diff != "" {
			t.Fatalf("node %d is read otherwise when it is slim (-whole +slim):\n%s", i, diff)
		}
	}
}

// realPod is a training's pod as an API server tells it, some containers and a lot said.
const realPod = `
metadata:
  name: train-0-abcde
  generateName: train-0-
  namespace: research
  uid: 0b8d6a30-3f5e-4a80-8f21-000000000000
  resourceVersion: "123456"
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels:
    batch.kubernetes.io/controller-uid: 7b8d6a30-3f5e-4a80-8f21-000000000000
    batch.kubernetes.io/job-completion-index: "0"
    batch.kubernetes.io/job-name: train
    controller-uid: 7b8d6a30-3f5e-4a80-8f21-000000000000
    holdshort.dev/queue: research
    job-name: train
    app.kubernetes.io/name: trainer
  annotations:
    holdshort.dev/flavors: '{"cpu":"h100","memory":"h100","nvidia.com/gpu":"h100"}'
    batch.kubernetes.io/job-completion-index: "0"
    prometheus.io/scrape: "true"
    k8s.v1.cni.cncf.io/network-status: '[{"name": "cbr0", "interface": "eth0", "ips": ["10.1.2.3"], "mac": "aa:bb:cc:dd:ee:ff", "default": true, "dns": {}}]'
  finalizers: [batch.kubernetes.io/job-tracking]
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: 7b8d6a30-3f5e-4a80-8f21-000000000000, controller: true, blockOwnerDeletion: true}]
  managedFields:
  - {apiVersion: v1, fieldsType: FieldsV1, manager: kube-controller-manager, operation: Update, time: "2026-01-01T00:00:00Z", fieldsV1: {"f:metadata": {"f:annotations": {".": {}, "f:holdshort.dev/flavors": {}}, "f:generateName": {}, "f:labels": {".": {}, "f:job-name": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"train\"}": {".": {}, "f:image": {}, "f:env": {}}}}}}
  - {apiVersion: v1, fieldsType: FieldsV1, manager: kubelet, operation: Update, subresource: status, time: "2026-01-01T00:00:00Z", fieldsV1: {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}}}, "f:containerStatuses": {}, "f:podIP": {}}}}
spec:
  nodeName: node-00001
  restartPolicy: Never
  serviceAccountName: trainer
  serviceAccount: trainer
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 30
  dnsPolicy: ClusterFirst
  priority: 0
  preemptionPolicy: PreemptLowerPriority
  enableServiceLinks: true
  securityContext: {runAsUser: 1000, fsGroup: 1000}
  imagePullSecrets: [{name: registry}]
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
  affinity:
    nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchFields: [{key: metadata.name, operator: In, values: [node-00001, node-00002]}]}}]}
  tolerations:
  - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  volumes:
  - name: kube-api-access-abcde
    projected: {defaultMode: 420, sources: [{serviceAccountToken: {expirationSeconds: 3607, path: token}}, {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}}, {downwardAPI: {items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]}}]}
  - {name: shm, emptyDir: {medium: Memory}}
  - {name: data, persistentVolumeClaim: {claimName: data}}
  initContainers:
  - {name: fetch, image: "registry.example.com/fetch:1", command: [sh, -c, "fetch the data"], env: [{name: A, value: b}], volumeMounts: [{name: data, mountPath: /data}]}
  containers:
  - name: train
    image: registry.example.com/train@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    command: [python, train.py, --epochs=10, --batch=32, --output=/data/out]
    ports: [{containerPort: 29500, protocol: TCP}]
    env: [{name: MASTER_ADDR, value: train-0.train}, {name: NCCL_DEBUG, value: INFO}, {name: RANK, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}, {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]
    resources: {requests: {cpu: "8", memory: 64Gi, nvidia.com/gpu: "1"}, limits: {memory: 64Gi, nvidia.com/gpu: "1"}}
    volumeMounts: [{name: data, mountPath: /data}, {name: shm, mountPath: /dev/shm}, {name: kube-api-access-abcde, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    imagePullPolicy: IfNotPresent
  - {name: log, image: "registry.example.com/log:1", resources: {requests: {cpu: 100m, memory: 64Mi}}, env: [{name: A, value: b}]}
status:
  phase: Running
  startTime: "2026-01-01T00:00:00Z"
  hostIP: 10.0.0.1
  hostIPs: [{ip: 10.0.0.1}]
  podIP: 10.1.2.3
  podIPs: [{ip: 10.1.2.3}]
  qosClass: Burstable
  conditions:
  - {type: PodReadyToStartContainers, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Initialized, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: ContainersReady, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z", message: said}
  initContainerStatuses:
  - {name: fetch, image: "registry.example.com/fetch:1", imageID: "sha256:1", containerID: "containerd://1", ready: true, restartCount: 0, state: {terminated: {exitCode: 0, reason: Completed}}}
  containerStatuses:
  - name: train
    image: registry.example.com/train@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    imageID: registry.example.com/train@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    containerID: containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    ready: true
    restartCount: 0
    started: true
    state: {running: {startedAt: "2026-01-01T00:00:00Z"}}
    allocatedResources: {cpu: "8", memory: 64Gi, nvidia.com/gpu: "1"}
    resources: {requests: {cpu: "8", memory: 64Gi, nvidia.com/gpu: "1"}, limits: {memory: 64Gi, nvidia.com/gpu: "1"}}
    volumeMounts: [{name: data, mountPath: /data}]
  - {name: log, image: "registry.example.com/log:1", imageID: "sha256:2", containerID: "containerd://2", ready: true, restartCount: 0, started: true, state: {running: {startedAt: "2026-01-01T00:00:00Z"}}, allocatedResources: {cpu: 100m, memory: 64Mi}, resources: {requests: {cpu: 100m, memory: 64Mi}}}
`

func aRealPod(tb testing.TB) *corev1.Pod {
	tb.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(realPod), pod); err != nil {
		tb.Fatal(err)
	}
	return pod
}

// TestTheRestOfAPodIsGone: what makes pods big is not kept.
func TestTheRestOfAPodIsGone(t *testing.T) {
	whole, slim := aRealPod(t), newSlimmer()
	got, err := slim.pod(whole.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{
		"managedFields", "cni.cncf.io", "env", "registry.example.com", "command", "volumeMounts", "projected", "emptyDir", "securityContext",
		"serviceAccount", "tolerations", "nodeSelector", "ContainersReady", "podIP", "hostIP", "containerID", "containerPort", "generateName",
	} {
		if !strings.Contains(string(before), gone) || strings.Contains(string(after), gone) {
			t.Errorf("%s is kept, or was never there", gone)
		}
	}
	for _, kept := range []string{"persistentVolumeClaim", "holdshort.dev/flavors", "ownerReferences", "allocatedResources", "finalizers"} {
		if !strings.Contains(string(after), kept) {
			t.Errorf("%s is gone", kept)
		}
	}
	if len(after) > len(before)/2 {
		t.Errorf("of %d bytes %d are left", len(before), len(after))
	}
}

// TestWhatPodsHaveAlikeIsKeptOnce, and what they don't is their own.
func TestWhatPodsHaveAlikeIsKeptOnce(t *testing.T) {
	slim := newSlimmer()
	keep := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := aRealPod(t)
		change(pod)
		got, err := slim.pod(pod)
		if err != nil {
			t.Fatal(err)
		}
		return got.(*corev1.Pod)
	}
	one := keep(func(p *corev1.Pod) { p.Name = "one" })
	alike := keep(func(p *corev1.Pod) { p.Name, p.Spec.NodeName = "alike", "elsewhere" })
	other := keep(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("9") })
	if &one.Spec.Containers[0] != &alike.Spec.Containers[0] || alike.Name != "alike" || alike.Spec.NodeName != "elsewhere" {
		t.Error("pods of one template do not share their containers, or share their names")
	}
	if cpu := other.Spec.Containers[0].Resources.Requests["cpu"]; cpu.Value() != 9 || len(slim.shapes) != 2 {
		t.Errorf("one that asks for more is kept as asking for %s, among %d shapes", cpu.String(), len(slim.shapes))
	}
	for i := range shapesMax {
		slim.shapes[fmt.Sprint(i)] = one
	}
	keep(func(p *corev1.Pod) { p.Spec.Containers[0].Name = "new" })
	if len(slim.shapes) > shapesMax {
		t.Errorf("%d shapes are known; the most is %d", len(slim.shapes), shapesMax)
	}
}
