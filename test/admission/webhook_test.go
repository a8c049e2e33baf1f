//go:build plane

package admission_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/webhook"
	"github.com/holdshort/holdshort/webhook/certs"
)

// warns of every Job, and denies those named so.
type strict struct{}

func (strict) Warn(context.Context, *policies.Input, policies.Given) ([]policies.Reason, error) {
	return []policies.Reason{{Code: "team.example/Hello", Message: "seen"}}, nil
}

func (strict) Deny(_ context.Context, in *policies.Input, _ policies.Given) ([]policies.Reason, error) {
	if !strings.HasPrefix(in.Workload.Name, "denied") {
		return nil, nil
	}
	return []policies.Reason{{Code: "team.example/No", Message: "not this one", RuleAt: "deny.rego:1"}}, nil
}

func (strict) Mutate(context.Context, *policies.Input) (policies.Mutation, error) {
	return policies.Mutation{}, nil
}

func (strict) ReadsJob() bool { return true }

// withWebhook starts a plane, the chart, and the webhook beside it under the
// ledger's real identity, as a manager outside the cluster runs it.
func withWebhook(t *testing.T, version string, leaf time.Duration) *world {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, version, fmt.Sprintf("webhook.url=%q", "https://"+listener.Addr().String()))
	account, err := w.ServiceAccountConfig(t.Context(), system, "holdshort")
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := certs.New(certs.Options{
		Config: account, Namespace: system, Secret: "holdshort-ca", Webhook: "holdshort-jobs",
		Hosts: []string{"127.0.0.1"}, LeafDuration: leaf, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- keeper.Start(ctx) }()
	handler, err := admission.StandaloneWebhook(&admission.Webhook{Handler: webhook.NewJobs(webhook.Options{
		Policy:     func() webhook.Policy { return strict{} },
		Namespace:  func(name string) (policies.Namespace, bool) { return policies.Namespace{Name: name}, true },
		Env:        func(string) intake.Env { return intake.Env{} },
		Yield:      func(context.Context) {},
		Scope:      intake.Scope{OwnNamespace: system},
		LedgerUser: ledgerUser,
		Now:        time.Now,
	})}, admission.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(webhook.Path, handler)
	// A handshake for every request, so that each certificate is put to the test.
	server := &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}
	server.SetKeepAlivesEnabled(false)
	go server.Serve(tls.NewListener(listener, &tls.Config{GetCertificate: keeper.GetCertificate, NextProtos: []string{"http/1.1"}}))
	t.Cleanup(func() {
		server.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("certificates: %v", err)
		}
	})
	eventually(t, "the webhook to be trusted", keeper.Healthy)
	eventually(t, "the webhook to answer", func() error {
		out, err := w.apply(t, manifest("hello", ""), "apply", "--dry-run=server")
		if err == nil && !strings.Contains(out, "team.example/Hello") {
			err = fmt.Errorf("no warning in %q", out)
		}
		return err
	})
	return w
}

func manifest(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: research, labels: {holdshort.dev/queue: q}}
spec:
  %s
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {kubernetes.io/os: linux}
      tolerations: [{key: mine, operator: Exists}]
      containers: [{name: main, image: pretended}]
