package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// mutate writes what the policy wants a Job that enters a queue to have, as far
// as deny, warn and people should see it at once. Where its pods run is written
// when it is admitted. The subject that comes back is the Job as it will be
// stored.
//
// The policy is asked about what the user wrote. A request that comes a second
// time, since others have changed the object, brings the record of the first.
func (j *Jobs) mutate(ctx context.Context, doc *document, s subject) (subject, error) {
	var err error
	if s.job, err = doc.job(); err != nil {
		return s, err
	}
	record := []string{"metadata", "annotations", policies.AnnotationMutated}
	policy := j.options.Policy()
	if policy == nil {
		doc.remove(record...)
		return s, nil
	}
	written := s
	written.job = intake.AsWritten(s.job)
	input, err := j.input(written, policy.ReadsJob())
	if err != nil {
		return s, err
	}
	said, err := policy.Mutate(ctx, input)
	if err != nil {
		doc.remove(record...)
		s.warnings = append(s.warnings, notJudged(err))
		return s, nil
	}
	said.NodeSelector, said.Tolerations = nil, nil
	wanted, changed := intake.Mutate(written.job, said)
	setTexts(doc, wanted.Labels, "metadata", "labels")
	setTexts(doc, wanted.Annotations, "metadata", "annotations")
	setTexts(doc, wanted.Spec.Template.Labels, "spec", "template", "metadata", "labels")
	setTexts(doc, wanted.Spec.Template.Annotations, "spec", "template", "metadata", "annotations")
	setNumber(doc, wanted.Spec.ActiveDeadlineSeconds, "spec", "activeDeadlineSeconds")
	setNumber(doc, wanted.Spec.TTLSecondsAfterFinished, "spec", "ttlSecondsAfterFinished")
	if changed == nil {
		doc.remove(record...)
	} else {
		text, err := json.Marshal(changed)
		if err != nil {
			return s, fmt.Errorf("recording what mutate changed: %w", err)
		}
		doc.set(string(text), record...)
	}
	s.job, err = doc.job()
	return s, err
}

// setTexts makes an object of texts the one that is wanted. The record of mutate
// is not among them.
func setTexts(doc *document, want map[string]string, path ...string) {
	now := doc.strings(path...)
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if _, keep := want[key]; !keep && key != policies.AnnotationMutated {
			doc.remove(append(slices.Clone(path), key)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if key != policies.AnnotationMutated {
			doc.set(want[key], append(slices.Clone(path), key)...)
		}
	}
}

func setNumber[T int32 | int64](doc *document, want *T, path ...string) {
	if want == nil {
		doc.remove(path...)
		return
	}
	doc.set(number(int64(*want)), path...)
}

// number is as the raw object has it.
func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
