//go:build plane

package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdshort/holdshort/policies"
)

const (
	parent    = `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"s","uid":"u","controller":true}`
	forgery   = `"labels":{"holdshort.dev/queue":"q","holdshort.dev/state":"admitted"},"annotations":{"holdshort.dev/user":"boss","holdshort.dev/reservation":"{}"}`
	collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	finalizer = "example.com/wait"
)

// refused wants a refusal that says some text, or none if that is empty.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	switch {
	case text == "" && err != nil:
		t.Errorf("refused: %v", err)
	case text != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), text)):
		t.Errorf("got %v, want a refusal with %q", err, text)
	}
}

// deleting: a finalizer keeps a Job, and its charges, for as long as alice likes.
func (w *world) deleting(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name, from, patch, refused string
	}{
		{"a reservation is not rewritten", admitted, `{"metadata":{"annotations":{"holdshort.dev/reservation":"{\"queue\":\"z\"}"}}}`, "Only holdshort writes annotation holdshort.dev/reservation"},
		{"a reservation is not removed", admitted, `{"metadata":{"annotations":{"holdshort.dev/reservation":null}}}`, "Only holdshort writes annotation holdshort.dev/reservation"},
		{"a state is not rewritten", admitted, `{"metadata":{"labels":{"holdshort.dev/state":"queued"}}}`, "Only holdshort writes label holdshort.dev/state"},
		{"it does not leave its queue", admitted, `{"metadata":{"labels":{"holdshort.dev/queue":null}}}`, "leaves it only while it is suspended"},
		{"it does not change its queue", admitted, `{"metadata":{"labels":{"holdshort.dev/queue":"z"}}}`, "leaves it only while it is suspended"},
		{"it does not hide behind a parent", admitted, `{"metadata":{"ownerReferences":[` + parent + `]}}`, "leaves it only while it is suspended"},
		{"it does not grow", admitted, `{"spec":{"parallelism":2}}`, "does not grow to 2"},
		{"a suspension is not lifted", queued, `{"spec":{"suspend":false}}`, "only holdshort lifts its suspension"},
		{"what is the users' may be edited", admitted, `{"metadata":{"labels":{"app":"x"},"annotations":{"holdshort.dev/hold":"true"}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := jobName(t)
			if c.from == admitted {
				w.admitted(t, name)
			} else {
				w.queued(t, name)
			}
			w.deleteHeldBack(t, name)
			refused(t, w.patch(ctx, w.alice, name, c.patch), c.refused)
			if err := w.patch(ctx, w.alice, name, `{"metadata":{"finalizers":null}}`); err != nil {
				t.Errorf("taking the finalizer away: %v", err)
			}
			eventually(t, "the Job to be gone", func() error {
				return stillThere(w.alice.BatchV1().Jobs("research").Get(ctx, name, metav1.GetOptions{}))
			})
		})
	}
	t.Run("its pods keep what they are charged by", func(t *testing.T) {
		name := jobName(t)
		w.admitted(t, name)
		pod := w.podOf(t, name)
		pods := w.alice.CoreV1().Pods("research")
		patch := func(text string) error {
			_, err := pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
			return err
		}
		if err := patch(`{"metadata":{"finalizers":["batch.kubernetes.io/job-tracking","` + finalizer + `"]}}`); err != nil {
			t.Fatal(err)
		}
		if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		refused(t, patch(`{"metadata":{"labels":{"holdshort.dev/queue":"z"}}}`), "is charged by them")
		refused(t, patch(`{"metadata":{"annotations":{"holdshort.dev/flavors":null}}}`), "is charged by them")
		refused(t, patch(`{"metadata":{"finalizers":null}}`), "")
		eventually(t, "the pod to be gone", func() error {
			now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
			return stillThere(now, err)
		})
	})
}

// deleteHeldBack deletes a Job that a finalizer of alice's keeps.
func (w *world) deleteHeldBack(t *testing.T, name string) {
	t.Helper()
	if err := w.patch(t.Context(), w.alice, name, `{"metadata":{"finalizers":["`+finalizer+`"]}}`); err != nil {
		t.Fatal(err)
	}
	background := metav1.DeletePropagationBackground
	if err := w.alice.BatchV1().Jobs("research").Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	if w.get(t, name).DeletionTimestamp == nil {
		t.Fatalf("job %s is not being deleted", name)
	}
}

func (w *world) podOf(t *testing.T, job string) *corev1.Pod {
	t.Helper()
	pods, err := w.admin.CoreV1().Pods("research").List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=" + job})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods of %s: %v %v", job, pods, err)
	}
	return &pods.Items[0]
}

const cleaned = "(taken, and cleaned where a policy cleans)"

// entering: by a label, or by a reference to a parent that goes away, a Job
// brings nothing along and waits.
func (w *world) entering(t *testing.T, cleans bool) {
	for _, c := range []struct {
		name    string
		as      kubernetes.Interface
		parent  bool   // with the label and a parent; else with neither
		before  string // metadata at creation, suspended
		patch   string
		refused string // part of the answer; empty: it is taken
	}{
		{"a clean Job enters", w.alice, false, ``, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`, ""},
		{"not with its suspension lifted at once", w.alice, false, ``, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}},"spec":{"suspend":false}}`, "enters queue q waits there"},
		{"not with suspend left out at once", w.alice, false, ``, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}},"spec":{"suspend":null}}`, "enters queue q waits there"},
		{"not lifted and forged", w.alice, false, ``, `{"metadata":{` + forgery + `},"spec":{"suspend":false}}`, "holdshort"},
		{"alice's reason lifts nothing on the way", w.alice, false, ``, `{"metadata":{"labels":{"holdshort.dev/queue":"q"},"annotations":{"holdshort.dev/bypass":"please"}},"spec":{"suspend":false}}`, "enters queue q waits there"},
		{"nor does one from before", w.alice, false, `"annotations":{"holdshort.dev/bypass":"please"}`, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`, cleaned},
		{"a holder of bypass who says why may", w.bypass, false, ``, `{"metadata":{"labels":{"holdshort.dev/queue":"q"},"annotations":{"holdshort.dev/bypass":"outage"}},"spec":{"suspend":false}}`, ""},
		{"a forgery comes to nothing", w.alice, false, ``, `{"metadata":{` + forgery + `}}`, cleaned},
		{"an arrival of one's own is none", w.alice, false, ``, `{"metadata":{"labels":{"holdshort.dev/queue":"q"},"annotations":{"holdshort.dev/arrival":"1"}}}`, cleaned},
		{"nor is a state that says that it was created there", w.alice, false, ``, `{"metadata":{"labels":{"holdshort.dev/queue":"q","holdshort.dev/state":"queued"}}}`, cleaned},
		{"nor is another's name", w.alice, false, `"annotations":{"holdshort.dev/user":"boss"}`, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`, cleaned},
		{"one from before neither", w.alice, false, `"annotations":{"holdshort.dev/reservation":"{}","holdshort.dev/message":"m","holdshort.dev/backoff":"{}","holdshort.dev/injected":"{}"}`, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`, cleaned},

		{"nor does a record of what no policy changed", w.alice, false, `"annotations":{"holdshort.dev/mutated":"{\"labels\":{\"holdshort.dev/queue\":{\"to\":\"q\"}}}"}`, `{"metadata":{"labels":{"holdshort.dev/queue":"q"}}}`, cleaned},

		{"without its parent it is ours, and waits", w.alice, true, ``, `{"metadata":{"ownerReferences":null}}`, ""},
		{"a parent hides no lifting", w.alice, true, ``, `{"metadata":{"ownerReferences":null},"spec":{"suspend":false}}`, "enters queue q waits there"},
		{"a parent hides no forgery", w.alice, true, `"annotations":{"holdshort.dev/message":"m","holdshort.dev/anything":"1"}`, `{"metadata":{"ownerReferences":null}}`, cleaned},
		{"nor one that is written as it goes", w.alice, true, ``, `{"metadata":{"ownerReferences":null,` + forgery + `}}`, cleaned},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := jobName(t)
			w.waiting(t, name, c.parent, c.before)
			err := w.patch(t.Context(), c.as, name, c.patch)
			if c.refused != cleaned {
				refused(t, err, c.refused)
				return
			}
			if !cleans {
				refused(t, err, "brings nothing of it along")
				return
			}
			refused(t, err, "")
			compareKeys(t, w.get(t, name), keys{
				Labels:      map[string]string{"holdshort.dev/queue": "q"},
				Annotations: map[string]string{"holdshort.dev/user": "alice"}, Suspended: true,
			})
		})
	}
	t.Run("a running Job without its parent does not enter, but the garbage collector may leave it there", func(t *testing.T) {
		name := "orphan-of-a-set"
		w.waiting(t, name, true, `"annotations":{"holdshort.dev/message":"a copy"}`)
		if err := w.patch(t.Context(), w.alice, name, `{"spec":{"suspend":false}}`); err != nil {
			t.Fatal(err)
		}
		w.waitForPod(t, name)
		const orphan = `{"metadata":{"ownerReferences":null}}`
		refused(t, w.patch(t.Context(), w.alice, name, orphan), "running Job does not enter queue q")
		refused(t, w.patch(t.Context(), w.as(t, collector), name, orphan), "")
	})
	t.Run("a Job of a parent takes no record of the ledger", func(t *testing.T) {
		job := newJob("of-a-set")
		if err := json.Unmarshal([]byte(`{"name":"of-a-set","labels":{"holdshort.dev/queue":"q"},"ownerReferences":[`+parent+`],"annotations":{"holdshort.dev/reservation":"{}"}}`), &job.ObjectMeta); err != nil {
			t.Fatal(err)
		}
		_, err := w.alice.BatchV1().Jobs("research").Create(t.Context(), job, metav1.CreateOptions{})
		refused(t, err, "written by holdshort alone")
	})
	t.Run("nor does a Job change queues as it is lifted, or forged", func(t *testing.T) {
		name := "changes-queues"
		w.queued(t, name)
		refused(t, w.patch(t.Context(), w.alice, name, `{"metadata":{"labels":{"holdshort.dev/queue":"z"}},"spec":{"suspend":false}}`), "only holdshort lifts its suspension")
		refused(t, w.patch(t.Context(), w.alice, name, `{"metadata":{"labels":{"holdshort.dev/queue":"z"},"annotations":{"holdshort.dev/reservation":"{}"}}}`), "Only holdshort writes")
	})
}

// waiting makes a suspended Job of alice's that is not ours, and waits until its
// suspension is seen.
func (w *world) waiting(t *testing.T, name string, parented bool, metadata string) {
	t.Helper()
	fields := []string{fmt.Sprintf(`"name":%q`, name)}
	if parented {
		fields = append(fields, `"labels":{"holdshort.dev/queue":"q"}`, `"ownerReferences":[`+parent+`]`)
	}
	if metadata != "" {
		fields = append(fields, metadata)
	}
	job := newJob(name)
	if err := json.Unmarshal([]byte("{"+strings.Join(fields, ",")+"}"), &job.ObjectMeta); err != nil {
		t.Fatal(err)
	}
	yes := true
	job.Spec.Suspend = &yes
	w.create(t, w.alice, job)
	eventually(t, "the suspension to be seen", func() error {
		if len(w.get(t, name).Status.Conditions) == 0 {
			return fmt.Errorf("job %s has no condition yet", name)
		}
		return nil
	})
}

// as acts under somebody's name with an admin's rights.
func (w *world) as(t *testing.T, user string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(w.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	return client(t, config)
}

// leaving: what the ledger wrote stays behind, or the Job does not go.
func (w *world) leaving(t *testing.T, cleans bool) {
	name := "leaves"
	w.admitted(t, name)
	hold := `{"metadata":{"annotations":{"holdshort.dev/hold":"true"}},"spec":{"suspend":true}}`
	if err := w.patch(t.Context(), w.alice, name, hold); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its pods to be gone", func() error {
		job := w.get(t, name)
		waits := cleans && job.Status.StartTime != nil // an older one keeps it, and its template, for good
		if waits || job.Status.Active > 0 || job.Status.Terminating != nil && *job.Status.Terminating > 0 {
			return fmt.Errorf("%+v", job.Status)
		}
		return nil
	})
	const without = `{"metadata":{"labels":{"holdshort.dev/queue":null}}}`
	if !cleans {
		refused(t, w.patch(t.Context(), w.alice, name, without), "would still be charged to queue q")
		refused(t, w.patch(t.Context(), w.bypass, name, `{"metadata":{"labels":{"holdshort.dev/queue":null},"annotations":{"holdshort.dev/bypass":"outage"}}}`), "")
		return
	}
	refused(t, w.patch(t.Context(), w.alice, name, without), "")
	compareKeys(t, w.get(t, name), keys{Annotations: map[string]string{"holdshort.dev/hold": "true"}, Suspended: true})
}

// barePods: nobody charges a queue with a pod that no admission made.
func (w *world) barePods(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name, namespace     string
		as                  kubernetes.Interface
		labels, annotations map[string]string
		refused             string
	}{
		{"a label alone charges nobody", "research", w.alice, map[string]string{"holdshort.dev/queue": "q"}, nil, ""},
		{"an annotation alone charges nobody", "research", w.alice, nil, map[string]string{"holdshort.dev/flavors": "{}"}, ""},
		{"both together are refused", "research", w.alice, map[string]string{"holdshort.dev/queue": "q"}, map[string]string{"holdshort.dev/flavors": "{}"}, "only the controller of Jobs creates one"},
		{"an admin's too", "research", w.admin, map[string]string{"holdshort.dev/queue": "q"}, map[string]string{"holdshort.dev/flavors": "{}"}, "only the controller of Jobs creates one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "bare-", Labels: c.labels, Annotations: c.annotations},
				Spec:       newJob("").Spec.Template.Spec,
			}
			_, err := c.as.CoreV1().Pods(c.namespace).Create(ctx, pod, metav1.CreateOptions{})
			refused(t, err, c.refused)
		})
	}
	for _, c := range []struct {
		name  string
		forge func(*batchv1.Job)
	}{
		{"by a Job in no queue", func(*batchv1.Job) {}},
		{"by a Job behind a parent", func(job *batchv1.Job) {
			yes := true
			job.Labels = map[string]string{policies.LabelQueue: "q"}
			job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "s", UID: "u", Controller: &yes}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			yes := true
			job := newJob(jobName(t))
			job.Labels = map[string]string{"app": "x"} // without any, it gets those of its template
			c.forge(job)
			job.Spec.Suspend = &yes
			job.Spec.Template.Labels = map[string]string{policies.LabelQueue: "q"}
			plain := w.create(t, w.alice, job)
			const tag = `{"spec":{"template":{"metadata":{"annotations":{"holdshort.dev/flavors":"{}"}}}}}`
			refused(t, w.patch(ctx, w.alice, plain.Name, tag), "only holdshort writes the two into a pod template")
			job.Name += "-2"
			job.Spec.Template.Annotations = map[string]string{policies.AnnotationFlavors: "{}"}
			_, err := w.alice.BatchV1().Jobs("research").Create(ctx, job, metav1.CreateOptions{})
			refused(t, err, "only holdshort writes the two into a pod template")
		})
	}
	t.Run("nor from a namespace that is not managed", w.outside)
}

// widen makes all namespaces managed again, and waits until that is so.
func (w *world) widen(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	w.narrow(t, "")
	eventually(t, "research to be managed", func() error {
		job := newJob("fresh")
		job.Labels = map[string]string{policies.LabelQueue: "q"}
		got, err := w.alice.BatchV1().Jobs("research").Create(ctx, job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && (got.Spec.Suspend == nil || !*got.Spec.Suspend) {
			return errors.New("a Job is not suspended")
		}
		return unlessRefused(err)
	})
	name := "looked-after"
	w.queued(t, name)
	eventually(t, "research to be managed for all guards", func() error {
		return w.patch(ctx, w.bypass, name, `{"metadata":{"annotations":{"holdshort.dev/bypass":"because"}}}`)
	})
}

// outside: a quota is one for the cluster, so the guard of what is charged is.
func (w *world) outside(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	w.narrow(t, "gpu=shared")
	defer w.widen(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "outside", Labels: map[string]string{policies.LabelQueue: "q"},
			Annotations: map[string]string{policies.AnnotationFlavors: "{}"},
		},
		Spec: newJob("").Spec.Template.Spec,
	}
	eventually(t, "research not to be managed", func() error {
		job := newJob("free")
		job.Labels = map[string]string{policies.LabelQueue: "q"}
		got, err := w.alice.BatchV1().Jobs("research").Create(ctx, job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && got.Spec.Suspend != nil && *got.Spec.Suspend {
			return notGone("the suspension")
		}
		return err
	})
	_, err := w.alice.CoreV1().Pods("research").Create(ctx, pod, metav1.CreateOptions{})
	refused(t, err, "only the controller of Jobs creates one")
	w.records(t, ctx)
}
