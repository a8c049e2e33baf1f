package demand

import "github.com/holdshort/holdshort/policies"

// Mutated is what the policy's mutate wants of a Job, and what was there, in the
// annotation holdshort.dev/mutated. The Job without it is what its user wrote, also after
// edits: what is no longer as it was changed to, is the user's again.
type Mutated struct {
	Labels         map[string]Change[string] `json:"labels,omitempty"`
	Annotations    map[string]Change[string] `json:"annotations,omitempty"`
	PodLabels      map[string]Change[string] `json:"podLabels,omitempty"`
	PodAnnotations map[string]Change[string] `json:"podAnnotations,omitempty"`
	NodeSelector   map[string]Change[string] `json:"nodeSelector,omitempty"`
	// Tolerations that were added.
	Tolerations             []policies.Toleration `json:"tolerations,omitempty"`
	ActiveDeadlineSeconds   *Change[int64]        `json:"activeDeadlineSeconds,omitempty"`
	TTLSecondsAfterFinished *Change[int64]        `json:"ttlSecondsAfterFinished,omitempty"`
}

// Change is what was written in one place, and what its user had there; nil From
// is nothing.
type Change[T comparable] struct {
	To   T  `json:"to"`
	From *T `json:"from,omitempty"`
}

// Same tells whether its user had there what was written.
func (c Change[T]) Same() bool { return c.From != nil && *c.From == c.To }

// Empty tells whether nothing is recorded.
func (m *Mutated) Empty() bool {
	return len(m.Labels)+len(m.Annotations)+len(m.PodLabels)+len(m.PodAnnotations)+len(m.NodeSelector)+len(m.Tolerations) == 0 &&
		m.ActiveDeadlineSeconds == nil && m.TTLSecondsAfterFinished == nil
}
