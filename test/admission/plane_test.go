//go:build plane

package admission_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
)

const (
	system     = "holdshort-system"
	ledgerUser = "system:serviceaccount:" + system + ":holdshort"
	older      = "1.35" // serves no MutatingAdmissionPolicy
)

// world is a plane with the chart installed and nobody at the webhook's address.
type world struct {
	*cluster.Cluster
	alice, bypass, admin, ledger kubernetes.Interface
	// root acts under the ledger's name with an admin's rights, to prepare what
	// only the ledger may make.
	root kubernetes.Interface
}

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func start(t *testing.T, version string, values ...string) *world {
	t.Helper()
	ctx := t.Context()
	c, err := cluster.Start(ctx, cluster.Options{
		EmulatedVersion: version, Log: os.Stderr,
		Nodes: []cluster.NodeSpec{{Name: "node-1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stopping the plane: %v", err)
		}
	})
	w := &world{Cluster: c, admin: client(t, c.Admin), alice: client(t, c.Alice), bypass: client(t, c.Bypass)}
	root := rest.CopyConfig(c.Admin)
	root.Impersonate = rest.ImpersonationConfig{UserName: ledgerUser, Groups: []string{"system:masters"}}
	w.root = client(t, root)
	w.install(t, values...)
	account, err := c.ServiceAccountConfig(ctx, system, "holdshort")
	if err != nil {
		t.Fatal(err)
	}
	w.ledger = client(t, account)
	if err := c.Namespace(ctx, "research"); err != nil {
		t.Fatal(err)
	}
	return w
}

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	quiet := rest.CopyConfig(config)
	quiet.WarningHandler = rest.NoWarnings{}
	out, err := kubernetes.NewForConfig(quiet)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (w *world) install(t *testing.T, values ...string) {
	t.Helper()
	chart, err := filepath.Abs("../../charts/holdshort")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"upgrade", "--install", "holdshort", chart, "-n", system, "--create-namespace", "--set", "manager.enabled=false"}
	if !strings.Contains(strings.Join(values, " "), "webhook.url") {
		args = append(args, "--set", "webhook.url=https://127.0.0.1:1")
	}
	for _, value := range values {
		args = append(args, "--set-json", value)
	}
	if _, err := w.Helm(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
	w.waitForGuard(t)
}

// waitForGuard waits until the API server has taken over the policies, which it
// does one by one: Jobs are suspended or refused, and the ways round are closed.
func (w *world) waitForGuard(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	w.labelNamespace(t, policies.Namespace{Name: "probe", Labels: map[string]string{"gpu": "shared"}})
	jobs, dry := w.admin.BatchV1().Jobs("probe"), []string{metav1.DryRunAll}
	probe := newJob("probe")
	probe.Labels = map[string]string{policies.LabelQueue: "q"}
	eventually(t, "a labelled Job to be suspended or refused", func() error {
		fresh := probe.DeepCopy()
		fresh.Name = "fresh"
		got, err := jobs.Create(ctx, fresh, metav1.CreateOptions{DryRun: dry})
		if err == nil && (got.Spec.Suspend == nil || !*got.Spec.Suspend) {
			return errors.New("it is created, and not suspended")
		}
		return unlessRefused(err)
	})
	yes := true
	probe.Spec.Suspend = &yes
	if _, err := w.root.BatchV1().Jobs("probe").Create(ctx, probe, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	eventually(t, "lifting a suspension to be refused", func() error {
		_, err := jobs.Patch(ctx, "probe", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{DryRun: dry})
		if err == nil {
			return errors.New("it is lifted")
		}
		return unlessRefused(err)
	})
	eventually(t, "forged charges to be refused", func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "forged", Labels: map[string]string{policies.LabelQueue: "q"}, Annotations: map[string]string{policies.AnnotationFlavors: "{}"},
		}, Spec: probe.Spec.Template.Spec}
		if _, err := w.admin.CoreV1().Pods("probe").Create(ctx, pod, metav1.CreateOptions{DryRun: dry}); unlessRefused(err) != nil || err == nil {
			return fmt.Errorf("a pod: %w", cmp.Or(err, errors.New("it is created")))
		}
		job := newJob("forged")
		job.Labels = map[string]string{"app": "x"} // without any, it gets those of its template
		job.Spec.Template.Labels, job.Spec.Template.Annotations = pod.Labels, pod.Annotations
		if _, err := jobs.Create(ctx, job, metav1.CreateOptions{DryRun: dry}); unlessRefused(err) != nil || err == nil {
			return fmt.Errorf("a Job: %w", cmp.Or(err, errors.New("it is created")))
		}
		return nil
	})
}

func unlessRefused(err error) error {
	if err != nil && strings.Contains(err.Error(), "holdshort") {
		return nil
	}
	return err
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited for %s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func newJob(name string) *batchv1.Job {
	one := int32(1)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Parallelism: &one,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                 corev1.RestartPolicyNever,
				TerminationGracePeriodSeconds: new(int64),
				Containers:                    []corev1.Container{{Name: "main", Image: "pretended"}},
			}},
		},
	}
}

// queued makes a Job as it is after it was created through the webhook.
func (w *world) queued(t *testing.T, name string) {
	t.Helper()
	w.queue(t, newJob(name))
}

func (w *world) queue(t *testing.T, job *batchv1.Job) {
	t.Helper()
	name, yes := job.Name, true
	job.Spec.Suspend = &yes
	job.Labels = map[string]string{policies.LabelQueue: "q", policies.LabelState: policies.StateQueued}
	job.Annotations = map[string]string{policies.AnnotationUser: "alice", policies.AnnotationArrival: "1"}
	w.create(t, w.root, job)
	eventually(t, "the suspension to be seen", func() error {
		got, err := w.admin.BatchV1().Jobs("research").Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && len(got.Status.Conditions) == 0 {
			return fmt.Errorf("job %s has no condition yet", name)
		}
		return err
	})
}

// admitted makes a Job as the ledger leaves it, with the ledger's real rights.
func (w *world) admitted(t *testing.T, name string) {
	t.Helper()
	w.queued(t, name)
	w.admit(t, name)
}

func (w *world) admit(t *testing.T, name string) {
	t.Helper()
	patch := `{"metadata":{"labels":{"holdshort.dev/state":"admitted"},"annotations":{"holdshort.dev/reservation":"{}"}},
		"spec":{"suspend":false,"template":{"metadata":{"labels":{"holdshort.dev/queue":"q"},"annotations":{"holdshort.dev/flavors":"{}"}},
		"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}`
	if err := w.patch(t.Context(), w.ledger, name, patch); err != nil {
		t.Fatalf("the ledger cannot admit: %v", err)
	}
	w.waitForPod(t, name)
}

func (w *world) waitForPod(t *testing.T, name string) {
	t.Helper()
	eventually(t, "the pod of "+name, func() error {
		got, err := w.admin.BatchV1().Jobs("research").Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && got.Status.Active == 0 {
			return fmt.Errorf("job %s has no active pod: %+v", name, got.Status)
		}
		return err
	})
}

func (w *world) create(t *testing.T, as kubernetes.Interface, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	got, err := as.BatchV1().Jobs("research").Create(t.Context(), job, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (w *world) patch(ctx context.Context, as kubernetes.Interface, name, patch string) error {
	_, err := as.BatchV1().Jobs("research").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (w *world) get(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	got, err := w.admin.BatchV1().Jobs("research").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
