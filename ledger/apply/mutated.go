package apply

import (
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// with adds the keys of others to an object; the last one wins.
func with(o object, others ...object) object {
	for _, other := range others {
		maps.Copy(o, other)
	}
	return o
}

// texts is the part of a merge patch that makes one object of texts another, but
// for the project's own keys: each of those is written by name, and whatever want
// was made from, an admission never takes a Job out of its queue.
func texts(now, want map[string]string) object {
	patch := object{}
	for key, value := range want {
		if old, there := now[key]; (!there || old != value) && !own(key) {
			patch[key] = value
		}
	}
	for key := range now {
		if _, keep := want[key]; !keep && !own(key) {
			patch[key] = nil
		}
	}
	return patch
}

func own(key string) bool {
	return strings.HasPrefix(key, policies.Prefix) && !policies.MutatesOwn(key)
}

// durations is the part of a merge patch that sets how long a Job runs and is kept.
func durations(now, want *batchv1.JobSpec) object {
	patch := object{}
	number(patch, "activeDeadlineSeconds", now.ActiveDeadlineSeconds, want.ActiveDeadlineSeconds)
	number(patch, "ttlSecondsAfterFinished", now.TTLSecondsAfterFinished, want.TTLSecondsAfterFinished)
	return patch
}

func number[T comparable](patch object, key string, now, want *T) {
	switch {
	case now == want || now != nil && want != nil && *now == *want:
	case want == nil:
		patch[key] = nil
	default:
		patch[key] = *want
	}
}

// mutatedAnnotation is nil where there is nothing to record, so that an older
// record goes.
func mutatedAnnotation(m *demand.Mutated) (any, error) {
	if m == nil {
		return nil, nil
	}
	return text(m)
}
