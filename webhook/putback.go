package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// putBack restores what the ledger wrote and the update left out, so that a
// manifest can be applied again (or replaced) without being refused for fields
// that its author never saw. What the update changes on purpose stays changed.
func putBack(doc, oldDoc *document, old *batchv1.Job) error {
	putBackKeys(doc, oldDoc, intake.LedgerLabel, "metadata", "labels")
	putBackKeys(doc, oldDoc, intake.LedgerAnnotation, "metadata", "annotations")
	putBackKeys(doc, oldDoc, func(key string) bool {
		return intake.LedgerLabel(key) || key == policies.LabelQueue
	}, "spec", "template", "metadata", "labels")
	putBackKeys(doc, oldDoc, intake.LedgerAnnotation, "spec", "template", "metadata", "annotations")
	if old.Labels[policies.LabelState] != policies.StateAdmitted || suspended(old) {
		return nil
	}
	if doc.at("spec", "suspend") == true && !intake.Held(doc.strings("metadata", "annotations")) {
		doc.set(false, "spec", "suspend")
	}
	if failed := string(batchv1.Failed); oldDoc.at("spec", "podReplacementPolicy") == failed {
		doc.set(failed, "spec", "podReplacementPolicy")
	}
	return putBackScheduling(doc, oldDoc, old)
}

// putBackScheduling restores what the flavor injected into the pod template,
// which Kubernetes keeps immutable while the Job runs.
func putBackScheduling(doc, oldDoc *document, old *batchv1.Job) error {
	own, err := intake.Scheduling(old)
	if err != nil {
		return fmt.Errorf("reading what the ledger injected: %w", err)
	}
	pod := []string{"spec", "template", "spec"}
	putBackKeys(doc, oldDoc, func(key string) bool {
		_, users := own.NodeSelector[key]
		return !users
	}, append(slices.Clone(pod), "nodeSelector")...)
	putBackList(doc, oldDoc, own.Tolerations, append(slices.Clone(pod), "tolerations")...)
	putBackList(doc, oldDoc, own.PreferredNodes, append(slices.Clone(pod),
		"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")...)
	return nil
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
