package webhook

import (
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// enter makes a Job one that has just entered a queue: what the ledger writes is
// taken out, whoever wrote it, and its user is set; on creation, when old is nil,
// state and arrival as well. Backups and "get -o yaml | create" work, forgeries do
// not. One that enters by an update arrives when the ledger sees it: no guard could
// tell a stamp from a forged one while the manager is away.
//
// Where a mutating policy is served it did all of this before, but the arrival;
// to do it again changes nothing. The record of what mutate changed is left to
// mutate, which may have been asked a moment ago, about the same request; one that
// was there before is not of that.
func (j *Jobs) enter(doc *document, old *batchv1.Job, req admission.Request) {
	annotations := doc.strings("metadata", "annotations")
	own := map[string]string{policies.AnnotationUser: req.UserInfo.Username}
	var state []string
	if old == nil {
		own[policies.AnnotationArrival] = j.stamps.give(annotations[policies.AnnotationArrival], identity(doc, req))
		state = []string{policies.LabelState}
	}
	strip(doc, foreign(intake.LedgerLabel, state...), "metadata", "labels")
	written := slices.Collect(maps.Keys(own))
	if record := annotations[policies.AnnotationMutated]; old == nil || old.Annotations[policies.AnnotationMutated] != record {
		written = append(written, policies.AnnotationMutated)
	}
	strip(doc, foreign(func(key string) bool {
		return intake.LedgerAnnotation(key) || key == policies.AnnotationBypass && !newBypass(old, annotations)
	}, written...), "metadata", "annotations")
	for _, label := range state {
		doc.set(policies.StateQueued, "metadata", "labels", label)
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		doc.set(own[key], "metadata", "annotations", key)
	}
	if old == nil || suspended(old) && old.Status.StartTime == nil {
		stripTemplate(doc)
	}
}

// stripTemplate leaves the label of the Job's own queue: tools that label
// everything write it, and the admission writes the same. A reason to bypass would
// be one on every pod.
func stripTemplate(doc *document) {
	const spec, template, metadata = "spec", "template", "metadata"
	queue := doc.at(metadata, "labels", policies.LabelQueue)
	same := doc.at(spec, template, metadata, "labels", policies.LabelQueue) == queue
	strip(doc, func(key string) bool {
		return intake.LedgerLabel(key) || key == policies.LabelQueue && !same
	}, spec, template, metadata, "labels")
	strip(doc, func(key string) bool {
		return intake.LedgerAnnotation(key) || key == policies.AnnotationBypass
	}, spec, template, metadata, "annotations")
}

// leave takes out what the ledger wrote into a Job that leaves its queue: its
// pods would still be charged by it. One that has started may not leave, says the
// validating policy; and a Job that lost all of its labels but those of such a
// template would get the template's, the queue's among them.
func leave(doc *document, old *batchv1.Job) {
	if !suspended(old) || old.Status.StartTime != nil {
		return
	}
	queue := func(key string) bool { return intake.LedgerLabel(key) || key == policies.LabelQueue }
	strip(doc, intake.LedgerLabel, "metadata", "labels")
	strip(doc, intake.LedgerAnnotation, "metadata", "annotations")
	strip(doc, queue, "spec", "template", "metadata", "labels")
	strip(doc, intake.LedgerAnnotation, "spec", "template", "metadata", "annotations")
}

// foreign is a test for keys to take out, but those that are written anyway.
func foreign(drop func(string) bool, written ...string) func(string) bool {
	return func(key string) bool { return drop(key) && !slices.Contains(written, key) }
}

// strip removes the keys that drop names from the object at a path.
func strip(doc *document, drop func(string) bool, path ...string) {
	object, _ := doc.at(path...).(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if drop(key) {
			doc.remove(append(slices.Clone(path), key)...)
		}
	}
}

// identity tells the Jobs apart that are being created at the same time. Two of
// one generateName share it: each has a stamp of its own, by which it is known.
func identity(doc *document, req admission.Request) string {
	return fmt.Sprintf("%s/%v/%v/%s", req.Namespace, doc.at("metadata", "name"), doc.at("metadata", "generateName"), req.UserInfo.Username)
}

// passes tells whether the request says why it wants past the guard. Whether it
// may is decided by the validating policy, which can ask the authorizer.
func passes(old, job *batchv1.Job) bool { return newBypass(old, job.Annotations) }

// collects tells whether the garbage collector asks. It takes away references to
// owners that are gone, and may not hang on what the policy says of a Job that
// enters a queue by that.
func collects(req admission.Request) bool {
	switch req.UserInfo.Username {
	case "system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager":
		return true
	}
	return false
}

func newBypass(old *batchv1.Job, annotations map[string]string) bool {
	reason := annotations[policies.AnnotationBypass]
	return old != nil && reason != "" && reason != old.Annotations[policies.AnnotationBypass]
}

func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }
