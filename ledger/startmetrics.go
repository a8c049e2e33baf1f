package ledger

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/estimate"
)

// StartMetrics compare what was told first of when a Job starts with when it did.
type StartMetrics struct {
	total *prometheus.CounterVec
	err   prometheus.Histogram
	width prometheus.Histogram
}

// NewStartMetrics registers the metrics.
func NewStartMetrics(registry prometheus.Registerer) (*StartMetrics, error) {
	buckets := []float64{1, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}
	m := &StartMetrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdshort_start_estimates_total",
			Help: "Jobs that started, by how that was to the first estimate: within its range, before it, after it, or open (it had no end).",
		}, []string{"result"}),
		err: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdshort_start_estimate_error_seconds", Buckets: buckets,
			Help: "How far outside the range of its first estimate a Job started; 0 within it. Ranges without an end are left out.",
		}),
		width: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdshort_start_estimate_width_seconds", Buckets: buckets,
			Help: "How long the range of the first estimate of a Job was that started since.",
		}),
	}
	for _, metric := range []prometheus.Collector{m.total, m.err, m.width} {
		if err := registry.Register(metric); err != nil {
			return nil, err
		}
	}
	for _, result := range []string{startWithin, startEarly, startLate, startOpen} {
		m.total.WithLabelValues(result)
	}
	return m, nil
}

// How a start was to what was told of it.
const (
	startWithin = "within"
	startEarly  = "early"
	startLate   = "late"
	startOpen   = "open"
)

// measure notes that a Job of which this was told has started.
func (m *StartMetrics) measure(told estimate.Start, at int64) {
	if told.Latest == 0 {
		m.total.WithLabelValues(startOpen).Inc()
		return
	}
	off, result := int64(0), startWithin
	switch {
	case at < told.Earliest:
		off, result = told.Earliest-at, startEarly
	case at > told.Latest:
		off, result = at-told.Latest, startLate
	}
	m.total.WithLabelValues(result).Inc()
	m.err.Observe(time.Duration(off).Seconds())
	m.width.Observe(time.Duration(told.Latest - told.Earliest).Seconds())
}

// startedAt compares the start of a Job with what was told of it first.
func (l *Loop) startedAt(uid string, at int64) {
	told, known := l.starts.first[uid]
	delete(l.starts.first, uid)
	if known && l.Starts != nil {
		l.Starts.measure(told, at)
	}
}

// observeEnd takes a Job that is over into the history of runs, once.
func (l *Loop) observeEnd(t *tracked) {
	if t.counted || t.job == nil || !t.job.Finished {
		return
	}
	for _, c := range t.raw.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed {
			continue
		}
		t.counted = true
		if queue, run, ran := estimate.Ended(t.job, c.LastTransitionTime.UnixNano()); ran {
			l.starts.history.Add(queue, run)
		}
	}
}
