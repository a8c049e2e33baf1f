//go:build plane

package requests_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/setting"
)

// Random templates in namespaces with all kinds of LimitRanges: the pod that
// the API server makes asks for what was foreseen, and may run where it was.
// What it refuses for its RuntimeClass is a Problem before.
func TestThePodIsTheOneForeseen(t *testing.T) {
	for _, c := range []struct{ name, emulated string }{
		{"by the newest server", ""},
		{"by one that fills in the pod level first", "1.35"},
	} {
		t.Run(c.name, func(t *testing.T) { compareMany(t, c.emulated) })
	}
}

// rounds are how many rapid makes.
const rounds = 100

func compareMany(t *testing.T, emulated string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	many := int(setting.Number(t, "HOLDSHORT_TEMPLATES", rounds, 200))
	f := start(t, ctx, cluster.Options{EmulatedVersion: emulated})
	namespaces := slices.Sorted(maps.Keys(limitRanges()))
	compared, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range many / rounds {
			job := &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "train-", Namespace: rapid.SampledFrom(namespaces).Draw(t, "namespace")},
				Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: drawTemplate(t)}},
			}
			if f.foreseen(ctx, t, job) {
				compared++
			} else {
				refused++
			}
		}
	})
	t.Logf("%d pods compared, %d templates refused by the API server", compared, refused)
	if compared < refused/2 || compared < many/10 {
		t.Errorf("only %d pods compared, %d refused: the generator makes too few that the API server accepts", compared, refused)
	}
}

// foreseen compares one Job's pod; false if the API server refuses the Job or
// the pod.
func (f *fixture) foreseen(ctx context.Context, t *rapid.T, job *batchv1.Job) bool {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	stored, err := f.Client.BatchV1().Jobs(job.Namespace).Create(ctx, job, dry)
	if f.refused(t, err) {
		return false
	}
	got := intake.Job(stored, f.env(job.Namespace))
	pod, err := f.Client.CoreV1().Pods(job.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "train-", Labels: stored.Spec.Template.Labels},
		Spec:       stored.Spec.Template.Spec,
	}, dry)
	if f.refused(t, err) {
		message := strings.ToLower(err.Error())
		if strings.Contains(message, "runtimeclass") && got.Problem == nil {
			t.Fatalf("no Problem foreseen, but the API server says: %v\n%s", err, text(stored.Spec.Template.Spec))
		}
		return false
	}
	if got.Problem != nil {
		t.Fatalf("the API server makes the pod, but: %s\n%s", got.Problem.Message, text(stored.Spec.Template.Spec))
	}
	made := intake.Pod(pod, nil)
	if diff := cmp.Diff(made.Requests, got.PodSets[0].Requests); diff != "" {
		t.Fatalf("namespace %s: requests (-pod +foreseen):\n%s\n%s", job.Namespace, diff, text(stored.Spec.Template.Spec))
	}
	if diff := cmp.Diff(place(made.Place), place(got.PodSets[0].Place)); diff != "" {
		t.Fatalf("place (-pod +foreseen):\n%s\n%s", diff, text(stored.Spec.Template.Spec))
	}
	return true
}

func (f *fixture) refused(t *rapid.T, err error) bool {
	if err == nil {
		return false
	}
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	return true
}

// place in one order, and without the tolerations that every pod gets for nodes
// that go away.
func place(p demand.Place) demand.Place {
	var kept []policies.Toleration
	for _, t := range p.Tolerations {
		if !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			kept = append(kept, t)
		}
	}
	slices.SortFunc(kept, func(a, b policies.Toleration) int { return strings.Compare(a.Key+a.Value, b.Key+b.Value) })
	p.Tolerations = kept
	if len(p.NodeSelector) == 0 {
		p.NodeSelector = nil
	}
	return p
}

func text(spec corev1.PodSpec) string {
	data, err := yaml.Marshal(spec)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
