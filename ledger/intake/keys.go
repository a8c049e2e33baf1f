package intake

import (
	"slices"
	"strings"

	"github.com/holdshort/holdshort/policies"
)

// UserLabels are the labels of the project that a user sets on a Job.
func UserLabels() []string { return []string{policies.LabelQueue, policies.LabelPriority} }

// UserAnnotations are the annotations of the project that a user sets on a Job.
func UserAnnotations() []string {
	return []string{policies.AnnotationHold, policies.AnnotationLeast, policies.AnnotationMaxRuntime,
		policies.AnnotationRequiredTopology, policies.AnnotationPreferredTopology, policies.AnnotationBypass}
}

// LedgerKeys are the labels and annotations of the project that nobody else writes, on a
// Job or on its pods.
func LedgerKeys() []string {
	return []string{policies.LabelState, policies.AnnotationArrival, policies.AnnotationUser, policies.AnnotationReservation,
		policies.AnnotationInjected, policies.AnnotationMutated, policies.AnnotationMessage, policies.AnnotationNodes, policies.AnnotationInQueue,
		policies.AnnotationBackoff, policies.AnnotationPreempted, policies.AnnotationRan, policies.AnnotationFlavors}
}

// LedgerLabel tells whether a label of a Job is the ledger's own.
func LedgerLabel(key string) bool { return ledgers(key, UserLabels()) }

// LedgerAnnotation tells whether an annotation of a Job is the ledger's own.
func LedgerAnnotation(key string) bool { return ledgers(key, UserAnnotations()) }

func ledgers(key string, users []string) bool {
	return strings.HasPrefix(key, policies.Prefix) && !slices.Contains(users, key)
}

// without copies a map, leaving out the keys that drop names. Never nil: a
// policy sees an empty object where there is nothing.
func without(all map[string]string, drop func(string) bool) map[string]string {
	kept := make(map[string]string, len(all))
	for key, value := range all {
		if !drop(key) {
			kept[key] = value
		}
	}
	return kept
}
