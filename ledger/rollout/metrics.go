package rollout

import "github.com/prometheus/client_golang/prometheus"

// Metrics of the rollout.
type Metrics struct {
	candidates *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{candidates: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdshort_policy_candidate_total",
		Help: "Policies that were read and judged, by what came of it.",
	}, []string{"result", "reason"})}
	return m, registry.Register(m.candidates)
}

// count a candidate; without metrics nobody counts.
func (r *Rollout) count(result, reason string) {
	if r.Metrics != nil {
		r.Metrics.candidates.WithLabelValues(result, reason).Inc()
	}
}
