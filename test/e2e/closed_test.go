//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

// A node whose cards are being divided anew, and one whose cards HAMi shares, look as if
// they had cards to give. Nothing is started there, and why is told; the first gets its
// Job as soon as the division has succeeded.
func TestNothingStartsWhereCardsCannotBeCounted(t *testing.T) {
	policy := strings.Replace(lending("closed"), "gpu: {}", "gpu: {nodeLabels: {pool: closed}}", 1)
	ctx, s := sceneBy(t, "closed", policy, history.Rules{Limits: lendingLimits()})
	const state = "nvidia.com/mig.config.state"
	addNodes(t, ctx, s, []cluster.NodeSpec{
		{Name: "closed-1", GPUs: 4, Labels: map[string]string{"pool": "closed", state: "pending"}},
		{Name: "closed-2", GPUs: 4, Labels: map[string]string{"pool": "closed"}},
	})
	change := func(node, patch string) {
		t.Helper()
		_, err := s.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		must(t, err)
	}
	change("closed-2", `{"metadata": {"annotations": {"hami.io/node-nvidia-register": "[]"}}}`)
	_, err := s.Apply(ctx, job{name: "train", queue: "red", pods: 2, gpus: 2, run: "24h"}.yaml())
	must(t, err)
	must(t, s.Says(ctx, "train", "WaitingForMachines"))
	out, err := s.Explain(ctx, "train")
	must(t, err)
	must(t, stories.Contains(out, "one of them: ", "HAMi shares its devices"))
	must(t, s.NoPods(ctx, "train"))

	change("closed-1", `{"metadata": {"labels": {"`+state+`": "success"}}}`)
	must(t, s.Running(ctx, "train", 2))
	pods, err := s.Pods(ctx, "train")
	must(t, err)
	for _, pod := range pods {
		if pod.Spec.NodeName != "closed-1" {
			t.Errorf("%s runs on %s", pod.Name, pod.Spec.NodeName)
		}
	}

	_, err = s.Apply(ctx, strings.Replace(job{name: "half", queue: "red", pods: 1}.yaml(), "annotations: {plane", `annotations: {gpu-fraction: "0.5", plane`, 1))
	must(t, err)
	must(t, s.Says(ctx, "half", "UnknownResource"))
	must(t, s.NoPods(ctx, "half"))
}

// Whoever deletes a pod by force has it gone from the API server while its container
// runs on: the device is not free, and a Job that got it would be refused by the kubelet.
func TestNobodyGetsTheDevicesOfAGhost(t *testing.T) {
	policy := strings.Replace(lending("ghost"), "gpu: {}", "gpu: {nodeLabels: {pool: ghost}}", 1)
	ctx, s := sceneBy(t, "ghost", policy, history.Rules{Limits: lendingLimits()})
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "ghost-1", GPUs: 4, Labels: map[string]string{"pool": "ghost"}}})
	_, err := s.Apply(ctx, `apiVersion: v1
kind: Pod
metadata: {name: notebook, annotations: {plane.holdshort.dev/ghost: 15s}}
spec:
  nodeSelector: {pool: ghost}
  containers: [{name: main, image: main, resources: {limits: {nvidia.com/gpu: 3}}}]
`)
	must(t, err)
	must(t, s.PodRuns(ctx, "notebook"))
	_, err = s.Apply(ctx, job{name: "train", queue: "red", pods: 2, gpus: 2}.yaml())
	must(t, err)
	must(t, s.Says(ctx, "train", "WaitingForMachines"))
	_, err = s.Kubectl(ctx, "delete", "pod", "notebook", "--force", "--grace-period=0")
	must(t, err)
	time.Sleep(10 * time.Second) // in which the ghost walks
	must(t, s.NoPods(ctx, "train"))
	must(t, s.Running(ctx, "train", 2))
	pods, err := s.Pods(ctx, "train")
	must(t, err)
	if len(pods) != 2 {
		t.Errorf("%d pods were made for 2: some were refused", len(pods))
	}
}

// What is left to the scheduler is said when the Job waits, when it starts and while it runs.
func TestWhatIsNotCheckedIsSaid(t *testing.T) {
	ctx, s := sceneBy(t, "unverified", lending("unverified"), history.Rules{Limits: lendingLimits()})
	const spread = "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]\n"
	const says = "unverified before the start: topologySpreadConstraints"
	for _, j := range []job{{name: "runs", queue: "red", pods: 2, gpus: 1, podSpec: spread}, {name: "waits", queue: "red", pods: 50, gpus: 1, podSpec: spread}} {
		_, err := s.Apply(ctx, j.yaml())
		must(t, err)
	}
	must(t, s.Running(ctx, "runs", 2))
	must(t, s.Says(ctx, "waits", "NeverFits"))
	for name, parts := range map[string][]string{"runs": {"Note      " + says, "; " + says}, "waits": {"Note      " + says}} {
		must(t, s.Eventually(ctx, name+" says what is not checked", func(ctx context.Context) (bool, string) {
			out, err := s.Explain(ctx, name)
			if err == nil {
				err = stories.Contains(out, parts...)
			}
			return err == nil, fmt.Sprint(err)
		}))
	}
}
