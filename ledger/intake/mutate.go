package intake

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// AsWritten is the Job as its user wrote it: without what mutate changed and what
// an admission injected. The Job itself is not changed, and is returned where it
// carries neither.
func AsWritten(job *batchv1.Job) *batchv1.Job {
	_, mutated := job.Annotations[policies.AnnotationMutated]
	_, added := job.Annotations[policies.AnnotationInjected]
	if !mutated && !added {
		return job
	}
	bare := *job
	bare.Spec.Parallelism = ownParallelism(job)
	template := &bare.Spec.Template
	template.Spec = ownSpec(job)
	template.Spec.Affinity = ownAffinity(&template.Spec, Injected(job))
	if m := MutatedRecord(job); m != nil {
		bare.Labels, bare.Annotations = undo(job.Labels, m.Labels), undo(job.Annotations, m.Annotations)
		template.Labels, template.Annotations = undo(template.Labels, m.PodLabels), undo(template.Annotations, m.PodAnnotations)
		template.Spec.NodeSelector = undo(template.Spec.NodeSelector, m.NodeSelector)
		template.Spec.Tolerations = slices.DeleteFunc(slices.Clone(template.Spec.Tolerations), func(t corev1.Toleration) bool {
			return slices.ContainsFunc(m.Tolerations, func(added policies.Toleration) bool { return equalJSON(t, added) })
		})
		bare.Spec.ActiveDeadlineSeconds = undoNumber(bare.Spec.ActiveDeadlineSeconds, m.ActiveDeadlineSeconds)
		bare.Spec.TTLSecondsAfterFinished = undoNumber(bare.Spec.TTLSecondsAfterFinished, m.TTLSecondsAfterFinished)
	}
	bare.Annotations = without(bare.Annotations, func(key string) bool {
		return key == policies.AnnotationMutated || key == policies.AnnotationInjected
	})
	return &bare
}

// Mutate is the Job, as its user wrote it, with what a mutation changes; the
// record says what that is, and is nil if it is nothing. It also has what the user
// wrote just so, but for what nobody can change while the Job runs: else one who
// guesses what the policy wants would be free to change it then.
func Mutate(written *batchv1.Job, m policies.Mutation) (*batchv1.Job, *demand.Mutated) {
	template := &written.Spec.Template
	changed := &demand.Mutated{
		Labels: all(written.Labels, m.Labels), Annotations: all(written.Annotations, m.Annotations),
		PodLabels: changes(template.Labels, m.Labels), PodAnnotations: changes(template.Annotations, without(m.Annotations, policies.MutatesOwn)),
		NodeSelector:            changes(template.Spec.NodeSelector, m.NodeSelector),
		Tolerations:             missing(template.Spec.Tolerations, m.Tolerations),
		ActiveDeadlineSeconds:   change(written.Spec.ActiveDeadlineSeconds, m.ActiveDeadlineSeconds),
		TTLSecondsAfterFinished: change(written.Spec.TTLSecondsAfterFinished, m.TTLSecondsAfterFinished),
	}
	if changed.Empty() {
		return written, nil
	}
	return WithMutated(written, changed), changed
}

// WithMutated is the Job, as its user wrote it, with the changes that are recorded.
func WithMutated(written *batchv1.Job, m *demand.Mutated) *batchv1.Job {
	if m == nil {
		return written
	}
	job := *written
	template := &job.Spec.Template
	job.Labels, job.Annotations = do(job.Labels, m.Labels), do(job.Annotations, m.Annotations)
	template.Labels, template.Annotations = do(template.Labels, m.PodLabels), do(template.Annotations, m.PodAnnotations)
	template.Spec.NodeSelector = do(template.Spec.NodeSelector, m.NodeSelector)
	template.Spec.Tolerations = slices.Clone(template.Spec.Tolerations)
	for _, t := range m.Tolerations {
		template.Spec.Tolerations = append(template.Spec.Tolerations, toleration(t))
	}
	if c := m.ActiveDeadlineSeconds; c != nil {
		job.Spec.ActiveDeadlineSeconds = &c.To
	}
	if c := m.TTLSecondsAfterFinished; c != nil {
		seconds := int32(c.To)
		job.Spec.TTLSecondsAfterFinished = &seconds
	}
	return &job
}

func ownAffinity(spec *corev1.PodSpec, added demand.Injected) *corev1.Affinity {
	planned := Preferred(added.PreferNodes, added.PreferDomains)
	if len(planned) == 0 || len(preferredNodes(spec)) == 0 {
		return spec.Affinity
	}
	affinity := spec.Affinity.DeepCopy()
	terms := &affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*terms = slices.DeleteFunc(*terms, func(term corev1.PreferredSchedulingTerm) bool {
		return slices.ContainsFunc(planned, func(p corev1.PreferredSchedulingTerm) bool { return equalJSON(term, p) })
	})
	return affinity
}

// changes leaves out what is there already.
func changes(now, want map[string]string) map[string]demand.Change[string] {
	found := all(now, want)
	maps.DeleteFunc(found, func(_ string, c demand.Change[string]) bool { return c.Same() })
	return found
}

func all(now, want map[string]string) map[string]demand.Change[string] {
	if len(want) == 0 {
		return nil
	}
	found := make(map[string]demand.Change[string], len(want))
	for key, to := range want {
		c := demand.Change[string]{To: to}
		if from, there := now[key]; there {
			c.From = &from
		}
		found[key] = c
	}
	return found
}

func do(now map[string]string, changes map[string]demand.Change[string]) map[string]string {
	if len(changes) == 0 {
		return now
	}
	all := maps.Clone(now)
	if all == nil {
		all = map[string]string{}
	}
	for key, c := range changes {
		all[key] = c.To
	}
	return all
}

func undo(now map[string]string, changes map[string]demand.Change[string]) map[string]string {
	if len(changes) == 0 {
		return now
	}
	all := maps.Clone(now)
	for key, c := range changes {
		switch value, there := all[key]; {
		case !there || value != c.To:
		case c.From == nil:
			delete(all, key)
		default:
			all[key] = *c.From
		}
	}
	return all
}

func change[T int32 | int64](now *T, want *int64) *demand.Change[int64] {
	if want == nil {
		return nil
	}
	c := &demand.Change[int64]{To: *want}
	if now != nil {
		from := int64(*now)
		c.From = &from
	}
	return c
}

func undoNumber[T int32 | int64](now *T, c *demand.Change[int64]) *T {
	if c == nil || now == nil || int64(*now) != c.To {
		return now
	}
	if c.From == nil {
		return nil
	}
	from := T(*c.From)
	return &from
}

// missing are the tolerations that are not there yet, each once.
func missing(now []corev1.Toleration, want []policies.Toleration) []policies.Toleration {
	have := tolerations(now)
	var add []policies.Toleration
	for _, t := range want {
		spelled := tolerations([]corev1.Toleration{toleration(t)})[0]
		if !slices.ContainsFunc(have, func(h policies.Toleration) bool { return sameToleration(h, spelled) }) {
			have, add = append(have, spelled), append(add, t)
		}
	}
	return add
}

func toleration(t policies.Toleration) corev1.Toleration {
	return corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
		Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds}
}
