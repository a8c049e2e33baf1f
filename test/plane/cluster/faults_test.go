//go:build plane

package cluster_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

func TestFaultsOfNodes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	spec := cluster.NodeSpec{Name: "node-1", GPUs: 2}
	p := startPlane(t, ctx, cluster.Options{Nodes: []cluster.NodeSpec{spec}})
	const mig = "nvidia.com/mig-3g.40gb"
	want := func(what, want string) {
		t.Helper()
		node, err := p.Client.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		amount := func(list corev1.ResourceList, name corev1.ResourceName) string {
			quantity, has := list[name]
			if !has {
				return "-"
			}
			return quantity.String()
		}
		got := amount(node.Status.Capacity, kubelet.ResourceGPU) + " " + amount(node.Status.Allocatable, kubelet.ResourceGPU) + " " +
			amount(node.Status.Allocatable, mig) + " " + node.Labels[kubelet.LabelRepartition]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: cards built in, to be had, parts, state (-want +got):\n%s", what, diff)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want("at first", "2 2 - ")
	start, err := p.Kubelet.StopPlugin(ctx, "node-1", kubelet.ResourceGPU)
	ok(err)
	want("the plugin stops", "2 0 - ")
	ok(start(ctx))
	want("it is back", "2 2 - ")
	if _, err := p.Kubelet.StopPlugin(ctx, "node-1", "example.com/none"); err == nil {
		t.Error("a plugin that the node never had can be stopped")
	}
	done, err := p.Kubelet.Repartition(ctx, "node-1", kubelet.ResourceGPU, map[corev1.ResourceName]string{mig: "4"})
	ok(err)
	want("the cards are being cut", "0 0 - pending")
	ok(done(ctx))
	want("they are cut", "0 0 4 success")

	before, err := p.Client.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
	ok(err)
	ok(p.Kubelet.Recreate(ctx, spec))
	want("another machine comes", "2 2 - ")
	after, err := p.Client.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
	ok(err)
	if before.UID == after.UID {
		t.Error("it is the same node as before")
	}
}
