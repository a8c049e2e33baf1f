package ledger

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// tellDifferences writes the events of Jobs whose pods ask for more than was booked. It
// returns how long until the rest can be told.
func (l *Loop) tellDifferences(now time.Time) time.Duration {
	for l.book.HasDifferences() {
		if l.talk.full() || !l.may(now, l.talk.differ) {
			return time.Second / eventsPerSecond
		}
		d, there := l.book.NextDifference()
		if t := l.jobs[types.UID(d.UID)]; there && t != nil {
			event := differs(t.raw, d, now)
			l.talk.work <- func(ctx context.Context) { l.writeOnce(ctx, event) }
		}
	}
	return auditEvery
}

// differs is named by the admission, so that there is one however often a manager
// begins anew and sees the pods for the first time.
func differs(job *batchv1.Job, d book.Difference, now time.Time) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("requests-differ.%s.%x", d.UID, d.Time), Namespace: job.Namespace},
		EventTime:  metav1.NewMicroTime(now),
		Type:       corev1.EventTypeWarning, Reason: reason.RequestsDiffer, Action: "Count",
		Note:                reason.Note(reason.Differ(partsOf(d.Pod), partsOf(d.Booked))),
		ReportingController: "holdshort", ReportingInstance: "holdshort",
		Regarding: corev1.ObjectReference{
			APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		},
	}
}

func partsOf(list resource.List) []reason.Part {
	parts := make([]reason.Part, 0, len(list))
	for _, name := range list.Names() {
		parts = append(parts, reason.Part{Resource: resource.Words(name), Amount: list[name]})
	}
	return parts
}

// writeOnce writes an event that may be there.
func (l *Loop) writeOnce(ctx context.Context, event *eventsv1.Event) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := l.Client.Create(ctx, event); err != nil && !apierrors.IsAlreadyExists(err) {
		l.Log.Error(fmt.Errorf("writing an event: %w", err), "event lost", "job", event.Namespace+"/"+event.Regarding.Name, "reason", event.Reason, "note", event.Note)
	}
}
