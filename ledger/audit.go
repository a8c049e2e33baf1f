package ledger

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// AuditMetrics count how often the book was added up again.
type AuditMetrics struct{ total *prometheus.CounterVec }

// How the book's sums were.
const (
	auditEqual = "equal"
	auditOff   = "off"
)

// NewAuditMetrics registers the metrics.
func NewAuditMetrics(registry prometheus.Registerer) (*AuditMetrics, error) {
	m := &AuditMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdshort_book_audits_total",
		Help: "How often all that is held and promised was added up again, by how the running sums were: equal, or off, which is a bug and was put right.",
	}, []string{"result"})}
	for _, result := range []string{auditEqual, auditOff} {
		m.total.WithLabelValues(result)
	}
	return m, registry.Register(m.total)
}

// SumsOff is how the log begins to tell that the book's sums were: whoever runs the
// manager in a test looks for it.
const SumsOff = "the book's sums were off"

// audit has the book added up again while the loop goes on: from a copy of one
// moment, so that a difference is never one of time.
func (l *Loop) audit() {
	if l.auditing {
		return
	}
	l.auditing = true
	copied := l.book.Audit()
	go func() {
		diffs := copied.Check()
		l.inbox.put(func(b *batch) { b.audited = &diffs })
	}()
}

// audited hears how the book's sums were. Where they were off, all are counted again
// as things are now, and everybody who waits is looked at by that: whoever was admitted
// by too small a sum runs on, and nobody else is until the sums allow it.
func (l *Loop) audited(diffs []string) {
	l.auditing = false
	result := auditEqual
	if len(diffs) > 0 {
		result = auditOff
		l.book.Rebuild()
		first := fmt.Sprintf("%d differ, first %s", len(diffs), strings.Join(diffs[:min(len(diffs), auditTells)], "; "))
		l.Log.Error(nil, SumsOff+", which is a bug: all were counted again, and everything is decided by those. Try: report this", "differences", first)
		l.eventOfAll(corev1.EventTypeWarning, "BookRebuilt", "Audit", "the sums of what is held and promised were off, and were counted again: "+first+". Try: report this as a bug")
	}
	if l.Audits != nil {
		l.Audits.total.WithLabelValues(result).Inc()
	}
}
