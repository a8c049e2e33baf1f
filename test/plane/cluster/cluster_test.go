//go:build plane

package cluster_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
)

const testTimeout = 3 * time.Minute

func TestAPlane(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	p := startPlane(t, ctx, cluster.Options{
		Nodes: []cluster.NodeSpec{{Name: "node-1", GPUs: 8}, {Name: "node-2"}},
		Audit: true,
	})
	t.Run("runs a Job of alice on the node that has what it asks for", func(t *testing.T) { runsAJob(t, ctx, p) })
	t.Run("keeps the devices of a deleted pod until its process has ended", func(t *testing.T) { keepsDevices(t, ctx, p) })
	t.Run("refuses and records a pod that was bound where it does not fit", func(t *testing.T) { refusesAPod(t, ctx, p) })
	t.Run("follows what a node can give and whether it is well", func(t *testing.T) { followsNodes(t, ctx, p) })
	t.Run("goes on with a node that is deleted and made anew, and with the others", func(t *testing.T) { renewsLeases(t, ctx, p) })
	t.Run("takes pods by the labels that a node has now", func(t *testing.T) { takesLabels(t, ctx, p) })
	t.Run("knows its users, and service accounts by their tokens", func(t *testing.T) { knowsUsers(t, ctx, p) })
	t.Run("keeps the devices of a pod removed by force as long as its ghost walks", func(t *testing.T) { keepsGhosts(t, ctx, p) })
	t.Run("counts who wrote what", func(t *testing.T) { countsWrites(t, p) })
}

const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  completions: 4
  template:
    metadata:
      annotations: {plane.holdshort.dev/run: 500ms}
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: pretended
        resources: {limits: {nvidia.com/gpu: 2}}
`

func runsAJob(t *testing.T, ctx context.Context, p *plane) {
	record := p.record(t, ctx)
	namespace := p.namespace(t, ctx)
	p.kubectl(t, ctx, job, "apply", "-n", namespace, "-f", "-")
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=condition=complete", "--timeout=60s", "job/train")

	nodes := p.kubectl(t, ctx, "", "get", "pods", "-n", namespace, "-o", "jsonpath={range .items[*]}{.spec.nodeName} {.status.phase},{end}")
	if diff := cmp.Diff(strings.Repeat("node-1 Succeeded,", 4), nodes); diff != "" {
		t.Errorf("four pods of 2 GPUs on the only node that has any (-want +got):\n%s", diff)
	}
	if err := record.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if broken := record.Check(history.Rules{}); len(broken) > 0 {
		t.Errorf("violations in the history of an ordinary Job: %v", broken)
	}
	succeeded := 0
	for _, e := range record.Events() {
		if e.Job != nil && e.Job.Namespace == namespace && e.Job.Status.Succeeded == 4 {
			succeeded++
		}
	}
	if succeeded == 0 {
		t.Error("the record misses the Job's end")
	}
}

// labelledPod goes where a label says.
const labelledPod = `
apiVersion: v1
kind: Pod
metadata: {name: chosen}
spec:
  nodeSelector: {pool: batch}
  containers: [{name: main, image: pretended}]
`

func takesLabels(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	p.kubectl(t, ctx, labelledPod, "apply", "-n", namespace, "-f", "-")
	if out, err := p.Kubectl(ctx, cluster.Admin, "label", "node", "node-2", "pool=batch"); err != nil {
		t.Fatal(err, out)
	}
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=condition=Ready", "--timeout=30s", "pod/chosen")
}

// gpuPod fills the node's GPUs and, told to stop, needs 2 of 3 seconds.
const gpuPod = `
apiVersion: v1
kind: Pod
metadata:
  name: %NAME%
  annotations: {plane.holdshort.dev/stop: 2s}
spec:
  terminationGracePeriodSeconds: 3
  containers: [{name: main, image: pretended, resources: {limits: {nvidia.com/gpu: 8}}}]
