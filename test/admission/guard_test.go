//go:build plane

package admission_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdshort/holdshort/policies"
)

// The same on both servers: the validating policies are on both.
func TestNoWayRound(t *testing.T) {
	w := start(t, "")
	w.guards(t)
	t.Run("what is being deleted", w.deleting)
	t.Run("entering a queue", func(t *testing.T) { w.entering(t, true) })
	t.Run("leaving a queue", func(t *testing.T) { w.leaving(t, true) })
	t.Run("what runs does not escape its share", w.escaping)
	t.Run("what has ended", w.over)
	t.Run("pausing", w.pausing)
	t.Run("asking for more time", w.moreTime)
	t.Run("carrying too much", w.crowded)
	t.Run("what carries too much is not slow", w.inTime)
	t.Run("resizing", w.resizing)
	t.Run("bare pods", w.barePods)
	t.Run("deletion never waits for us", w.deletion)
	t.Run("nobody else notices", w.nobodyElse)
	t.Run("mutating policies", w.mutating)
	t.Run("carrying too much at creation", w.crowdedAtCreation)
	t.Run("the table of what is ours", func(t *testing.T) { w.table(t, w.suspendedAtCreation) })
}

func TestNoWayRoundOnAnOlderServer(t *testing.T) {
	w := start(t, older)
	w.guards(t)
	t.Run("what is being deleted", w.deleting)
	t.Run("entering a queue", func(t *testing.T) { w.entering(t, false) })
	t.Run("leaving a queue", func(t *testing.T) { w.leaving(t, false) })
	t.Run("what runs does not escape its share", w.escaping)
	t.Run("what has ended", w.over)
	t.Run("pausing", w.pausing)
	t.Run("asking for more time", w.moreTime)
	t.Run("carrying too much", w.crowded)
	t.Run("what carries too much is not slow", w.inTime)
	t.Run("resizing", w.resizing)
	t.Run("bare pods", w.barePods)
	t.Run("deletion never waits for us", w.deletion)
	t.Run("nobody else notices", w.nobodyElse)
	t.Run("the table of what is ours, by the webhook's rules", func(t *testing.T) {
		w.table(t, w.refusedBy("suspend.jobs.holdshort.dev"))
	})
	err := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), "holdshort-jobs", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the table of what is ours, by the validating policy", func(t *testing.T) {
		w.table(t, w.refusedBy("ValidatingAdmissionPolicy 'holdshort-new-jobs'"))
	})
	t.Run("carrying too much at creation", w.crowdedAtCreation)
}

const (
	queued   = "queued"
	admitted = "admitted"
	running  = "running without a label"
)

