package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/intake"
)

// estimateStarts works out when Jobs start, as beside a loop that goes on.
func (b *bench) estimateStarts() {
	b.t.Helper()
	answer := make(chan picture, 1)
	b.inbox.put(func(batch *batch) { batch.pictures = append(batch.pictures, answer) })
	b.step()
	seen := <-answer
	in := estimate.Input{Plan: seen.plan, Jobs: seen.jobs, History: seen.history, Each: startsEach, Lag: startsLag.Nanoseconds()}
	in.Nodes = append(in.Nodes, intake.Node(node("n1", 8)))
	found := estimate.Work(in)
	b.inbox.put(func(batch *batch) { batch.starts = found })
	for range 3 { // the status has to be due
		b.now = b.now.Add(statusEvery)
		b.published("research") // as an informer would deliver it
		b.step()
	}
}

// limit gives a Job a deadline.
func (b *bench) limit(name string, seconds int64) {
	b.t.Helper()
	job, _ := b.get(name)
	job.Spec.ActiveDeadlineSeconds = &seconds
	if err := b.store.Update(b.t.Context(), job); err != nil {
		b.t.Fatal(err)
	}
	b.watch(name)
}

func (b *bench) published(queue string) []v1alpha1.QueueStart {
	b.t.Helper()
	q := &v1alpha1.Queue{}
	if err := b.store.Get(b.t.Context(), types.NamespacedName{Name: queue}, q); err != nil {
		b.t.Fatal(err)
	}
	b.inbox.put(func(batch *batch) { batch.queues[queue] = q })
	return q.Status.Starts
}

func TestTheFirstInLineAreToldWhenTheyStart(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	began := b.now
	b.create("first", 4)
	b.limit("first", 600)
	b.step()
	b.watch("first")
	b.create("second", 4)
	b.create("never", 5)
	b.step()
	b.estimateStarts()
	by := metav1.NewTime(began.Add(600*time.Second + startsLag))
	want := []v1alpha1.QueueStart{
		{UID: "uid-second", Latest: &by, Ground: "run limits"},
		{UID: "uid-never", Unknown: "never as things are (NeverFits)"},
	}
	if diff := cmp.Diff(want, b.published("research")); diff != "" {
		t.Fatalf("what is published (-want +got):\n%s", diff)
	}
	b.estimateStarts() // a moment later it is about the same, which is not worth a write
	if diff := cmp.Diff(want, b.published("research")); diff != "" {
		t.Errorf("a moment later (-want +got):\n%s", diff)
	}
}

func TestStartsAreComparedWithWhatWasToldFirst(t *testing.T) {
	for name, c := range map[string]struct {
		told estimate.Start
		at   int64
		want map[string]float64
	}{
		"within":    {estimate.Start{Earliest: 10e9, Latest: 70e9}, 60e9, map[string]float64{"within": 1, "error": 0, "width": 60}},
		"too early": {estimate.Start{Earliest: 10e9, Latest: 70e9}, 5e9, map[string]float64{"early": 1, "error": 5, "width": 60}},
		"too late":  {estimate.Start{Earliest: 10e9, Latest: 70e9}, 100e9, map[string]float64{"late": 1, "error": 30, "width": 60}},
		"no end":    {estimate.Start{Earliest: 10e9}, 100e9, map[string]float64{"open": 1, "error": 0, "width": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"data.yaml": loopPolicy})
			registry := prometheus.NewRegistry()
			counts, err := NewStartMetrics(registry)
			if err != nil {
				t.Fatal(err)
			}
			b.Starts = counts
			b.starts.first["u"] = c.told
			b.startedAt("u", c.at)
			b.startedAt("u", c.at) // nothing is known of it any more
			if diff := cmp.Diff(c.want, gathered(t, registry)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// gathered is the counts that are not zero, and the sums of the histograms.
func gathered(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch family.GetName() {
			case "holdshort_start_estimate_error_seconds":
				got["error"] = m.GetHistogram().GetSampleSum()
			case "holdshort_start_estimate_width_seconds":
				got["width"] = m.GetHistogram().GetSampleSum()
			default:
				if n := m.GetCounter().GetValue(); n > 0 {
					got[m.GetLabel()[0].GetValue()] = n
				}
			}
		}
	}
	return got
}

func TestRunsThatEndAreRemembered(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	for _, name := range []string{"r1", "r2", "r3", "r4", "r5"} {
		b.create(name, 4)
		b.step()
		b.now = b.now.Add(100 * time.Second)
		job, _ := b.get(name)
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(b.now),
		})
		if err := b.store.Status().Update(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		b.watch(name)
		b.step()
		b.watch(name) // seen once more, it counts once
		b.step()
	}
	began := b.now
	b.create("runs", 4)
	b.step()
	b.watch("runs")
	b.create("waits", 4)
	b.step()
	b.estimateStarts()
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: began.Add(d)} }
	want := []v1alpha1.QueueStart{{
		UID: "uid-waits", Earliest: at(100 * time.Second), Latest: at(100*time.Second + startsLag), Ground: "5 past runs",
	}}
	if diff := cmp.Diff(want, b.published("research")); diff != "" {
		t.Errorf("what is published (-want +got):\n%s", diff)
	}
}
