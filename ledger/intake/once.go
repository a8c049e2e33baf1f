package intake

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/holdshort/holdshort/ledger/demand"
	amounts "github.com/holdshort/holdshort/ledger/resource"
)

// siblings are the pods of the same template.
type siblings struct {
	namespace string
	labels    map[string]string
}

// hostPorts are the ports of its node that a pod has for as long as it runs, nil
// for most pods. Of which of the node's addresses does not matter: that is stricter
// than the scheduler, which tells them apart.
func hostPorts(spec *corev1.PodSpec) amounts.List {
	var all amounts.List
	take := func(c *corev1.Container) {
		for _, p := range c.Ports {
			port := p.HostPort
			if port == 0 && spec.HostNetwork {
				port = p.ContainerPort
			}
			if port <= 0 {
				continue
			}
			if all == nil {
				all = amounts.List{}
			}
			all[amounts.Port(string(cmp.Or(p.Protocol, corev1.ProtocolTCP)), strconv.Itoa(int(port)))] = amounts.Whole
		}
	}
	for i := range spec.Containers {
		take(&spec.Containers[i])
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			take(c)
		}
	}
	return all
}

func podAffinity(a *corev1.Affinity, own siblings, p *demand.Place, unverified set) {
	if a == nil {
		return
	}
	if a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		unverified.add("podAffinity")
	}
	var all bool
	if p.Apart, all = apart(a, own); !all {
		unverified.add("podAntiAffinity")
	}
	if alone(a, own) {
		p.PerNode = 1
	}
}

func apartTerms(a *corev1.Affinity) []corev1.PodAffinityTerm {
	if a == nil || a.PodAntiAffinity == nil {
		return nil
	}
	return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// apart are the required anti-affinities of a pod, and whether these are all: some
// go by more than the node, or by the labels of namespaces. Those that mean nobody
// but pods of one Job are left to alone: each Job has another.
func apart(a *corev1.Affinity, own siblings) (terms []demand.Apart, all bool) {
	all = true
	for i := range apartTerms(a) {
		term := &apartTerms(a)[i]
		switch selector, ok := own.selector(term); {
		case !ok:
			all = false
		case selector != nil && !byJob(selector):
			terms = append(terms, own.apart(term, selector))
		}
	}
	return terms, all
}

// alone tells whether a pod keeps away from its own siblings by what only they have.
func alone(a *corev1.Affinity, own siblings) bool {
	return slices.ContainsFunc(apartTerms(a), func(term corev1.PodAffinityTerm) bool {
		selector, ok := own.selector(&term)
		return ok && selector != nil && byJob(selector) && selector.Matches(labels.Set(own.labels))
	})
}

// selector of a term, nil if it means nobody; false if it can't be told by labels
// and namespaces' names alone.
func (s siblings) selector(term *corev1.PodAffinityTerm) (labels.Selector, bool) {
	if term.TopologyKey != corev1.LabelHostname {
		return nil, false
	}
	if in := term.NamespaceSelector; in != nil && len(in.MatchLabels)+len(in.MatchExpressions) > 0 {
		return nil, false
	}
	if term.LabelSelector == nil {
		return nil, true
	}
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil {
		return nil, false
	}
	return s.merged(selector, term), true
}

// merged adds what the API server adds to a pod's selector by its own labels.
func (s siblings) merged(selector labels.Selector, term *corev1.PodAffinityTerm) labels.Selector {
	add := func(keys []string, operator selection.Operator) {
		for _, key := range keys {
			value, set := s.labels[key]
			requirement, err := labels.NewRequirement(key, operator, []string{value})
			if set && err == nil {
				selector = selector.Add(*requirement)
			}
		}
	}
	add(term.MatchLabelKeys, selection.In)
	add(term.MismatchLabelKeys, selection.NotIn)
	return selector
}

// byJob tells whether only pods of one Job can be meant.
func byJob(selector labels.Selector) bool {
	requirements, _ := selector.Requirements()
	return slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		switch r.Key() {
		case batchv1.JobNameLabel, batchv1.ControllerUidLabel, "job-name", legacyControllerUID:
			return r.Operator() == selection.In || r.Operator() == selection.Equals
		}
		return false
	})
}

func (s siblings) apart(term *corev1.PodAffinityTerm, selector labels.Selector) demand.Apart {
	made := demand.Apart{Namespaces: slices.Sorted(slices.Values(term.Namespaces))}
	switch {
	case term.NamespaceSelector != nil: // of all
		made.Namespaces = nil
	case len(made.Namespaces) == 0:
		made.Namespaces = []string{s.namespace}
	}
	requirements, _ := selector.Requirements()
	var meant []string
	for _, r := range requirements {
		one := demand.NodeRequirement{Key: r.Key(), Operator: operator(r.Operator()), Values: r.ValuesUnsorted()}
		slices.Sort(one.Values)
		if text := says(one); !slices.Contains(meant, text) { // the API server may have added what we add
			meant, made.Labels = append(meant, text), append(made.Labels, one)
		}
	}
	slices.Sort(meant)
	in := "all namespaces"
	if made.Namespaces != nil {
		made.Namespaces = slices.Compact(made.Namespaces)
		in = strings.Join(made.Namespaces, ",")
	}
	made.Name = amounts.Apart(cmp.Or(strings.Join(meant, ","), "all pods") + " in " + in)
	return made
}

// says a requirement in one way, however it was written.
func says(r demand.NodeRequirement) string {
	switch {
	case r.Operator == string(metav1.LabelSelectorOpIn) && len(r.Values) == 1:
		return r.Key + "=" + r.Values[0]
	case len(r.Values) > 0:
		return r.Key + " " + r.Operator + " (" + strings.Join(r.Values, ",") + ")"
	}
	return r.Key + " " + r.Operator
}

// operator in the words of the API.
func operator(o selection.Operator) string {
	switch o {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return string(metav1.LabelSelectorOpIn)
	case selection.NotIn, selection.NotEquals:
		return string(metav1.LabelSelectorOpNotIn)
	case selection.Exists:
		return string(metav1.LabelSelectorOpExists)
	case selection.DoesNotExist:
		return string(metav1.LabelSelectorOpDoesNotExist)
	}
	return ""
}