`, name, spec)
}

// apply runs kubectl as alice; what it answers and what it warns of.
func (w *world) apply(t *testing.T, text string, verb ...string) (string, error) {
	t.Helper()
	command := w.Command(t.Context(), "alice", append(verb, "-f", "-")...)
	command.Stdin = strings.NewReader(text)
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %v: %w: %s", verb, err, out)
	}
	return string(out), err
}

func TestApplyingAgainNeverDisturbsWhatRuns(t *testing.T) {
	testApplyingAgain(t, withWebhook(t, "", 0))
}

func TestTheWebhookAloneOnAnOlderServer(t *testing.T) {
	w := withWebhook(t, older, 0)
	testApplyingAgain(t, w)
	t.Run("a forged Job is suspended and cleaned", func(t *testing.T) {
		got := w.create(t, w.alice, forged("forged"))
		arrival := got.Annotations[policies.AnnotationArrival]
		if len(arrival) != 19 {
			t.Errorf("arrival %q, want unix nanoseconds", arrival)
		}
		compareKeys(t, got, keys{
			Labels: map[string]string{"holdshort.dev/queue": "q", "holdshort.dev/priority": "urgent", "holdshort.dev/state": "queued", "app": "x"},
			Annotations: map[string]string{
				"holdshort.dev/user": "alice", "holdshort.dev/hold": "true", "holdshort.dev/min-parallelism": "1", "holdshort.dev/max-runtime-seconds": "60", "holdshort.dev/required-topology": "rack", "holdshort.dev/preferred-topology": "",
				"holdshort.dev/arrival": arrival, "other": "kept",
			},
			PodLabels: map[string]string{"app": "x"},
			PodNotes:  map[string]string{"other": "kept"},
			Suspended: true,
		})
	})
}

func testApplyingAgain(t *testing.T, w *world) {
	for _, spec := range []string{"", "suspend: true"} {
		t.Run("manifest with "+spec, func(t *testing.T) {
			name := "again" + strings.ReplaceAll(spec, ": ", "-")
			text := manifest(name, spec)
			out, err := w.apply(t, text, "apply")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out, "holdshort: team.example/Hello: seen") {
				t.Errorf("the policy's warning does not reach kubectl: %s", out)
			}
			w.admitReally(t, name)
			before := w.get(t, name)
			for _, verb := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts"}} {
				if _, err := w.apply(t, text, verb...); err != nil {
					t.Error(err)
				}
				after := w.get(t, name)
				if after.Generation != before.Generation || *after.Spec.Suspend || after.Labels[policies.LabelState] != policies.StateAdmitted ||
					after.Annotations[policies.AnnotationReservation] == "" {
					t.Errorf("%v: generation %d (was %d), suspend %t, labels %v", verb, after.Generation, before.Generation, *after.Spec.Suspend, after.Labels)
				}
			}
			replacement := before.DeepCopy()
			replacement.ResourceVersion = ""
			replacement.Labels = map[string]string{policies.LabelQueue: "q"}
			replacement.Annotations = nil
			replacement.Spec.Suspend = nil
			delete(replacement.Spec.Template.Labels, policies.LabelQueue)
			replacement.Spec.Template.Annotations = nil
			pod := &replacement.Spec.Template.Spec
			pod.NodeSelector, pod.Tolerations, pod.Affinity = map[string]string{"kubernetes.io/os": "linux"}, pod.Tolerations[:1], nil
			after, err := w.alice.BatchV1().Jobs("research").Update(t.Context(), replacement, metav1.UpdateOptions{})
			if err != nil {
				t.Fatalf("replacing it: %v", err)
			}
			if diff := cmp.Diff(before.Spec, after.Spec); diff != "" || after.Generation != before.Generation {
				t.Errorf("generation %d (was %d), spec (-before +after):\n%s", after.Generation, before.Generation, diff)
			}
		})
	}
	t.Run("a misspelt key is warned of, also where it was taken out before", func(t *testing.T) {
		text := strings.Replace(manifest("misspelt", ""), "namespace: research,", "namespace: research, annotations: {holdshort.dev/hodl: x},", 1)
		for _, verb := range [][]string{{"create", "--dry-run=server"}, {"apply", "--dry-run=server"}, {"apply", "--dry-run=server", "--server-side"}} {
			out, err := w.apply(t, text, verb...)
			if err != nil || !strings.Contains(out, "metadata.annotations[holdshort.dev/hodl]: holdshort has no such annotation") ||
				!strings.Contains(out, "Did you mean the annotation holdshort.dev/hold?") {
				t.Errorf("kubectl %v: %s (%v)", verb, out, err)
			}
		}
	})
	t.Run("deny refuses", func(t *testing.T) {
		_, err := w.apply(t, manifest("denied", ""), "apply")
		if err == nil || !strings.Contains(err.Error(), "team.example/No: not this one (deny.rego:1)") {
			t.Errorf("got %v, want a refusal with code, message and rule", err)
		}
	})
}

// admitReally writes what an admission writes, injected fields and all.
func (w *world) admitReally(t *testing.T, name string) {
	t.Helper()
	eventually(t, "the suspension to be seen", func() error {
		if job := w.get(t, name); len(job.Status.Conditions) == 0 {
			return fmt.Errorf("job %s has no condition yet", name)
		}
		return nil
	})
	uid := w.get(t, name).UID
	patch := fmt.Sprintf(`{"metadata":{"labels":{"holdshort.dev/state":"admitted"},"annotations":{
		"holdshort.dev/reservation":"{\"uid\":\"%[1]s\"}",
		"holdshort.dev/injected":"{\"uid\":\"%[1]s\",\"nodeSelector\":{\"kubernetes.io/hostname\":\"node-1\"},\"tolerations\":[{\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\"}],\"preferNodes\":[\"node-1\"]}"}},
		"spec":{"suspend":false,"template":{"metadata":{"labels":{"holdshort.dev/queue":"q"},"annotations":{"holdshort.dev/flavors":"{}"}},
		"spec":{"nodeSelector":{"kubernetes.io/hostname":"node-1"},
		"tolerations":[{"key":"mine","operator":"Exists"},{"key":"nvidia.com/gpu","operator":"Exists"}],
		"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"preference":{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["node-1"]}]}}]}}}}}}`, uid)
	if err := w.patch(t.Context(), w.ledger, name, patch); err != nil {
		t.Fatalf("the ledger cannot admit: %v", err)
	}
	w.waitForPod(t, name)
}

// On an older server the webhook is asked with failurePolicy Fail: a certificate
// that is not trusted at any moment is a refused Job.
func TestCertificatesAreRenewedWithoutARefusal(t *testing.T) {
	w := withWebhook(t, older, 6*time.Second)
	end := time.Now().Add(16 * time.Second) // two leaves expire
	secrets := w.admin.CoreV1().Secrets(system)
	before, err := secrets.Get(t.Context(), "holdshort-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created := 0
	for time.Now().Before(end) {
		if created == 20 { // and the authority is replaced
			if err := secrets.Delete(t.Context(), "holdshort-ca", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		job := newJob("")
		job.GenerateName, job.Labels = "cert-", map[string]string{policies.LabelQueue: "q"}
		if _, err := w.alice.BatchV1().Jobs("research").Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("Job %d: %v", created, err)
		}
		created++
		time.Sleep(50 * time.Millisecond)
	}
	after, err := secrets.Get(t.Context(), "holdshort-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	renewed := !bytes.Equal(after.Data["ca.crt"], before.Data["ca.crt"])
	if created < 30 || !renewed {
		t.Errorf("%d Jobs, new authority %t: nothing was tested", created, renewed)
	}
}