func (w *world) guards(t *testing.T) {
	for _, c := range []struct {
		name, from string
		as         kubernetes.Interface
		patch      string
		refused    string // part of the answer; empty: it is taken
	}{
		{"lifting the suspension is refused", queued, w.alice, `{"spec":{"suspend":false}}`, "only holdshort lifts its suspension"},
		{"leaving suspend out by null is lifting it", queued, w.alice, `{"spec":{"suspend":null}}`, "only holdshort lifts its suspension"},
		{"an admin who does not say why may not lift it either", queued, w.admin, `{"spec":{"suspend":false}}`, "holdshort.dev/bypass to a reason"},
		{"an admin who says why may lift it", queued, w.admin, `{"metadata":{"annotations":{"holdshort.dev/bypass":"outage"}},"spec":{"suspend":false}}`, ""},
		{"a holder of bypass who does not say why may not lift it", queued, w.bypass, `{"spec":{"suspend":false}}`, "only holdshort lifts its suspension"},
		{"a holder of bypass who says why may lift it", queued, w.bypass, `{"metadata":{"annotations":{"holdshort.dev/bypass":"outage"}},"spec":{"suspend":false}}`, ""},
		{"blanks are no reason", queued, w.bypass, `{"metadata":{"annotations":{"holdshort.dev/bypass":"  "}},"spec":{"suspend":false}}`, "only holdshort lifts its suspension"},
		{"an empty reason is not written down", queued, w.bypass, `{"metadata":{"annotations":{"holdshort.dev/bypass":" "}}}`, "says why, and is empty"},
		{"alice's reason does not help her", queued, w.alice, `{"metadata":{"annotations":{"holdshort.dev/bypass":"please"}},"spec":{"suspend":false}}`, "only holdshort lifts its suspension"},
		{"nor may she write one for later", queued, w.alice, `{"metadata":{"annotations":{"holdshort.dev/bypass":"please"}}}`, "do not hold the verb"},
		{"a queued Job may change its queue", queued, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":"z"}}}`, ""},
		{"a queued Job may leave its queue", queued, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":null}}}`, ""},
		{"to leave and to start at once is refused", queued, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":null}},"spec":{"suspend":false}}`, "only holdshort lifts its suspension"},
		{"to hide behind a parent and to start at once is refused", queued, w.alice, `{"metadata":{"ownerReferences":[{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"s","uid":"u","controller":true}]},"spec":{"suspend":false}}`, "only holdshort lifts its suspension"},
		{"the state is the ledger's", queued, w.alice, `{"metadata":{"labels":{"holdshort.dev/state":"admitted"}}}`, "Only holdshort writes label holdshort.dev/state"},
		{"the state may not be removed", queued, w.alice, `{"metadata":{"labels":{"holdshort.dev/state":null}}}`, "Only holdshort writes label holdshort.dev/state"},
		{"a reservation cannot be forged", queued, w.alice, `{"metadata":{"annotations":{"holdshort.dev/reservation":"{}"}}}`, "Only holdshort writes annotation holdshort.dev/reservation"},
		{"an arrival cannot be changed", queued, w.alice, `{"metadata":{"annotations":{"holdshort.dev/arrival":"0"}}}`, "Only holdshort writes annotation holdshort.dev/arrival"},
		{"flavors of the template cannot be forged", queued, w.alice, `{"spec":{"template":{"metadata":{"annotations":{"holdshort.dev/flavors":"{}"}}}}}`, "in the pod template"},
		{"the template's queue cannot be another's", queued, w.alice, `{"spec":{"template":{"metadata":{"labels":{"holdshort.dev/queue":"z"}}}}}`, "in the pod template"},
		{"a reason to bypass in the template would be one on its pods", queued, w.alice, `{"spec":{"template":{"metadata":{"annotations":{"holdshort.dev/bypass":"please"}}}}}`, "in the pod template"},
		{"the template may name the Job's own queue", queued, w.alice, `{"spec":{"template":{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}}}`, ""},
		{"what is the user's is the user's", queued, w.alice, `{"metadata":{"labels":{"holdshort.dev/priority":"urgent","app":"x"},"annotations":{"holdshort.dev/hold":"true","holdshort.dev/min-parallelism":"1","holdshort.dev/max-runtime-seconds":"60","holdshort.dev/required-topology":"rack","x":"z"}}}`, ""},
		{"a queued Job may grow", queued, w.alice, `{"spec":{"parallelism":5}}`, ""},

		{"a running Job may not grow", admitted, w.alice, `{"spec":{"parallelism":2}}`, "does not grow to 2"},
		{"a running Job may shrink", admitted, w.alice, `{"spec":{"parallelism":0}}`, ""},
		{"a holder of bypass may let it grow", admitted, w.bypass, `{"metadata":{"annotations":{"holdshort.dev/bypass":"outage"}},"spec":{"parallelism":2}}`, ""},
		{"a running Job may not leave its queue", admitted, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":null}}}`, "leaves it only while it is suspended"},
		{"a running Job may not change its queue", admitted, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":"z"}}}`, "leaves it only while it is suspended"},
		{"a running Job may not hide behind a parent", admitted, w.alice, `{"metadata":{"ownerReferences":[{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"s","uid":"u","controller":true}]}}`, "leaves it only while it is suspended"},
		{"suspending and leaving at once is refused", admitted, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":null},"annotations":{"holdshort.dev/hold":"true"}},"spec":{"suspend":true}}`, "leaves it only while it is suspended"},
		{"a reservation cannot be removed", admitted, w.alice, `{"metadata":{"annotations":{"holdshort.dev/reservation":null}}}`, "Only holdshort writes annotation holdshort.dev/reservation"},
		{"an owner that is no Job's parent changes nothing", admitted, w.alice, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"s","uid":"u","controller":true}]}}`, ""},

		{"a running Job does not enter a queue", running, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`, "running Job does not enter queue q"},
		{"nor while it is being suspended", running, w.alice, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}},"spec":{"suspend":true}}`, "running Job does not enter queue q"},
		{"a holder of bypass may label it", running, w.bypass, `{"metadata":{"labels":{"holdshort.dev/queue":"q"},"annotations":{"holdshort.dev/bypass":"outage"}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := jobName(t)
			switch c.from {
			case queued:
				w.queued(t, name)
			case admitted:
				w.admitted(t, name)
			case running:
				w.create(t, w.alice, newJob(name))
				w.waitForPod(t, name)
			}
			err := w.patch(t.Context(), c.as, name, c.patch)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "" && (err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want a refusal with %q", err, c.refused)
			}
		})
	}
	t.Run("the pods of an admitted Job keep what they are charged by", w.pods)
}

