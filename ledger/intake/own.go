package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// Own is the scheduling fields of a pod template as the user wrote them. Lists
// are raw JSON, ready to go into a patch.
type Own struct {
	NodeSelector   map[string]string
	Tolerations    []any
	PreferredNodes []any // the preferred node affinity
}

// Scheduling is the template's scheduling fields without what an admission
// injected: what the user wants, edits after the admission included.
func Scheduling(job *batchv1.Job) (Own, error) {
	spec, added := &job.Spec.Template.Spec, Injected(job)
	own := Own{NodeSelector: ownSelector(spec.NodeSelector, added)}
	var err error
	if own.Tolerations, err = ownList(spec.Tolerations, added.Tolerations); err != nil {
		return Own{}, fmt.Errorf("copying spec.template.spec.tolerations: %w", err)
	}
	if own.PreferredNodes, err = ownList(preferredNodes(spec), Preferred(added.PreferNodes, added.PreferDomains)); err != nil {
		return Own{}, fmt.Errorf("copying the preferred node affinity: %w", err)
	}
	return own, nil
}

// preferWeight of the planned nodes: the most there is, so that the scheduler
// follows the plan unless the user's own preferences say otherwise.
const preferWeight = 100

// Preferred is planned nodes and domains as a preferred node affinity; none gives
// none. A node of the domain that is not the planned one is next best.
func Preferred(nodes []string, domains *demand.Domains) []corev1.PreferredSchedulingTerm {
	var terms []corev1.PreferredSchedulingTerm
	if domains != nil && len(domains.Names) > 0 {
		terms = append(terms, preferred(domains.Level, domains.Names))
	}
	if len(nodes) > 0 {
		terms = append(terms, preferred(corev1.LabelHostname, nodes))
	}
	return terms
}

func preferred(label string, values []string) corev1.PreferredSchedulingTerm {
	return corev1.PreferredSchedulingTerm{
		Weight: preferWeight,
		Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: label, Operator: corev1.NodeSelectorOpIn, Values: values,
		}}},
	}
}

// Injected is the record of what an admission added, empty if there is none of
// this UID that can be read.
func Injected(job *batchv1.Job) demand.Injected {
	var added demand.Injected
	if record(job, policies.AnnotationInjected, &added) && added.UID == string(job.UID) {
		return added
	}
	return demand.Injected{}
}

// ownSpec is the template's pod spec without what an admission injected.
func ownSpec(job *batchv1.Job) corev1.PodSpec {
	spec, added := job.Spec.Template.Spec, Injected(job)
	spec.NodeSelector = ownSelector(spec.NodeSelector, added)
	if len(added.Tolerations) > 0 {
		spec.Tolerations = slices.DeleteFunc(slices.Clone(spec.Tolerations), func(t corev1.Toleration) bool {
			return slices.ContainsFunc(added.Tolerations, func(a policies.Toleration) bool { return equalJSON(t, a) })
		})
	}
	return spec
}

func ownSelector(now map[string]string, added demand.Injected) map[string]string {
	if len(added.NodeSelector) == 0 {
		return now
	}
	own := map[string]string{}
	for key, value := range now {
		if added.NodeSelector[key] != value {
			own[key] = value
		}
	}
	return own
}

func preferredNodes(spec *corev1.PodSpec) []corev1.PreferredSchedulingTerm {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}

// ownList is a list, as raw JSON, without the items that were added.
func ownList[Item, Added any](now []Item, added []Added) ([]any, error) {
	var own []any
	for _, item := range now {
		if slices.ContainsFunc(added, func(a Added) bool { return equalJSON(item, a) }) {
			continue
		}
		raw, err := rawJSON(item)
		if err != nil {
			return nil, err
		}
		own = append(own, raw)
	}
	return own, nil
}

// equalJSON tells whether two values, maybe of different types, are the same as
// JSON.
func equalJSON(a, b any) bool {
	left, errLeft := canonical(a)
	right, errRight := canonical(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

func canonical(v any) ([]byte, error) {
	raw, err := rawJSON(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(raw) // keys of maps come out sorted
}

func rawJSON(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var raw any
	return raw, json.Unmarshal(data, &raw)
}
