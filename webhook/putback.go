package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// putBack restores what the ledger wrote and the update left out, so that a
// manifest can be applied again (or replaced) without being refused for fields
// that its author never saw. What the update changes on purpose stays changed, but
// what the policy wants of a Job that runs; the warnings say what did not.
func putBack(doc, oldDoc *document, old *batchv1.Job) ([]string, error) {
	putBackKeys(doc, oldDoc, intake.LedgerLabel, "metadata", "labels")
	putBackKeys(doc, oldDoc, intake.LedgerAnnotation, "metadata", "annotations")
	putBackKeys(doc, oldDoc, func(key string) bool {
		return intake.LedgerLabel(key) || key == policies.LabelQueue
	}, "spec", "template", "metadata", "labels")
	putBackKeys(doc, oldDoc, intake.LedgerAnnotation, "spec", "template", "metadata", "annotations")
	warnings := putBackMutated(doc, oldDoc, old)
	if !admitted(old) {
		return warnings, nil
	}
	if doc.at("spec", "suspend") == true && !intake.Held(doc.strings("metadata", "annotations")) {
		doc.set(false, "spec", "suspend")
		// Where a mutating policy is served, it undoes this before anybody could say so.
		warnings = append(warnings, warning(fmt.Sprintf("spec.suspend stays false: the Job runs. "+
			"Try: kubectl -n %s annotate job %s %s=WHY, which pauses it", old.Namespace, old.Name, policies.AnnotationHold)))
	}
	// Who asks for all pods again says what the manifest always said. Any other
	// number is meant: less is taken, more is refused in the API server.
	if c := intake.Reduced(old); c != nil && doc.at("spec", "parallelism") == number(int64(*c.From)) {
		doc.set(number(int64(c.To)), "spec", "parallelism")
	}
	if failed := string(batchv1.Failed); oldDoc.at("spec", "podReplacementPolicy") == failed {
		doc.set(failed, "spec", "podReplacementPolicy")
	}
	return warnings, putBackScheduling(doc, oldDoc, old)
}

// admitted: what was injected is in the template, and its pods may run.
func admitted(old *batchv1.Job) bool {
	return old.Labels[policies.LabelState] == policies.StateAdmitted && !suspended(old)
}

// putBackScheduling restores what the flavor injected into the pod template,
// which Kubernetes keeps immutable while the Job runs.
func putBackScheduling(doc, oldDoc *document, old *batchv1.Job) error {
	own, err := intake.Scheduling(intake.AsWritten(old))
	if err != nil {
		return fmt.Errorf("reading what the ledger injected: %w", err)
	}
	pod := []string{"spec", "template", "spec"}
	putBackKeys(doc, oldDoc, func(key string) bool {
		_, users := own.NodeSelector[key]
		return !users
	}, append(slices.Clone(pod), "nodeSelector")...)
	if m := intake.MutatedRecord(old); m != nil {
		putBackTexts(doc, oldDoc, m.NodeSelector, append(slices.Clone(pod), "nodeSelector")...)
	}
	putBackList(doc, oldDoc, own.Tolerations, append(slices.Clone(pod), "tolerations")...)
	putBackList(doc, oldDoc, own.PreferredNodes, append(slices.Clone(pod),
		"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")...)
	return nil
}

// putBackMutated restores what mutate wrote into labels, annotations and
// durations. Of a Job that runs, it stays whatever the update says: the policy is
// asked again only when it starts anew. Of one that waits, it stays where the update
// has what the user wrote in the first place, or nothing. One that is over is its
// user's, but for its template, which never changes. Deny and warn are then asked
// about the Job as it stays.
func putBackMutated(doc, oldDoc *document, old *batchv1.Job) []string {
	m := intake.MutatedRecord(old)
	if m == nil {
		return nil
	}
	putBackTexts(doc, oldDoc, m.PodLabels, "spec", "template", "metadata", "labels")
	putBackTexts(doc, oldDoc, m.PodAnnotations, "spec", "template", "metadata", "annotations")
	switch {
	case intake.Finished(old):
		return nil
	case admitted(old):
		return keepMutated(doc, oldDoc, m)
	}
	putBackTexts(doc, oldDoc, m.Labels, "metadata", "labels")
	putBackTexts(doc, oldDoc, m.Annotations, "metadata", "annotations")
	putBackNumber(doc, oldDoc, m.ActiveDeadlineSeconds, "spec", "activeDeadlineSeconds")
	putBackNumber(doc, oldDoc, m.TTLSecondsAfterFinished, "spec", "ttlSecondsAfterFinished")
	return nil
}

func putBackTexts(doc, oldDoc *document, changes map[string]demand.Change[string], path ...string) {
	now, before := doc.strings(path...), oldDoc.strings(path...)
	for _, key := range sortedKeys(changes) {
		c := changes[key]
		stored, is := before[key]
		value, there := now[key]
		if is && stored == c.To && !c.Same() && (!there || c.From != nil && value == *c.From) {
			doc.set(c.To, append(slices.Clone(path), key)...)
		}
	}
}

func putBackNumber(doc, oldDoc *document, c *demand.Change[int64], path ...string) {
	if c == nil || c.Same() || oldDoc.at(path...) != number(c.To) {
		return
	}
	if now := doc.at(path...); now == nil || c.From != nil && now == number(*c.From) {
		doc.set(number(c.To), path...)
	}
}

// putBackKeys restores the keys of an object that ours names and that are gone.
func putBackKeys(doc, oldDoc *document, ours func(string) bool, path ...string) {
	now := doc.strings(path...)
	before := oldDoc.strings(path...)
	for _, key := range sortedKeys(before) {
		if _, there := now[key]; !there && ours(key) {
			doc.set(before[key], append(slices.Clone(path), key)...)
		}
	}
}

// putBackList restores a list as it was if the update's is just what the user
// had before the ledger added to it. Whatever else it is, is an edit.
func putBackList(doc, oldDoc *document, users []any, path ...string) {
	before, ok := oldDoc.at(path...).([]any)
	if !ok {
		return
	}
	now, _ := doc.at(path...).([]any)
	if sameJSON(now, users) {
		doc.set(before, path...)
	}
}

// sameJSON compares two lists as JSON: the numbers of one may be of another type
// than those of the other.
func sameJSON(a, b []any) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
