//go:build plane

package admission_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/policies"
)

// mutating tests the policies that only newer servers have.
func (w *world) mutating(t *testing.T) {
	t.Run("a forged Job is suspended and cleaned", func(t *testing.T) {
		job := forged(jobName(t))
		got := w.create(t, w.alice, job)
		compareKeys(t, got, keys{
			Labels:      map[string]string{"holdshort.dev/queue": "q", "holdshort.dev/priority": "urgent", "holdshort.dev/state": "queued", "app": "x"},
			Annotations: map[string]string{"holdshort.dev/user": "alice", "holdshort.dev/hold": "true", "holdshort.dev/min-parallelism": "1", "holdshort.dev/max-runtime-seconds": "60", "holdshort.dev/required-topology": "rack", "holdshort.dev/preferred-topology": "", "other": "kept"},
			PodLabels:   map[string]string{"app": "x"},
			PodNotes:    map[string]string{"other": "kept"},
			Suspended:   true,
		})
	})
	t.Run("a generated name and a dry run", func(t *testing.T) {
		job := newJob("")
		job.GenerateName = "generated-"
		job.Labels = map[string]string{policies.LabelQueue: "q"}
		got, err := w.alice.BatchV1().Jobs("research").Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatal(err)
		}
		compareKeys(t, got, keys{
			Labels:      map[string]string{"holdshort.dev/queue": "q", "holdshort.dev/state": "queued"},
			Annotations: map[string]string{"holdshort.dev/user": "alice"}, Suspended: true,
		})
	})
	t.Run("a Job that enters a queue is cleaned", func(t *testing.T) {
		job := forged(jobName(t))
		yes := true
		job.Spec.Suspend = &yes
		delete(job.Labels, policies.LabelQueue)
		job.Spec.Template.Annotations = map[string]string{"holdshort.dev/anything": "1", "other": "kept"}
		w.create(t, w.alice, job)
		if err := w.patch(t.Context(), w.alice, job.Name, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`); err != nil {
			t.Fatal(err)
		}
		compareKeys(t, w.get(t, job.Name), keys{
			Labels:      map[string]string{"holdshort.dev/queue": "q", "holdshort.dev/priority": "urgent", "app": "x"},
			Annotations: map[string]string{"holdshort.dev/user": "alice", "holdshort.dev/hold": "true", "holdshort.dev/min-parallelism": "1", "holdshort.dev/max-runtime-seconds": "60", "holdshort.dev/required-topology": "rack", "holdshort.dev/preferred-topology": "", "other": "kept"},
			PodLabels:   map[string]string{"app": "x"},
			PodNotes:    map[string]string{"other": "kept"},
			Suspended:   true,
		})
	})
	t.Run("suspending what runs is undone, unless it is meant", func(t *testing.T) {
		for _, c := range []struct {
			name, patch string
			suspended   bool
		}{
			{"by accident", `{"spec":{"suspend":true}}`, false},
			{"held", `{"metadata":{"annotations":{"holdshort.dev/hold":"true"}},"spec":{"suspend":true}}`, true},
			{"not held", `{"metadata":{"annotations":{"holdshort.dev/hold":"false"}},"spec":{"suspend":true}}`, false},
		} {
			name := "suspend-" + strings.ReplaceAll(c.name, " ", "-")
			w.admitted(t, name)
			if err := w.patch(t.Context(), w.alice, name, c.patch); err != nil {
				t.Fatal(err)
			}
			if got := *w.get(t, name).Spec.Suspend; got != c.suspended {
				t.Errorf("%s: suspended %t, want %t", c.name, got, c.suspended)
			}
		}
		w.admitted(t, "suspend-bypass")
		err := w.patch(t.Context(), w.bypass, "suspend-bypass", `{"metadata":{"annotations":{"holdshort.dev/bypass":"outage"}},"spec":{"suspend":true}}`)
		if got := w.get(t, "suspend-bypass"); err != nil || !*got.Spec.Suspend {
			t.Errorf("a holder of bypass cannot suspend: %v", err)
		}
	})
	t.Run("deleted and recreated from its own manifest, it waits again", func(t *testing.T) {
		name := jobName(t)
		w.admitted(t, name)
		copied := w.get(t, name)
		copied.ResourceVersion, copied.Spec.Selector = "", nil
		for _, key := range []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"} {
			delete(copied.Spec.Template.Labels, key)
		}
		orphan := metav1.DeletePropagationOrphan
		if err := w.alice.BatchV1().Jobs("research").Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the Job to be gone", func() error {
			return stillThere(w.alice.BatchV1().Jobs("research").Get(t.Context(), name, metav1.GetOptions{}))
		})
		w.create(t, w.alice, copied)
		got := w.get(t, name)
		if !*got.Spec.Suspend || got.Labels[policies.LabelState] != policies.StateQueued || got.Annotations[policies.AnnotationReservation] != "" {
			t.Errorf("suspend %t, labels %v, annotations %v", *got.Spec.Suspend, got.Labels, got.Annotations)
		}
	})
}

func forged(name string) *batchv1.Job {
	job := newJob(name)
	job.Labels = map[string]string{
		"holdshort.dev/queue": "q", "holdshort.dev/priority": "urgent", "holdshort.dev/state": "admitted",
		"holdshort.dev/anything": "1", "app": "x",
	}
	job.Annotations = map[string]string{
		"holdshort.dev/arrival": "1", "holdshort.dev/user": "root", "holdshort.dev/reservation": "{}",
		"holdshort.dev/bypass": "because", "holdshort.dev/hold": "true", "holdshort.dev/min-parallelism": "1", "holdshort.dev/max-runtime-seconds": "60", "holdshort.dev/required-topology": "rack", "holdshort.dev/preferred-topology": "", "other": "kept",
	}
	job.Spec.Template.Labels = map[string]string{"holdshort.dev/queue": "z", "app": "x"}
	job.Spec.Template.Annotations = map[string]string{"holdshort.dev/flavors": "{}", "other": "kept"}
	return job
}

// keys are the parts of a Job that admission changes.
type keys struct {
	Labels, Annotations, PodLabels, PodNotes map[string]string
	Suspended                                bool
}

func compareKeys(t *testing.T, job *batchv1.Job, want keys) {
	t.Helper()
	got := keys{
		Labels: ownLabels(job.Labels), Annotations: job.Annotations,
		PodLabels: ownLabels(job.Spec.Template.Labels), PodNotes: job.Spec.Template.Annotations,
		Suspended: job.Spec.Suspend != nil && *job.Spec.Suspend,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is stored (-want +got):\n%s", diff)
	}
}

// ownLabels are those that the API server did not add to the template, which a
// Job without labels of its own takes over from there.
func ownLabels(all map[string]string) map[string]string {
	var own map[string]string
	for key, value := range all {
		if strings.Contains(key, "controller-uid") || strings.Contains(key, "job-name") {
			continue
		}
		if own == nil {
			own = map[string]string{}
		}
		own[key] = value
	}
	return own
}

type managedScope struct {
	OwnNamespace      string `json:"ownNamespace"`
	ManagedNamespaces string `json:"managedNamespaces"`
}

type managedCase struct {
	Name      string             `json:"name"`
	Scope     *managedScope      `json:"scope"`
	Namespace policies.Namespace `json:"namespace"`
	Job       batchv1.Job        `json:"job"`
	Want      bool               `json:"want"`
}

// table holds the API server to what intake.Managed says.
func (w *world) table(t *testing.T, managed func(t *testing.T, namespace string, job *batchv1.Job) (bool, error)) {
	text, err := os.ReadFile("../../ledger/intake/testdata/managed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Scope managedScope  `json:"scope"`
		Cases []managedCase `json:"cases"`
	}
	if err := yaml.UnmarshalStrict(text, &table); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(table.Cases, func(a, b managedCase) int { return strings.Compare(a.selector(), b.selector()) })
	selector := ""
	for _, c := range table.Cases {
		if c.selector() != selector {
			selector = c.selector()
			w.narrow(t, selector)
		}
		t.Run(c.Name, func(t *testing.T) {
			w.labelNamespace(t, c.Namespace)
			job := newJob("table")
			job.ObjectMeta = c.Job.ObjectMeta
			job.Name, job.Spec.ManagedBy = "table", c.Job.Spec.ManagedBy
			eventually(t, fmt.Sprintf("managed to be %t", c.Want), func() error {
				got, err := managed(t, c.Namespace.Name, job)
				if err == nil && got != c.Want {
					err = fmt.Errorf("managed is %t", got)
				}
				return err
			})
		})
	}
	w.narrow(t, "")
}

func (c managedCase) selector() string {
	if c.Scope == nil {
		return ""
	}
	return c.Scope.ManagedNamespaces
}

// narrow sets the chart's managedNamespaces in the two policies and the webhook
// by what a template renders, without upgrading the rest.
func (w *world) narrow(t *testing.T, selector string) {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	requirements, _ := parsed.Requirements()
	var expressions []string
	for _, r := range requirements {
		expressions = append(expressions, fmt.Sprintf(`{"key":%q,"operator":"In","values":["%s"]}`, r.Key(), strings.Join(r.Values().UnsortedList(), `","`)))
	}
	_, err = w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "holdshort-jobs", metav1.GetOptions{})
	gone := err != nil
	w.install(t, `managedNamespaces={"matchExpressions":[`+strings.Join(expressions, ",")+`]}`)
	if gone {
		if err := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), "holdshort-jobs", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) labelNamespace(t *testing.T, ns policies.Namespace) {
	t.Helper()
	if err := w.Namespace(t.Context(), ns.Name); err != nil {
		t.Fatal(err)
	}
	value := "null"
	if gpu, there := ns.Labels["gpu"]; there {
		value = fmt.Sprintf("%q", gpu)
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{"gpu":%s}}}`, value)
	if _, err := w.admin.CoreV1().Namespaces().Patch(t.Context(), ns.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) suspendedAtCreation(t *testing.T, namespace string, job *batchv1.Job) (bool, error) {
	got, err := w.admin.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return false, err
	}
	return got.Spec.Suspend != nil && *got.Spec.Suspend, nil
}

func (w *world) refusedBy(who string) func(*testing.T, string, *batchv1.Job) (bool, error) {
	return func(t *testing.T, namespace string, job *batchv1.Job) (bool, error) {
		_, err := w.admin.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && strings.Contains(err.Error(), who) {
			return true, nil
		}
		return false, err
	}
}
