package history

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// story is what one queued Job went through.
type story struct {
	last        *batchv1.Job
	lifts       int
	suspensions int // after a lift
	pods        map[types.UID]bool
}

func (c *checker) story(uid types.UID) *story {
	if c.stories[uid] == nil {
		c.stories[uid] = &story{pods: map[types.UID]bool{}}
	}
	return c.stories[uid]
}

// ranOnce judges whole stories, at the end.
func (c *checker) ranOnce() {
	uids := make([]types.UID, 0, len(c.stories))
	for uid := range c.stories {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	for _, uid := range uids {
		s := c.stories[uid]
		if s.last == nil { // its pods were seen, itself never
			continue
		}
		e := Event{Job: s.last}
		if s.lifts != 1 {
			c.report("ran-once", e, "admitted %d times", s.lifts)
		}
		if s.suspensions > 0 {
			c.report("ran-once", e, "suspended again %d times", s.suspensions)
		}
		if wants := s.last.Spec.Completions; wants != nil && len(s.pods) != int(*wants) {
			c.report("ran-once", e, "made %d pods for %d completions", len(s.pods), *wants)
		}
		if !complete(s.last) {
			c.report("ran-once", e, "did not complete")
		}
	}
}

func complete(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue
	})
}
