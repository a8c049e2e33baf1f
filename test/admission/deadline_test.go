//go:build plane

package admission_test

import (
	"testing"

	"k8s.io/client-go/kubernetes"
)

// moreTime: others count on a deadline of what runs. It moves forward and never back,
// save by who may bypass, and on what waits or is over it is the user's own.
func (w *world) moreTime(t *testing.T) {
	const refuses = "others may count on its room for when it is over, 3600 s after its start"
	const none, longer, shorter = `{"spec":{"activeDeadlineSeconds":null}}`, `{"spec":{"activeDeadlineSeconds":3601}}`, `{"spec":{"activeDeadlineSeconds":3599}}`
	deadline := int64(3600)
	for _, c := range []struct {
		name           string
		waits          bool // it is not admitted yet
		none           bool // it has no deadline
		as             kubernetes.Interface
		patch, refused string
	}{
		{name: "a longer deadline is refused", as: w.alice, patch: longer, refused: refuses},
		{name: "none is", as: w.alice, patch: none, refused: refuses},
		{name: "the longest that there is", as: w.alice, patch: `{"spec":{"activeDeadlineSeconds":9223372036854775807}}`, refused: refuses},
		{name: "an admin needs a reason, too", as: w.admin, patch: longer, refused: refuses},
		{name: "a shorter one is taken", as: w.alice, patch: shorter},
		{name: "the same is applied again", as: w.alice, patch: `{"metadata":{"labels":{"app":"x"}},"spec":{"activeDeadlineSeconds":3600}}`},
		{name: "who never had one may have one", none: true, as: w.alice, patch: shorter},
		{name: "who bypasses may", as: w.bypass, patch: `{"metadata":{"annotations":{"holdshort.dev/bypass":"nobody waits"}},"spec":{"activeDeadlineSeconds":7200}}`},
		{name: "holding it is not refused", as: w.alice, patch: `{"metadata":{"annotations":{"holdshort.dev/hold":"more time"}}}`},
		{name: "a longer one of what waits is taken", waits: true, as: w.alice, patch: longer},
		{name: "none of what waits, too", waits: true, as: w.alice, patch: none},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := newJob(jobName(t))
			if !c.none {
				job.Spec.ActiveDeadlineSeconds = &deadline
			}
			w.queue(t, job)
			if !c.waits {
				w.admit(t, job.Name)
			}
			refused(t, w.patch(t.Context(), c.as, job.Name, c.patch), c.refused)
		})
	}
}
