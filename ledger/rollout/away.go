package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// isAway tells an error of a source that gives nothing to judge from one that says
// what is wrong with what it gave.
func isAway(err error) bool { return !errors.As(err, new(*engine.BundleError)) }

// away records that the source cannot be read. Whatever was in force stays; each
// cause is told once.
func (r *Rollout) away(ctx context.Context, source string, err error) {
	told := "away\n" + err.Error()
	if told == r.told {
		return
	}
	// What it says when it is back has to be judged, even if it is what it was.
	r.told, r.judged = told, ""
	r.status.away(source, err, r.Now())
	r.Log.Error(err, "the policy's source cannot be read; the last good policy stays in force")
	r.event(ctx, "Warning", "PolicySourceUnavailable", sentence(outside(err.Error(), problemMax), r.status.want.Candidate.Reason))
	r.count("unavailable", "source")
}

// away shows that nothing is known of what the source says, since when, and what
// is in force meanwhile.
func (s *status) away(source string, err error, now time.Time) {
	why := outside(err.Error(), problemMax)
	since := metav1.NewTime(now)
	if before := s.want.Candidate; before != nil && before.Verdict == v1alpha1.VerdictUnavailable && before.Source == source {
		since = before.Time
	}
	standing := "no policy is in force, so no Job starts"
	if active := s.want.Active; active != nil {
		standing = fmt.Sprintf("revision %s stays in force", engine.Short(active.Digest))
	}
	s.want.Candidate = &v1alpha1.Revision{
		Source: source, Time: since, Verdict: v1alpha1.VerdictUnavailable, Reason: standing,
		Errors: []v1alpha1.PolicyProblem{{At: "source", Message: why}},
	}
	// Whether the newest policy is in force, nobody can say.
	s.condition(metav1.ConditionUnknown, v1alpha1.VerdictUnavailable, sentence(why, standing))
	s.dirty = true
}
