package policies

// Mutation is the value of holdshort.policy.mutate for one workload: what it has
// besides what its user wrote, or in place of that. One is shared by many
// workloads, and never written to.
type Mutation struct {
	// Labels of the Job and of its pods.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the Job and of its pods.
	Annotations map[string]string `json:"annotations,omitempty"`
	// NodeSelector of its pods.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations that its pods have, too.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// ActiveDeadlineSeconds is how long the Job may run; without it that stays as it is.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// TTLSecondsAfterFinished is how long it is kept when it is over; without it
	// that stays as it is.
	TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished,omitempty"`
	// PodReplacementPolicy is Failed for every admitted Job; saying so changes nothing.
	PodReplacementPolicy PodReplacement `json:"podReplacementPolicy,omitempty"`
}

// PodReplacement says when a pod is replaced.
type PodReplacement string

// ReplaceFailed is when it is gone. Until then it holds its share.
const ReplaceFailed PodReplacement = "Failed"
