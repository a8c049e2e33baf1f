package scenario

import (
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/intake"
	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// podsOfNode is how many pods a node takes that does not say so.
const podsOfNode = 110

// world is what happens in a script, but for the Jobs.
func (s *script) world() []sim.Change {
	var all []sim.Change
	for i := range s.Nodes {
		all = append(all, nodes(s.starts, &s.Nodes[i])...)
	}
	for _, c := range s.Changes {
		moment := s.moment(c.At)
		switch {
		case c.Node != nil:
			all = append(all, nodes(moment, c.Node)...)
		case c.NodeGone != "":
			all = append(all, sim.Change{At: moment, NodeGone: c.NodeGone})
		default:
			for _, name := range s.those(c.Delete) {
				all = append(all, sim.Change{At: moment, Delete: name})
			}
		}
	}
	return all
}

// moment of a text that was read without fault.
func (s *script) moment(text string) int64 {
	d, _ := time.ParseDuration(text)
	return s.starts + int64(d)
}

func nodes(moment int64, n *nodeSpec) []sim.Change {
	var all []sim.Change
	for _, name := range names(n.Name, n.Count) {
		labels := map[string]string{corev1.LabelHostname: name}
		maps.Copy(labels, n.Labels)
		has := amounts.List{amounts.Pods: podsOfNode}
		maps.Copy(has, amounts.List(n.Has))
		all = append(all, sim.Change{At: moment, Node: &supply.Node{
			Name: name, Labels: labels, Taints: n.Taints, Ready: true, Allocatable: has, Capacity: has,
		}})
	}
	return all
}

// manifest is a Job as its user would create it.
func (s *script) manifest(spec *jobSpec, name string) *batchv1.Job {
	labels := map[string]string{policies.LabelQueue: spec.Queue}
	if spec.Priority != "" {
		labels[policies.LabelPriority] = spec.Priority
	}
	maps.Copy(labels, spec.Labels)
	annotations := map[string]string{}
	if spec.User != "" {
		annotations[policies.AnnotationUser] = spec.User
	}
	maps.Copy(annotations, spec.Annotations)
	pods, suspend := int32(max(spec.Pods, 1)), true
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: spec.Namespace, UID: types.UID(name), Labels: labels, Annotations: annotations,
			CreationTimestamp: metav1.NewTime(time.Unix(0, s.moment(spec.At))),
		},
		Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Suspend: &suspend},
	}
	if deadline := s.moment(spec.Deadline) - s.starts; deadline > 0 {
		seconds := max(deadline/int64(time.Second), 1)
		job.Spec.ActiveDeadlineSeconds = &seconds
	}
	pod := &job.Spec.Template.Spec
	pod.PriorityClassName, pod.NodeSelector = spec.PriorityClass, spec.NodeSelector
	for _, t := range spec.Tolerations {
		pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect),
			TolerationSeconds: t.TolerationSeconds,
		})
	}
	pod.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: quantities(spec.Requests)}}}
	return job
}

func quantities(all policies.Amounts) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, amount := range all {
		if name == string(corev1.ResourceCPU) {
			list[corev1.ResourceCPU] = *resource.NewMilliQuantity(amount, resource.DecimalSI)
		} else {
			list[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
		}
	}
	return list
}

// env is what the cluster says beside a Job.
func (s *script) env(catalog *policies.Catalog) intake.Env {
	return intake.Env{PerDevice: catalog.Resources.PerDevice, PriorityClass: func(name string) *schedulingv1.PriorityClass {
		value, there := s.PriorityClasses[name]
		if !there {
			return nil
		}
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(value)}
	}}
}
