package intake

import (
	"encoding/json"
	"maps"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// MutatedRecord is what mutate changed of the Job, nil if nothing is recorded.
//
// A user may have forged it where no webhook and no mutating policy saw the Job,
// and the ledger writes by it. So it says nothing of keys that mutate cannot have
// written, the Job's queue first of all, nor of values that no Job can have had:
// the API server would refuse each admission.
func MutatedRecord(job *batchv1.Job) *demand.Mutated {
	text, there := job.Annotations[policies.AnnotationMutated]
	if !there {
		return nil
	}
	var m demand.Mutated
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	for _, labels := range []map[string]demand.Change[string]{m.Labels, m.PodLabels} {
		maps.DeleteFunc(labels, func(key string, c demand.Change[string]) bool {
			return policies.NotMutates(key) != "" || !isLabel(key, c)
		})
	}
	for _, annotations := range []map[string]demand.Change[string]{m.Annotations, m.PodAnnotations} {
		maps.DeleteFunc(annotations, func(key string, _ demand.Change[string]) bool {
			return policies.NotMutates(key) != "" && !policies.MutatesOwn(key) || !isKey(key)
		})
	}
	maps.DeleteFunc(m.NodeSelector, func(key string, c demand.Change[string]) bool { return !isLabel(key, c) })
	m.ActiveDeadlineSeconds = duration(m.ActiveDeadlineSeconds, math.MaxInt64)
	m.TTLSecondsAfterFinished = duration(m.TTLSecondsAfterFinished, math.MaxInt32)
	return &m
}

func isKey(key string) bool { return len(validation.IsQualifiedName(key)) == 0 }

func isLabel(key string, c demand.Change[string]) bool {
	return isKey(key) && (c.From == nil || len(validation.IsValidLabelValue(*c.From)) == 0)
}

func duration(c *demand.Change[int64], most int64) *demand.Change[int64] {
	if c != nil && c.From != nil && (*c.From < 0 || *c.From > most) {
		return nil
	}
	return c
}
