package report

import (
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// misspelt are the labels that were perhaps meant to be the queue's: a key of
// ours that is none, or the right name in somewhat the wrong place.
func misspelt(job *batchv1.Job) []string {
	if _, labelled := job.Labels[policies.LabelQueue]; labelled {
		return nil
	}
	known := append(intake.UserLabels(), policies.LabelState)
	prefix, name, _ := strings.Cut(policies.LabelQueue, "/")
	var found []string
	for _, key := range slices.Sorted(maps.Keys(job.Labels)) {
		place, last, _ := strings.Cut(key, "/")
		ours := place == prefix && !slices.Contains(known, key)
		if ours || (last == name && strings.HasPrefix(place, "holdshort")) || key == name || intake.Alike(key, policies.LabelQueue) {
			found = append(found, key+"="+job.Labels[key])
		}
	}
	if _, there := job.Annotations[policies.LabelQueue]; there {
		found = append(found, policies.LabelQueue+"="+job.Annotations[policies.LabelQueue]+" (an annotation, not a label)")
	}
	if queue, there := job.Spec.Template.Labels[policies.LabelQueue]; there {
		found = append(found, policies.LabelQueue+"="+queue+" (in the pod template, not on the Job)")
	}
	return found
}
