//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/stories"
)

// stuckPolicy is lendingPolicy on machines of its own.
func stuckPolicy(ns string) string {
	return strings.Replace(lending(ns), "gpu: {}", "gpu: {nodeLabels: {pool: "+ns+"}}", 1)
}

func stuckNodes(ns string) []cluster.NodeSpec {
	labels := map[string]string{"pool": ns}
	return []cluster.NodeSpec{{Name: ns + "-1", GPUs: 4, Labels: labels}, {Name: ns + "-2", GPUs: 4, Labels: labels}}
}

// The machine of who was taken back dies with it: its pods are being deleted for as
// long as nobody says that they are gone. Until then its room is kept for the owner,
// who says what it waits for, and nobody else makes room in addition.
func TestAVictimOnADeadMachineMakesNoRoomBeforeItsPodsAreGone(t *testing.T) {
	ctx, s := sceneBy(t, "stuck", stuckPolicy("stuck"), history.Rules{Limits: lendingLimits()})
	addNodes(t, ctx, s, stuckNodes("stuck"))
	const never = "      terminationGracePeriodSeconds: 3600\n"
	for _, j := range []job{
		{name: "other", queue: "red", pods: 4, gpus: 1},
		{name: "dead", queue: "red", pods: 4, gpus: 1, stop: "1h", podSpec: never},
	} {
		_, err := s.Apply(ctx, j.yaml())
		must(t, err)
		must(t, s.Running(ctx, j.name, 4))
	}
	before := runsStill(t, ctx, s, "other")
	_, err := s.Apply(ctx, job{name: "owner", queue: "blue", pods: 4, gpus: 1, run: "24h"}.yaml())
	must(t, err)
	must(t, s.Says(ctx, "owner", "MakingRoom"))
	pods, err := s.Pods(ctx, "dead")
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			letEnd(t, context.Background(), s, pods)
		}
	})
	_, err = s.Apply(ctx, job{name: "thief", queue: "red", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Says(ctx, "thief", "WaitingForQuota"))
	const makes = "Room of   stuck/dead of queue red, taken back "
	out, err := s.Plugin(ctx, cluster.Admin, "explain", "job/owner", "-n", s.NS)
	must(t, err)
	must(t, stories.Contains(out, "MakingRoom", makes, "4 pods still ending"))
	must(t, s.Kubelet.SetReady(ctx, pods[0].Spec.NodeName, false))
	s.Manager.Kill()
	must(t, s.Manager.Start(ctx))
	time.Sleep(3 * time.Second) // in which it might do what it must not
	must(t, s.NoPods(ctx, "owner"))
	must(t, s.NoPods(ctx, "thief"))
	if diff := cmp.Diff(before, runsStill(t, ctx, s, "other")); diff != "" {
		t.Errorf("somebody else makes room, too (-want +got):\n%s", diff)
	}
	out, err = s.Explain(ctx, "owner")
	must(t, err)
	must(t, stories.Contains(out, "1 of 2 matching nodes is cordoned or not ready", makes, "4 pods still ending"))

	must(t, s.Kubelet.SetReady(ctx, pods[0].Spec.NodeName, true))
	letEnd(t, ctx, s, pods[1:])
	must(t, s.Says(ctx, "owner", "MakingRoom"))
	must(t, s.NoPods(ctx, "owner"))
	letEnd(t, ctx, s, pods[:1])
	must(t, s.Running(ctx, "owner", 4))
	must(t, s.NoPods(ctx, "thief"))
}

// letEnd has pods that hang end as soon as they are told to.
func letEnd(t *testing.T, ctx context.Context, s *stories.Scene, pods []corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		_, err := s.KubectlIn(ctx, cluster.Admin, "", "-n", s.NS, "annotate", "--overwrite", "pod", pod.Name, kubelet.AnnotationStop+"=1ms")
		must(t, err)
	}
}

// A pod that has ended holds no machine, though somebody's finalizer keeps its
// object: its room is there.
func TestAFinalizerKeepsThePodAndNotItsRoom(t *testing.T) {
	ctx, s := scene(t, "kept-object", lending("kept-object"), lendingLimits()...)
	_, err := s.Apply(ctx, job{name: "borrower", queue: "red", pods: 8, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "borrower", 8))
	pods, err := s.Pods(ctx, "borrower")
	must(t, err)
	setFinalizers(t, ctx, s, pods, `["test.example/keep"]`)
	t.Cleanup(func() { setFinalizers(t, context.Background(), s, pods, "null") })
	_, err = s.Apply(ctx, job{name: "owner", queue: "blue", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "owner", 4))
	for _, pod := range pods {
		found, err := s.Client.CoreV1().Pods(s.NS).Get(ctx, pod.Name, metav1.GetOptions{})
		must(t, err)
		if found.DeletionTimestamp == nil || found.Status.Phase != corev1.PodFailed {
			t.Errorf("%s is %s, deleted %v: the finalizer keeps nothing", pod.Name, found.Status.Phase, found.DeletionTimestamp)
		}
	}
	must(t, s.Waits(ctx, "borrower", "WaitingForQuota"))
}

func setFinalizers(t *testing.T, ctx context.Context, s *stories.Scene, pods []corev1.Pod, list string) {
	t.Helper()
	for _, pod := range pods {
		_, err := s.KubectlIn(ctx, cluster.Admin, "", "-n", s.NS, "patch", "pod", pod.Name, "--type=merge", "-p", fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, list))
		must(t, err)
	}
}
