package intake

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// peak is how many pods the Job runs at once at most: what it was made for.
func peak(job *batchv1.Job) int64 {
	most := written(job)
	if job.Spec.Completions != nil {
		most = min(most, max(0, int64(*job.Spec.Completions)))
	}
	return most
}

// parallelism is how many pods it may run now.
func parallelism(job *batchv1.Job) int64 { return pods(job.Spec.Parallelism) }

// written is the parallelism that its user asks for.
func written(job *batchv1.Job) int64 { return pods(ownParallelism(job)) }

// pods of nil are 1, as the API server defaults it.
func pods(parallelism *int32) int64 {
	if parallelism == nil {
		return 1
	}
	return max(0, int64(*parallelism))
}

// wantActive is how many pods the Job controller keeps running for this Job
// while it is not suspended. It is its own rule, not an estimate: with
// completions, what is left of them, at most parallelism; without, parallelism
// until the first success and from then on only what still runs. What is
// suspended asks again for all that its user wrote.
func wantActive(job *batchv1.Job) int64 {
	most := parallelism(job)
	if suspended(job) {
		most = written(job)
	}
	switch {
	case Finished(job), job.DeletionTimestamp != nil:
		return 0
	case job.Spec.Completions != nil:
		return min(most, remaining(job, int64(*job.Spec.Completions)))
	case succeeded(job) > 0:
		return max(0, int64(job.Status.Active))
	}
	return most
}

// remaining completions. Of an Indexed Job a failed index is as done as a
// succeeded one: neither gets another pod.
func remaining(job *batchv1.Job, completions int64) int64 {
	done := succeeded(job)
	if job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion {
		indexes := job.Status.CompletedIndexes
		if job.Status.FailedIndexes != nil {
			indexes += "," + *job.Status.FailedIndexes
		}
		done = countIndexes(indexes, completions)
	}
	return max(0, completions-done)
}

// succeeded pods, with those that the Job controller has seen but not yet
// added up.
func succeeded(job *batchv1.Job) int64 {
	count := max(0, int64(job.Status.Succeeded))
	if uncounted := job.Status.UncountedTerminatedPods; uncounted != nil {
		count += int64(len(uncounted.Succeeded))
	}
	return count
}

// Finished tells whether the Job is over, or will be as soon as its pods are
// gone: no new pod is made in either case.
func Finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
			return true
		}
	}
	return false
}

// span is an interval of indexes, both ends in it.
type span struct{ first, last int64 }

// countIndexes counts the indexes below limit that a text such as "1,3-5,7"
// names. Each counts once, however often it is named; what is out of range or
// cannot be read does not count.
func countIndexes(text string, limit int64) int64 {
	var spans []span
	for part := range strings.SplitSeq(text, ",") {
		if s, ok := parseSpan(part, limit); ok {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	count, next := int64(0), int64(0) // next: the first index not yet looked at
	for _, s := range spans {
		if first := max(s.first, next); first <= s.last {
			count += s.last - first + 1
			next = s.last + 1
		}
	}
	return count
}

func parseSpan(text string, limit int64) (span, bool) {
	from, to, ranged := strings.Cut(strings.TrimSpace(text), "-")
	first, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return span{}, false
	}
	last := first
	if ranged {
		if last, err = strconv.ParseInt(to, 10, 64); err != nil {
			return span{}, false
		}
	}
	s := span{first: max(0, first), last: min(last, limit-1)}
	return s, s.first <= s.last
}
