package rollout

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/reason"
)

// jobsMax is how many Jobs of one kind of difference are told apart.
const jobsMax = 10_000

// latestMax is how many differences are listed.
const latestMax = 20

// pair are the digests of the two policies that a tally is about.
type pair struct{ active, shadow string }

// tally counts the differences between two policies.
type tally struct {
	now        func() time.Time
	compared   prometheus.Counter
	dropped    prometheus.Counter
	difference *prometheus.CounterVec

	mu      sync.Mutex
	of      pair
	count   int64
	lost    int64
	kinds   map[string]int64
	jobs    map[string]map[string]bool // of each kind, namespace/name
	latest  []v1alpha1.Difference      // the newest first
	changed bool
	failing string // the shadow whose catalog failed the last time,
	failure string // and how
}

func newTally(now func() time.Time, registry prometheus.Registerer) (*tally, error) {
	t := &tally{
		now: now, kinds: map[string]int64{}, jobs: map[string]map[string]bool{},
		compared: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdshort_policy_shadow_compared_total", Help: "Decisions that the shadow policy was asked about, too."}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdshort_policy_shadow_dropped_total", Help: "Decisions that it was not asked about, since it was behind."}),
		difference: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdshort_policy_shadow_differences_total", Help: "Decisions of the shadow policy that differ, by what differs."},
			[]string{"kind"}),
	}
	for _, metric := range []prometheus.Collector{t.compared, t.dropped, t.difference} {
		if err := registry.Register(metric); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tally) drop(of pair) {
	t.dropped.Inc()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begin(of)
	t.lost++
}

// begin anew, if it is about other policies than before.
func (t *tally) begin(of pair) {
	t.changed = true
	if t.of != of {
		t.of, t.count, t.lost, t.latest = of, 0, 0, nil
		clear(t.kinds)
		clear(t.jobs)
	}
}

// add what came of one decision about a Job.
func (t *tally) add(of pair, job string, found []difference) {
	t.compared.Inc()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begin(of)
	t.count++
	for _, d := range found {
		t.difference.WithLabelValues(d.kind).Inc()
		t.kinds[d.kind]++
		if t.jobs[d.kind] == nil {
			t.jobs[d.kind] = map[string]bool{}
		}
		if len(t.jobs[d.kind]) < jobsMax {
			t.jobs[d.kind][job] = true
		}
		t.list(v1alpha1.Difference{Time: metav1.NewTime(t.now()), Kind: d.kind, Job: job,
			Active: reason.Note(d.active), Shadow: reason.Note(d.shadow)})
	}
}

// list a difference, in place of what was said of the same Job before.
func (t *tally) list(d v1alpha1.Difference) {
	t.latest = slices.DeleteFunc(t.latest, func(known v1alpha1.Difference) bool {
		return known.Job == d.Job && known.Kind == d.Kind
	})
	t.latest = slices.Insert(t.latest, 0, d)
	t.latest = t.latest[:min(len(t.latest), latestMax)]
}

// catalog notes how the last evaluation of a shadow's catalog ended.
func (t *tally) catalog(shadow string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failing, t.failure = shadow, ""
	if err != nil {
		t.failure = "its catalog could not be evaluated again, so its last good one stands: " + reason.Note(err.Error())
	}
}

// tell writes the tally of two policies into the status, if there is news; what
// is known of other ones is old.
func (t *tally) tell(of pair, status *v1alpha1.ShadowStatus) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failure := ""
	if t.failing == of.shadow {
		failure = t.failure
	}
	failed := status.Reason != failure
	status.Reason = failure
	if t.of != of {
		news = failed || status.Compared > 0
		status.Compared, status.Dropped, status.Differences, status.Latest = 0, 0, nil, nil
		return news
	}
	news, t.changed = failed || t.changed, false
	status.Compared, status.Dropped, status.Differences = t.count, t.lost, nil
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		status.Differences = append(status.Differences, v1alpha1.DifferenceCount{Kind: kind, Count: t.kinds[kind], Jobs: int64(len(t.jobs[kind]))})
	}
	status.Latest = slices.Clone(t.latest)
	return news
}
