package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdshort/holdshort/policies"
)

// Mutate says what a workload is to have besides what its user wrote, or in place
// of that. It is to be asked about the workload as its user wrote it, so that a
// rule which only fills in what is missing says the same every time.
func (r *Revision) Mutate(ctx context.Context, in *policies.Input) (policies.Mutation, error) {
	if !r.HasMutate() {
		return policies.Mutation{}, nil
	}
	if in.Workload == nil {
		return policies.Mutation{}, fmt.Errorf("evaluating mutate: no workload given")
	}
	s, err := r.ask(ctx, r.probes[groupMutate], in)
	return s.mutation, err
}

// mutation reads what mutate said.
func (r *Revision) mutation(p *probe, result answers) (policies.Mutation, error) {
	var m policies.Mutation
	targets := map[string]any{"labels": &m.Labels, "annotations": &m.Annotations, "nodeSelector": &m.NodeSelector,
		"tolerations": &m.Tolerations, "activeDeadlineSeconds": &m.ActiveDeadlineSeconds,
		"ttlSecondsAfterFinished": &m.TTLSecondsAfterFinished, "podReplacementPolicy": &m.PodReplacementPolicy}
	for i, f := range p.fields {
		value := result.of(i)
		if value == nil {
			continue
		}
		problems := decode(fieldPath{f.name}, value, targets[f.name])
		if len(problems) == 0 {
			problems = checkMutation(f.name, m)
		}
		if len(problems) > 0 {
			message := problems[0].message
			if try := problems[0].try; try != "" {
				message += ". Try: " + try
			}
			return policies.Mutation{}, r.evalError(f, EvalType, strings.TrimPrefix(message, f.name+": "))
		}
	}
	return m, nil
}

// checkMutation finds what the API server would refuse in one field, or what is
// not the policy's to write. Here it is one Job's error, and says which rule.
func checkMutation(name string, m policies.Mutation) []fieldProblem {
	v := &validator{}
	path := fieldPath{name}
	switch name {
	case "labels":
		v.writable(path, m.Labels)
		v.labelValues(path, m.Labels)
		v.bounded(path, m.Labels)
	case "annotations":
		v.writable(path, without(m.Annotations, policies.MutatesOwn))
		v.ownAnnotations(path, m.Annotations)
		v.bounded(path, m.Annotations)
	case "nodeSelector":
		v.keys(path, m.NodeSelector)
		v.labelValues(path, m.NodeSelector)
		v.bounded(path, m.NodeSelector)
	case "tolerations":
		if n := len(m.Tolerations); n > mutatedKeysMax {
			v.fail(path, "fewer", "%d are more than the %d that a Job is given", n, mutatedKeysMax)
		}
		for i, t := range m.Tolerations {
			v.toleration(path.at(i), t)
			if t.Key != "" {
				v.syntax(path.at(i).with("key"), "key", t.Key, validation.IsQualifiedName(t.Key))
			}
			v.syntax(path.at(i).with("value"), "value", t.Value, validation.IsValidLabelValue(t.Value))
		}
	case "activeDeadlineSeconds":
		v.count(path, *m.ActiveDeadlineSeconds)
	case "ttlSecondsAfterFinished":
		v.count(path, *m.TTLSecondsAfterFinished)
	case "podReplacementPolicy":
		if m.PodReplacementPolicy != policies.ReplaceFailed {
			v.fail(path, `"Failed", or leave the rule out`, "%q would start the next pod while the last one still holds its share",
				string(m.PodReplacementPolicy))
		}
	}
	return v.problems
}

// A Job has room for 256 KiB of annotations, and for 1000 keys of each kind in a
// queue. It gets each text as its own, its template's, and twice in the record of
// that, where a character may be written as six.
const mutatedKeysMax, mutatedBytesMax = 100, 8 << 10

// bounded leaves most of the room to the Job's user, who would be blamed else.
func (v *validator) bounded(path fieldPath, texts map[string]string) {
	size := 0
	for key, text := range texts {
		size += len(key) + len(text)
	}
	switch {
	case len(texts) > mutatedKeysMax:
		v.fail(path, "fewer", "%d keys are more than the %d that a Job is given", len(texts), mutatedKeysMax)
	case size > mutatedBytesMax:
		v.fail(path, "shorter texts", "%d bytes are more than the %d that a Job is given", size, mutatedBytesMax)
	}
}

// writable: keys of labels and annotations that are somebody else's.
func (v *validator) writable(path fieldPath, texts map[string]string) {
	v.keys(path, texts)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if why := policies.NotMutates(key); why != "" {
			v.fail(path.with(key), "a key of your own", "%s", why)
		}
	}
}

// ownAnnotations: their values are node labels, or empty.
func (v *validator) ownAnnotations(path fieldPath, texts map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if level := texts[key]; level != "" && policies.MutatesOwn(key) {
			v.syntax(path.with(key), "node label", level, validation.IsQualifiedName(level))
		}
	}
}

func without(texts map[string]string, drop func(key string) bool) map[string]string {
	kept := maps.Clone(texts)
	maps.DeleteFunc(kept, func(key, _ string) bool { return drop(key) })
	return kept
}

func (v *validator) keys(path fieldPath, texts map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		v.syntax(path.with(key), "key", key, validation.IsQualifiedName(key))
	}
}

func (v *validator) labelValues(path fieldPath, texts map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		v.syntax(path.with(key), "value", texts[key], validation.IsValidLabelValue(texts[key]))
	}
}

func (v *validator) syntax(path fieldPath, what, text string, wrong []string) {
	if len(wrong) > 0 {
		v.fail(path, "", "%q cannot be a %s: %s", shorten(text, 60), what, wrong[0])
	}
}

func (v *validator) count(path fieldPath, n int64) {
	if n < 0 || n > math.MaxInt32 {
		v.fail(path, "a number of seconds that is not negative", "%d is no duration", n)
	}
}