`

func keepsDevices(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	p.kubectl(t, ctx, strings.ReplaceAll(gpuPod, "%NAME%", "first"), "apply", "-n", namespace, "-f", "-")
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=condition=Ready", "--timeout=30s", "pod/first")
	p.kubectl(t, ctx, strings.ReplaceAll(gpuPod, "%NAME%", "second"), "apply", "-n", namespace, "-f", "-")
	told := time.Now()
	p.kubectl(t, ctx, "", "delete", "-n", namespace, "--wait=false", "pod/first")
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=condition=Ready", "--timeout=30s", "pod/second")
	// Deletion timestamps are whole seconds, so up to one of the two is lost.
	if took := time.Since(told); took < time.Second {
		t.Errorf("the devices were free after %s; the process needed 2 s to end", took)
	}
	p.kubectl(t, ctx, "", "delete", "-n", namespace, "pod/second")
}

func keepsGhosts(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	first := strings.Replace(strings.ReplaceAll(gpuPod, "%NAME%", "first"), "/stop: 2s", "/ghost: 1h", 1)
	p.kubectl(t, ctx, first, "apply", "-n", namespace, "-f", "-")
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=condition=Ready", "--timeout=30s", "pod/first")
	p.kubectl(t, ctx, "", "delete", "-n", namespace, "--force", "--grace-period=0", "pod/first")
	p.kubectl(t, ctx, strings.ReplaceAll(gpuPod, "%NAME%", "second"), "apply", "-n", namespace, "-f", "-")
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=jsonpath={.status.reason}=UnexpectedAdmissionError", "--timeout=30s", "pod/second")
	p.kubectl(t, ctx, "", "delete", "-n", namespace, "pod/second")
}

func refusesAPod(t *testing.T, ctx context.Context, p *plane) {
	record := p.record(t, ctx)
	namespace := p.namespace(t, ctx)
	manifest := strings.Replace(strings.ReplaceAll(gpuPod, "%NAME%", "greedy"), "gpu: 8", "gpu: 9", 1)
	manifest = strings.Replace(manifest, "spec:", "spec:\n  nodeName: node-1", 1)
	p.kubectl(t, ctx, manifest, "apply", "-n", namespace, "-f", "-")
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=jsonpath={.status.reason}=UnexpectedAdmissionError", "--timeout=30s", "pod/greedy")
	if err := record.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range record.Check(history.Rules{}) {
		got = append(got, v.Rule+" "+v.Object)
	}
	if diff := cmp.Diff([]string{"devices pod/" + namespace + "/greedy"}, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func followsNodes(t *testing.T, ctx context.Context, p *plane) {
	if err := p.Kubelet.AddNode(ctx, cluster.NodeSpec{Name: "late", GPUs: 4}); err != nil {
		t.Fatal(err)
	}
	if err := p.Kubelet.SetAllocatable(ctx, "late", "nvidia.com/gpu", "3"); err != nil {
		t.Fatal(err)
	}
	if err := p.Kubelet.SetReady(ctx, "late", false); err != nil {
		t.Fatal(err)
	}
	state := "{.status.capacity['nvidia\\.com/gpu']} {.status.allocatable['nvidia\\.com/gpu']} {.status.conditions[?(@.type=='Ready')].status}"
	got, err := p.Kubectl(ctx, cluster.Admin, "get", "node", "late", "-o", "jsonpath="+state)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("4 3 False", got); diff != "" {
		t.Errorf("capacity, allocatable and Ready (-want +got):\n%s", diff)
	}
	if err := p.Kubelet.RemoveNode(ctx, "late"); err != nil {
		t.Fatal(err)
	}
}

func knowsUsers(t *testing.T, ctx context.Context, p *plane) {
	namespace := p.namespace(t, ctx)
	if _, err := p.Kubectl(ctx, cluster.Alice, "create", "namespace", "other"); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("alice must not create namespaces, and kubectl's words must come back; got error %v", err)
	}
	for user, want := range map[cluster.User]bool{cluster.Alice: false, cluster.Bypass: true} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: string(user), ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "holdshort.dev", Resource: "queues", Name: "q", Verb: "bypass"},
		}}
		answer, err := p.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil || answer.Status.Allowed != want {
			t.Errorf("may %s bypass queue q: %v, %v; want %v", user, answer.Status.Allowed, err, want)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "holdshort", Namespace: namespace}}
	if _, err := p.Client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := p.ServiceAccountConfig(ctx, namespace, "holdshort")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("system:serviceaccount:"+namespace+":holdshort", review.Status.UserInfo.Username); diff != "" {
		t.Errorf("the token's user (-want +got):\n%s", diff)
	}
}

func countsWrites(t *testing.T, p *plane) {
	writes, err := history.Writes(p.AuditLog, "alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range history.CountWrites(writes) {
		if count.Resource == "jobs" && count.Verb == "create" && !count.Failed && count.N == 1 {
			return
		}
	}
	t.Errorf("alice's one creation of a Job is not in %+v", history.CountWrites(writes))
}

func TestAnOlderPlaneHasNoMutatingPolicies(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	p := startPlane(t, ctx, cluster.Options{Nodes: []cluster.NodeSpec{{Name: "node-1", GPUs: 8}}, EmulatedVersion: "1.35"})
	resources, err := p.Kubectl(ctx, cluster.Admin, "api-resources", "--api-group=admissionregistration.k8s.io", "-o", "name")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(resources, "mutatingadmissionpolicies") || !strings.Contains(resources, "validatingadmissionpolicies") {
		t.Errorf("it serves %q; want validating policies and no mutating ones", resources)
	}
	namespace := p.namespace(t, ctx)
	p.kubectl(t, ctx, job, "apply", "-n", namespace, "-f", "-")
	p.kubectl(t, ctx, "", "wait", "-n", namespace, "--for=condition=complete", "--timeout=60s", "job/train")
	if err := p.Failure(); err != nil {
		t.Error(err)
	}
}

func TestHelmReachesThePlane(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	p := startPlane(t, ctx, cluster.Options{})
	out, err := p.Helm(ctx, "list", "--all-namespaces", "--short")
	if err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("releases of a new plane: %q, %v; want none", out, err)
	}
}

// plane is a running one with what tests need.
type plane struct{ *cluster.Cluster }

// startPlane starts a plane that ends with the test.
func startPlane(t *testing.T, ctx context.Context, options cluster.Options) *plane {
	t.Helper()
	options.Log = os.Stderr
	c, err := cluster.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
			t.Errorf("the plane's directory is still there: %v", err)
		}
	})
	return &plane{c}
}

// namespace makes one for a test, named after it.
func (p *plane) namespace(t *testing.T, ctx context.Context) string {
	t.Helper()
	words := strings.FieldsFunc(strings.ToLower(t.Name()), func(r rune) bool { return r < 'a' || r > 'z' })
	name := strings.Join(words, "-")
	name = strings.Trim(name[:min(len(name), 60)], "-")
	if err := p.Namespace(ctx, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// kubectl runs kubectl as alice.
func (p *plane) kubectl(t *testing.T, ctx context.Context, stdin string, args ...string) string {
	t.Helper()
	out, err := p.KubectlIn(ctx, cluster.Alice, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (p *plane) record(t *testing.T, ctx context.Context) *history.Recorder {
	t.Helper()
	record, err := history.Start(ctx, p.Admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Stop)
	return record
}
