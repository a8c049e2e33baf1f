package intake

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/holdshort/holdshort/ledger/reason"
)

// runtimeClass applies the pod's RuntimeClass. What the API server would refuse
// is a problem here, so that no Job is admitted that can make no pod; a user's
// own overhead is never believed.
func (p *problems) runtimeClass(pod *corev1.Pod, env Env) {
	claimed := pod.Spec.Overhead
	pod.Spec.Overhead = nil
	var class *nodev1.RuntimeClass
	if name := pod.Spec.RuntimeClassName; name != nil {
		if class = env.runtimeClass(*name); class == nil {
			p.add(reason.MissingRuntimeClass(*name))
			return
		}
		p.overhead(pod, class)
		p.nodeSelector(pod, class)
	}
	if len(claimed) > 0 && !equality.Semantic.DeepEqual(claimed, pod.Spec.Overhead) {
		p.add(reason.ForeignOverhead())
	}
}

func (p *problems) overhead(pod *corev1.Pod, class *nodev1.RuntimeClass) {
	if class.Overhead != nil {
		pod.Spec.Overhead = class.Overhead.PodFixed
	}
}

func (p *problems) nodeSelector(pod *corev1.Pod, class *nodev1.RuntimeClass) {
	if class.Scheduling == nil {
		return
	}
	selector := maps.Clone(pod.Spec.NodeSelector)
	if selector == nil {
		selector = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		want := class.Scheduling.NodeSelector[key]
		if value, set := selector[key]; set && value != want {
			p.add(reason.ClashingRuntimeClass(class.Name, key, want, value))
		}
		selector[key] = want
	}
	pod.Spec.NodeSelector = selector
	pod.Spec.Tolerations = append(slices.Clone(pod.Spec.Tolerations), class.Scheduling.Tolerations...)
}
