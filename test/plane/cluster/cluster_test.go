//go:build plane

package cluster_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

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

func TestAPlaneRunsAJobOfAlice(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := startPlane(t, ctx, cluster.Options{Nodes: []cluster.NodeSpec{{Name: "node-1", GPUs: 8}, {Name: "node-2"}}})
	if err := c.Namespace(ctx, "research"); err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, ctx, c, job, "apply", "-n", "research", "-f", "-")
	mustKubectl(t, ctx, c, "", "wait", "-n", "research", "--for=condition=complete", "--timeout=30s", "job/train")

	nodes := mustKubectl(t, ctx, c, "", "get", "pods", "-n", "research", "-o", "jsonpath={range .items[*]}{.spec.nodeName} {.status.phase},{end}")
	if diff := cmp.Diff(strings.Repeat("node-1 Succeeded,", 4), nodes); diff != "" {
		t.Errorf("four pods of 2 GPUs fill the only node that has any (-want +got):\n%s", diff)
	}
	if _, err := c.Kubectl(ctx, cluster.Alice, "create", "namespace", "other"); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("alice must not create namespaces, and kubectl's words must come back; got error %v", err)
	}
}

// startPlane starts a plane that ends with the test.
func startPlane(t *testing.T, ctx context.Context, options cluster.Options) *cluster.Cluster {
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
	})
	return c
}

// mustKubectl runs kubectl as alice.
func mustKubectl(t *testing.T, ctx context.Context, c *cluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	out, err := c.KubectlIn(ctx, cluster.Alice, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