// jobName makes a name of the test's.
func jobName(t *testing.T) string {
	name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
	name = strings.ToLower(strings.NewReplacer("_", "-", ",", "", "'", "").Replace(name))
	return strings.Trim(name[:min(len(name), 50)], "-.")
}

func (w *world) pods(t *testing.T) {
	ctx := t.Context()
	name := jobName(t)
	w.admitted(t, name)
	pods, err := w.admin.CoreV1().Pods("research").List(ctx, metav1.ListOptions{LabelSelector: "job-name=" + name})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods of %s: %v %v", name, pods, err)
	}
	patch := func(as kubernetes.Interface, patch string) error {
		_, err := as.CoreV1().Pods("research").Patch(ctx, pods.Items[0].Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	for _, bad := range []string{
		`{"metadata":{"labels":{"holdshort.dev/queue":null}}}`,
		`{"metadata":{"labels":{"holdshort.dev/queue":"z"}}}`,
		`{"metadata":{"annotations":{"holdshort.dev/flavors":null}}}`,
	} {
		if err := patch(w.alice, bad); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want a refusal", bad, err)
		}
	}
	if err := patch(w.alice, `{"metadata":{"labels":{"app":"x"}}}`); err != nil {
		t.Errorf("another label of the pod: %v", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "own-" + name[:10]}, Spec: newJob("").Spec.Template.Spec}
	if _, err := w.alice.CoreV1().Pods("research").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = w.alice.CoreV1().Pods("research").Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`), metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("charging a pod to a queue by hand: got %v, want a refusal", err)
	}
}

func (w *world) deletion(t *testing.T) {
	ctx := t.Context()
	for _, how := range []metav1.DeletionPropagation{
		metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan,
	} {
		t.Run(string(how), func(t *testing.T) {
			name := "delete-" + strings.ToLower(string(how))
			w.admitted(t, name)
			if err := w.alice.BatchV1().Jobs("research").Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the Job to be gone", func() error {
				return stillThere(w.alice.BatchV1().Jobs("research").Get(ctx, name, metav1.GetOptions{}))
			})
		})
	}
	t.Run("a namespace", func(t *testing.T) {
		if err := w.Namespace(ctx, "doomed"); err != nil {
			t.Fatal(err)
		}
		job := newJob("a")
		job.Labels = map[string]string{policies.LabelQueue: "q", policies.LabelState: policies.StateAdmitted}
		job.Finalizers = []string{"example.com/wait"}
		if _, err := w.root.BatchV1().Jobs("doomed").Create(ctx, job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := w.admin.CoreV1().Namespaces().Delete(ctx, "doomed", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the Job to be deleted", func() error {
			job, err := w.admin.BatchV1().Jobs("doomed").Get(ctx, "a", metav1.GetOptions{})
			if err == nil && job.DeletionTimestamp == nil {
				return notGone("a")
			}
			return err
		})
		// Whoever finalizes it may, and takes nothing else along.
		finalize := func(also string) error {
			patch := `{"metadata":{"finalizers":null` + also + `}}`
			_, err := w.admin.BatchV1().Jobs("doomed").Patch(ctx, "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		}
		refused(t, finalize(`,"labels":{"holdshort.dev/queue":null}`), "leaves it only while it is suspended")
		refused(t, finalize(""), "")
		eventually(t, "the namespace to be gone", func() error {
			return stillThere(w.admin.CoreV1().Namespaces().Get(ctx, "doomed", metav1.GetOptions{}))
		})
	})
}

type notGone string

func (n notGone) Error() string { return string(n) + " is still there" }

func stillThere(object metav1.Object, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return notGone(object.GetName())
}

// nobodyElse: whatever is not labelled does not notice that the manager is away.
func (w *world) nobodyElse(t *testing.T) {
	ctx := t.Context()
	name := "unlabelled"
	w.create(t, w.alice, newJob(name))
	w.waitForPod(t, name)
	if err := w.patch(ctx, w.alice, name, `{"spec":{"suspend":true}}`); err != nil {
		t.Error(err)
	}
	if err := w.patch(ctx, w.alice, name, `{"spec":{"suspend":false,"parallelism":2},"metadata":{"annotations":{"holdshort.dev/arrival":"1"}}}`); err != nil {
		t.Error(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: newJob("").Spec.Template.Spec}
	if _, err := w.alice.CoreV1().Pods("research").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}
