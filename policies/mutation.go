package policies

import (
	"slices"
	"strings"
)

// Given makes what is asked about a Job: as its user wrote it, with a mutation; with
// the raw object, if that is wanted.
type Given func(m Mutation, raw bool) (*Input, error)

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

// NotMutates says why a label or annotation is not mutate's to write, empty if it
// is. What the record of a mutation says of such a key was written by nobody here.
func NotMutates(key string) string {
	switch {
	case strings.HasPrefix(key, Prefix):
		return "keys with " + Prefix + " are not the policy's to write"
	case ofKubernetes(key):
		return "Kubernetes itself writes or reads this key"
	}
	return ""
}

// MutatesOwn tells the annotations of the project that mutate may write all the same, as
// a user may.
func MutatesOwn(key string) bool {
	return key == AnnotationRequiredTopology || key == AnnotationPreferredTopology
}

// ofKubernetes: by these the Job controller knows its pods, kubectl what was
// applied, and the API server pods that are not what they seem. Of the rest it reads
// the values, and refuses pods for them.
func ofKubernetes(key string) bool {
	for _, prefix := range []string{"batch.kubernetes.io/", "controller.kubernetes.io/", "scheduler.alpha.kubernetes.io/",
		"seccomp.security.alpha.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/",
		"container.apparmor.security.beta.kubernetes.io/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"controller-uid", "job-name",
		"kubernetes.io/config.mirror", "kubernetes.io/config.source", "kubectl.kubernetes.io/last-applied-configuration"}, key)
}
