package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceGPU is the device-plugin resource of NodeSpec.GPUs.
const ResourceGPU = "nvidia.com/gpu"

// NodeSpec describes a node. Only the name is required.
type NodeSpec struct {
	Name string
	// GPUs it has, of one product; 0 means that it carries no trace of any.
	GPUs      int64
	Product   string // default NVIDIA-H100-80GB-HBM3
	MemoryMiB int64  // of one GPU; default 81559
	// Allocatable amounts; defaults 32, 128Gi and 110.
	CPU, Memory, Pods string
	Extra             map[string]string // more of them, by resource name
	Devices           Devices           // by DRA; they and GPUs are different cards
	Labels            map[string]string // beside the usual ones
	Taints            []corev1.Taint
	// DeclaredFeatures decide whether pods that need one may come; nil means
	// those that make no difference to a process that only pretends to run.
	DeclaredFeatures []string
}

const (
	defaultProduct   = "NVIDIA-H100-80GB-HBM3"
	defaultMemoryMiB = 81559
)

func defaultFeatures() []string {
	return []string{"UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"}
}

// object is the Node as its kubelet registers it, ready.
func (s NodeSpec) object(now metav1.Time) (*corev1.Node, error) {
	amounts, err := s.allocatable()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", s.Name, err)
	}
	features := s.DeclaredFeatures
	if features == nil {
		features = defaultFeatures()
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: s.labels()},
		Spec:       corev1.NodeSpec{Taints: s.Taints},
		Status: corev1.NodeStatus{
			Capacity:         amounts,
			Allocatable:      amounts.DeepCopy(),
			Conditions:       []corev1.NodeCondition{readyCondition(true, now)},
			Addresses:        []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: s.Name}},
			NodeInfo:         corev1.NodeSystemInfo{KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64", ContainerRuntimeVersion: "pretended://1"},
			DeclaredFeatures: features,
		},
	}, nil
}

// labels as a kubelet and GPU feature discovery set them.
func (s NodeSpec) labels() map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:   s.Name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	if s.GPUs > 0 {
		labels["nvidia.com/gpu.present"] = "true"
		labels["nvidia.com/gpu.count"] = strconv.FormatInt(s.GPUs, 10)
		labels["nvidia.com/gpu.product"] = cmp.Or(s.Product, defaultProduct)
		labels["nvidia.com/gpu.memory"] = strconv.FormatInt(cmp.Or(s.MemoryMiB, defaultMemoryMiB), 10)
		labels["run.ai/simulated-gpu-node-pool"] = "default"
	}
	maps.Copy(labels, s.Labels)
	return labels
}

func (s NodeSpec) allocatable() (corev1.ResourceList, error) {
	texts := map[string]string{
		"cpu":               cmp.Or(s.CPU, "32"),
		"memory":            cmp.Or(s.Memory, "128Gi"),
		"pods":              cmp.Or(s.Pods, "110"),
		"ephemeral-storage": "500Gi",
	}
	if s.GPUs > 0 {
		texts[ResourceGPU] = strconv.FormatInt(s.GPUs, 10)
	}
	maps.Copy(texts, s.Extra)
	amounts := corev1.ResourceList{}
	for name, text := range texts {
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("allocatable %s %q: %w. Try: a quantity like 8 or 64Gi", name, text, err)
		}
		amounts[corev1.ResourceName(name)] = amount
	}
	return amounts, nil
}

func readyCondition(ready bool, now metav1.Time) corev1.NodeCondition {
	condition := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "the fake kubelet runs", LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if !ready {
		condition.Status, condition.Reason, condition.Message = corev1.ConditionFalse, "KubeletNotReady", "the test said so"
	}
	return condition
}
