package report

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// eventsMax is how many of the latest events an explanation carries.
const eventsMax = 5

// ownEvents is what reports the ledger's events.
const ownEvents = "holdshort"

// events are the latest, oldest first; the ledger's own before others, since a
// Job of many pods has many that say little. Many are dated to the second only;
// within one, the order in which the API server stored them counts.
func events(list []corev1.Event) []Event {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b corev1.Event) int {
		return cmp.Or(
			second(&a).Compare(second(&b)),
			cmp.Compare(len(a.ResourceVersion), len(b.ResourceVersion)), // numbers: the longer is the later
			cmp.Compare(a.ResourceVersion, b.ResourceVersion),
			cmp.Compare(a.Name, b.Name),
		)
	})
	for i := 0; i < len(sorted) && len(sorted) > eventsMax; {
		if own(&sorted[i]) {
			i++
		} else {
			sorted = slices.Delete(sorted, i, i+1)
		}
	}
	sorted = sorted[max(0, len(sorted)-eventsMax):]
	rows := make([]Event, 0, len(sorted))
	for i := range sorted {
		rows = append(rows, newEvent(&sorted[i]))
	}
	return rows
}

func second(e *corev1.Event) time.Time { return newEvent(e).Time.Truncate(time.Second) }

// newEvent reads an event of either API: the newer one leaves the old fields
// for time and count empty.
func newEvent(e *corev1.Event) Event {
	row := Event{Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(1, int64(e.Count))}
	switch {
	case e.Series != nil:
		row.Time, row.Count = e.Series.LastObservedTime.UTC(), int64(e.Series.Count)
	case !e.LastTimestamp.IsZero():
		row.Time = e.LastTimestamp.UTC()
	case !e.EventTime.IsZero():
		row.Time = e.EventTime.UTC()
	default:
		row.Time = e.CreationTimestamp.UTC()
	}
	return row
}

func own(e *corev1.Event) bool {
	return e.ReportingController == ownEvents || e.Source.Component == ownEvents
}
