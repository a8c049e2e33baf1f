package rollout

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdshort/holdshort/policies/engine"
)

// RevisionInfo is a metric that says which revision is in force here, so that
// managers can be compared: those that show the same digest decide alike. Without
// a policy there is none.
type RevisionInfo struct {
	active func() *engine.Revision
	digest *prometheus.Desc
}

// NewRevisionInfo makes the metric of whatever active gives.
func NewRevisionInfo(active func() *engine.Revision) RevisionInfo {
	return RevisionInfo{active, prometheus.NewDesc("holdshort_policy_revision_info",
		"The policy that is in force in this manager; always 1.", []string{"digest"}, nil)}
}

// Describe implements prometheus.Collector.
func (i RevisionInfo) Describe(to chan<- *prometheus.Desc) { to <- i.digest }

// Collect implements prometheus.Collector.
func (i RevisionInfo) Collect(to chan<- prometheus.Metric) {
	if revision := i.active(); revision != nil {
		to <- prometheus.MustNewConstMetric(i.digest, prometheus.GaugeValue, 1, revision.Digest())
	}
}
