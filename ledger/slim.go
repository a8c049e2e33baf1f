package ledger

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// slimmer drops what no decision reads of pods: most of what a cluster's memory holds of
// them. What is not known to be bulky stays, so that a field that is read one day is
// there; a test holds that intake reads the same of both. What pods of one template have
// in common is kept once.
type slimmer struct {
	mu     sync.Mutex
	shapes map[string]*corev1.Pod // by what is written in them
}

func newSlimmer() *slimmer { return &slimmer{shapes: map[string]*corev1.Pod{}} }

func (s *slimmer) pod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	slimMeta(&pod.ObjectMeta, func(key string) bool { return strings.HasPrefix(key, policies.Prefix) })
	slimSpec(&pod.Spec)
	slimStatus(&pod.Status)
	s.share(pod)
	return pod, nil
}

// share what pods of one template have alike. The cache's objects are never written to.
func (s *slimmer) share(pod *corev1.Pod) {
	shape := &corev1.Pod{
		Spec: corev1.PodSpec{
			InitContainers: pod.Spec.InitContainers, Containers: pod.Spec.Containers, Affinity: pod.Spec.Affinity,
			NodeSelector: pod.Spec.NodeSelector, Tolerations: pod.Spec.Tolerations, Overhead: pod.Spec.Overhead, Resources: pod.Spec.Resources,
		},
		Status: corev1.PodStatus{ContainerStatuses: pod.Status.ContainerStatuses, InitContainerStatuses: pod.Status.InitContainerStatuses},
	}
	key, err := shape.Marshal() // maps are written in the order of their keys
	if err != nil {
		return // it is kept as it is
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.shapes[string(key)]
	if known == nil {
		if len(s.shapes) >= shapesMax {
			clear(s.shapes) // those of pods that are long gone, too
		}
		known = shape
		known.Spec.Containers, known.Spec.InitContainers = slices.Clone(shape.Spec.Containers), slices.Clone(shape.Spec.InitContainers)
		s.shapes[string(key)] = known
	}
	pod.Spec.InitContainers, pod.Spec.Containers, pod.Spec.Affinity = known.Spec.InitContainers, known.Spec.Containers, known.Spec.Affinity
	pod.Spec.NodeSelector, pod.Spec.Tolerations = known.Spec.NodeSelector, known.Spec.Tolerations
	pod.Spec.Overhead, pod.Spec.Resources = known.Spec.Overhead, known.Spec.Resources
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = known.Status.ContainerStatuses, known.Status.InitContainerStatuses
}

// slimMeta keeps the annotations that are read, and texts that many objects have once.
func slimMeta(meta *metav1.ObjectMeta, reads func(annotation string) bool) {
	meta.ManagedFields = nil
	maps.DeleteFunc(meta.Annotations, func(key, _ string) bool { return !reads(key) })
	meta.Namespace, meta.GenerateName = once(meta.Namespace), ""
	meta.Labels, meta.Annotations = onceIn(meta.Labels), onceIn(meta.Annotations)
	for i := range meta.OwnerReferences {
		owner := &meta.OwnerReferences[i]
		owner.APIVersion, owner.Kind, owner.Name = once(owner.APIVersion), once(owner.Kind), once(owner.Name)
		owner.UID = types.UID(once(string(owner.UID)))
	}
}

// once is a text that is kept once however many objects have it, and as long as one has.
func once(text string) string { return unique.Make(text).Value() }

func onceIn(texts map[string]string) map[string]string {
	if len(texts) == 0 {
		return nil
	}
	kept := make(map[string]string, len(texts))
	for key, value := range texts {
		kept[once(key)] = once(value)
	}
	return kept
}

func slimSpec(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			slimContainer(&containers[i], spec.HostNetwork)
		}
	}
	// Of volumes, only those that tie a pod to nodes are read.
	spec.Volumes = only(spec.Volumes, func(v corev1.Volume) bool { return intake.Ties(&v) })
	spec.EphemeralContainers, spec.SecurityContext, spec.ImagePullSecrets = nil, nil, nil
	spec.HostAliases, spec.DNSConfig, spec.ReadinessGates = nil, nil, nil
	spec.ServiceAccountName, spec.DeprecatedServiceAccount, spec.Hostname, spec.Subdomain = "", "", "", ""
	spec.NodeName, spec.SchedulerName = once(spec.NodeName), once(spec.SchedulerName)
	spec.NodeSelector = onceIn(spec.NodeSelector)
	if spec.NodeName != "" { // where it might have gone matters no more
		spec.NodeSelector, spec.Tolerations, spec.TopologySpreadConstraints = nil, nil, nil
		if spec.Affinity != nil {
			spec.Affinity = &corev1.Affinity{PodAntiAffinity: spec.Affinity.PodAntiAffinity}
		}
	}
}

// slimContainer keeps name, resources, ports of the node, restart policy, and what needs a
// feature of the node.
func slimContainer(c *corev1.Container, hostNetwork bool) {
	ports := only(c.Ports, func(p corev1.ContainerPort) bool { return hostNetwork || p.HostPort != 0 })
	*c = corev1.Container{
		Name: once(c.Name), Resources: c.Resources, ResizePolicy: c.ResizePolicy,
		RestartPolicy: c.RestartPolicy, Ports: ports, RestartPolicyRules: c.RestartPolicyRules,
		VolumeMounts: only(c.VolumeMounts, func(m corev1.VolumeMount) bool { return len(m.BindMountOptions) > 0 }),
	}
}

// only those of a list that are read; nil if none is.
func only[T any](list []T, reads func(T) bool) []T {
	var kept []T
	for _, item := range list {
		if reads(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// slimStatus keeps who a pod waits for, and what it was given.
func slimStatus(status *corev1.PodStatus) {
	status.Conditions = only(status.Conditions, func(c corev1.PodCondition) bool { return readsCondition(c.Type) })
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Status, c.Reason, c.Message = corev1.PodConditionType(once(string(c.Type))), corev1.ConditionStatus(once(string(c.Status))), once(c.Reason), ""
	}
	status.ContainerStatuses, status.InitContainerStatuses = slimStatuses(status.ContainerStatuses), slimStatuses(status.InitContainerStatuses)
	status.EphemeralContainerStatuses, status.VolumeHealth = nil, nil
	status.Message, status.HostIP, status.PodIP, status.HostIPs, status.PodIPs = "", "", "", nil, nil
}

func readsCondition(is corev1.PodConditionType) bool {
	switch is {
	case corev1.PodScheduled, corev1.PodReady, corev1.PodResizePending, corev1.PodResizeInProgress, corev1.DisruptionTarget:
		return true
	}
	return false
}

// slimStatuses keeps what containers were given.
func slimStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range all {
		if s := &all[i]; s.AllocatedResources != nil || s.Resources != nil {
			kept = append(kept, corev1.ContainerStatus{Name: once(s.Name), AllocatedResources: s.AllocatedResources, Resources: s.Resources})
		}
	}
	return kept
}

func slimNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	slimMeta(&node.ObjectMeta, intake.NodeAnnotation)
	for key := range node.Annotations {
		node.Annotations[key] = "" // that it is there says enough
	}
	node.Status.Images, node.Status.Addresses, node.Status.RuntimeHandlers = nil, nil, nil
	node.Status.VolumesInUse, node.Status.Config = nil, nil
	node.Status.NodeInfo = corev1.NodeSystemInfo{}
	node.Status.Conditions = only(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	return node, nil
}
