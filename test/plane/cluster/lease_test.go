//go:build plane

package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

// renewsLeases: somebody deletes a node behind the fake kubelet's back.
func renewsLeases(t *testing.T, ctx context.Context, p *plane) {
	if err := p.Kubelet.AddNode(ctx, cluster.NodeSpec{Name: "again"}); err != nil {
		t.Fatal(err)
	}
	leases, nodes := p.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease), p.Client.CoreV1().Nodes()
	renewed := func(node string) time.Time {
		lease, err := leases.Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return time.Time{}
		}
		return lease.Spec.RenewTime.Time
	}
	waitFor(t, "its Lease", func() bool { return !renewed("again").IsZero() })
	if err := nodes.Delete(ctx, "again", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "its Lease to be collected", func() bool { return renewed("again").IsZero() })
	made, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "again"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := renewed("node-1")
	waitFor(t, "a Lease of the new node", func() bool {
		lease, err := leases.Get(ctx, "again", metav1.GetOptions{})
		return err == nil && lease.OwnerReferences[0].UID == made.UID
	})
	waitFor(t, "the Lease of another node to be renewed", func() bool { return renewed("node-1").After(before) })
	if err := p.Kubelet.RemoveNode(ctx, "again"); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
