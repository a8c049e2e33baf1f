package intake

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdshort/holdshort/ledger/reason"
	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
	resourcehelpers "k8s.io/component-helpers/resource"
)

// A pod's request is made in the order of the API server, and the order
// matters: each step only fills in what is still missing.
//
//  1. decoding: a container's missing requests are its limits
//  2. LimitRanger: missing limits and requests from the namespace's LimitRanges
//  3. RuntimeClass: overhead, node selector, tolerations
//  4. storing the pod: pod-level requests and limits from the containers
//     (a server before 1.37: between 1 and 2)
//
// then what is asked for each device is multiplied by their number, if the policy says
// so, and all is summed by the library that the scheduler uses.

// podOf makes the pod that the API server would make of a template, as far as
// scheduling goes, and says what is wrong with it. The template is not changed.
func podOf(spec corev1.PodSpec, env Env) (*corev1.Pod, *reason.Reason) {
	pod := &corev1.Pod{Spec: spec}
	var wrong problems
	pod.Spec.Containers = wrong.containers("containers", spec.Containers)
	pod.Spec.InitContainers = wrong.containers("initContainers", spec.InitContainers)
	if spec.Resources != nil {
		pod.Spec.Resources = wrong.requirements(path{}, *spec.Resources)
	}
	each(pod, requestLimits)
	if env.PodLevelEarly {
		defaultPodLevel(pod)
	}
	each(pod, limitDefaults(env.LimitRanges).apply)
	wrong.runtimeClass(pod, env)
	if !env.PodLevelEarly {
		defaultPodLevel(pod)
	}
	pod.Spec.Containers = forEachDevice(pod.Spec.Containers, env.PerDevice)
	pod.Spec.InitContainers = forEachDevice(pod.Spec.InitContainers, env.PerDevice)
	return pod, wrong.first
}

func each(pod *corev1.Pod, do func(*corev1.ResourceRequirements)) {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			do(&list[i].Resources)
		}
	}
}

// requestLimits fills missing requests with the limits.
func requestLimits(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, set := r.Requests[name]; !set {
			put(&r.Requests, name, limit)
		}
	}
}

// put sets an amount in a list that may be nil.
func put(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = q
}

// requests of a pod in the ledger's units, with its slot on the node and
// without zeros: who asks for none of a resource does not touch it. An amount
// that cannot be counted is held at the limit, so that it never fits, and named.
func requests(pod *corev1.Pod, options resourcehelpers.PodResourcesOptions) (amounts.List, *reason.Reason) {
	return list(resourcehelpers.PodRequests(pod, options))
}

func list(quantities corev1.ResourceList) (amounts.List, *reason.Reason) {
	result := make(amounts.List, len(quantities)+1)
	var uncountable []string
	for name, q := range quantities {
		amount, err := policies.Amount(string(name), q)
		if err != nil {
			amount = limitOf(q)
			uncountable = append(uncountable, string(name))
		}
		if amount > 0 {
			result[string(name)] = amount
		}
	}
	result[amounts.Pods] = 1
	if len(uncountable) == 0 {
		return result, nil
	}
	worst := slices.Min(uncountable)
	q := quantities[corev1.ResourceName(worst)]
	problem := reason.UncountableRequest(fmt.Sprintf("spec.template.spec: %s of one pod", worst), q.String())
	return result, &problem
}

func limitOf(q resource.Quantity) int64 {
	if q.Sign() < 0 {
		return 0
	}
	return amounts.Limit
}

// problems keeps the first thing that is wrong.
type problems struct{ first *reason.Reason }

func (p *problems) add(r reason.Reason) {
	if p.first == nil {
		p.first = &r
	}
}

// containers copies them with resource lists of their own.
func (p *problems) containers(field string, from []corev1.Container) []corev1.Container {
	copies := slices.Clone(from)
	for i := range copies {
		copies[i].Resources = *p.requirements(path{field, i}, copies[i].Resources)
	}
	return copies
}

// requirements copies them, each amount at least 0: what is negative is no
// credit for another container.
func (p *problems) requirements(of path, r corev1.ResourceRequirements) *corev1.ResourceRequirements {
	r.Requests = p.amounts(of, "requests", r.Requests)
	r.Limits = p.amounts(of, "limits", r.Limits)
	return &r
}

func (p *problems) amounts(of path, kind string, from corev1.ResourceList) corev1.ResourceList {
	if len(from) == 0 {
		return nil
	}
	copied := make(corev1.ResourceList, len(from))
	var bad []string
	for name, q := range from {
		switch {
		case q.Sign() < 0:
			bad = append(bad, string(name))
			q = resource.Quantity{}
		case fractional(name, q):
			bad = append(bad, string(name))
		}
		copied[name] = q
	}
	if len(bad) > 0 {
		worst := slices.Min(bad)
		p.badAmount(of.to(kind, worst), from[corev1.ResourceName(worst)])
	}
	return copied
}

func (p *problems) badAmount(field string, q resource.Quantity) {
	if q.Sign() < 0 {
		p.add(reason.NegativeRequest(field, q.String()))
		return
	}
	p.add(reason.FractionalRequest(field, q.String()))
}

// path leads to the resources of a container, or of the pod itself if it is
// empty. It becomes text only when something is wrong.
type path struct {
	list  string
	index int
}

func (p path) to(kind, name string) string {
	if p.list == "" {
		return fmt.Sprintf("spec.template.spec.resources.%s[%s]", kind, name)
	}
	return fmt.Sprintf("spec.template.spec.%s[%d].resources.%s[%s]", p.list, p.index, kind, name)
}

// fractional tells whether a device is asked for in parts. Only names with a
// domain are devices; Kubernetes' own resources may be fractions.
func fractional(name corev1.ResourceName, q resource.Quantity) bool {
	return strings.Contains(string(name), "/") && q.CmpInt64(q.Value()) != 0 && q.CmpInt64(amounts.Limit) < 0
}
