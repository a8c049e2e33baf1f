//go:build plane

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const takesPolicy = `holdshort:
  config:
    flavors: {own: {nodeLabels: {machines: NS}}}
    queues:
      NS:
        namespaces: {names: [NS]}
        flavors: [own]
        quota: {own: {nvidia.com/gpu: 100}}
        placementTimeoutSeconds: 3
        backoff: {baseSeconds: 2}
`

// takesScene has three machines of 4 cards, and a gang of two that was let go and whose
// pods can't be bound yet. It returns the nodes that those are planned for.
func takesScene(t *testing.T, ns string) (context.Context, *stories.Scene, []string) {
	t.Helper()
	ctx, s := sceneBy(t, ns, strings.ReplaceAll(takesPolicy, "NS", ns), history.Rules{Homeless: true})
	for i := range 3 {
		addNodes(t, ctx, s, []cluster.NodeSpec{{Name: fmt.Sprintf("%s-%d", ns, i+1), GPUs: 4, Labels: map[string]string{"machines": ns}}})
	}
	_, err := s.Apply(ctx, job{name: "gang", queue: ns, pods: 2, gpus: 4, podSpec: "      schedulingGates: [{name: example.com/later}]\n"}.yaml())
	must(t, err)
	podsOf(t, ctx, s, "gang", 2)
	found, err := s.Job(ctx, "gang")
	must(t, err)
	var r demand.Reservation
	must(t, json.Unmarshal([]byte(found.Annotations[policies.AnnotationReservation]), &r))
	return ctx, s, slices.Sorted(maps.Keys(r.Plan))
}

func podsOf(t *testing.T, ctx context.Context, s *stories.Scene, name string, n int) (pods []corev1.Pod) {
	t.Helper()
	must(t, s.Eventually(ctx, "its pods are there, or gone", func(ctx context.Context) (bool, string) {
		var err error
		pods, err = s.Pods(ctx, name)
		return err == nil && len(pods) == n, fmt.Sprint(len(pods), err)
	}))
	return pods
}

// ungate lets the scheduler have the pods of a Job.
func ungate(t *testing.T, ctx context.Context, s *stories.Scene, name string, n int) {
	t.Helper()
	for _, pod := range podsOf(t, ctx, s, name, n) {
		_, err := s.Kubectl(ctx, "patch", "pod", pod.Name, "--type=merge", "-p", `{"spec":{"schedulingGates":null}}`)
		must(t, err)
	}
}

// takes has a pod that nobody queued, and that no scheduler was asked for, run on a node.
func takes(t *testing.T, ctx context.Context, s *stories.Scene, name, node string, gpus int) {
	t.Helper()
	_, err := s.Apply(ctx, strings.Replace(holder(name, "nodeName: "+node, gpus), "6s", "50ms", 1))
	must(t, err)
	must(t, s.PodRuns(ctx, name))
}

// A stranger is on a machine that was promised, and there is another one: the gang
// goes there, and nobody is taken back.
func TestAPromiseMovesWhereAStrangerTookTheRoom(t *testing.T) {
	ctx, s, planned := takesScene(t, "moves")
	takes(t, ctx, s, "stranger", planned[0], 4)
	before := podsOf(t, ctx, s, "gang", 2)
	ungate(t, ctx, s, "gang", 2)
	must(t, s.Running(ctx, "gang", 2))
	for _, pod := range podsOf(t, ctx, s, "gang", 2) {
		if pod.Spec.NodeName == planned[0] || !uids(before)[string(pod.UID)] {
			t.Errorf("%s runs on %s; planned was %v", pod.Name, pod.Spec.NodeName, planned)
		}
	}
}

// There is no other: the gang is taken back whole when its time is over, and says who
// took its room. It starts when that is free again.
func TestAGangSaysWhichStrangersTookItsRoom(t *testing.T) {
	ctx, s, planned := takesScene(t, "took")
	spare := slices.DeleteFunc([]string{"took-1", "took-2", "took-3"}, func(n string) bool { return slices.Contains(planned, n) })
	takes(t, ctx, s, "beside", spare[0], 3)
	takes(t, ctx, s, "stranger", planned[0], 1)
	ungate(t, ctx, s, "gang", 2)
	must(t, s.Says(ctx, "gang", "BackingOff"))
	podsOf(t, ctx, s, "gang", 0)
	say := fmt.Sprintf("1 pod found no node within 3 s; its room was taken by pods that nobody queued: took/stranger (1 nvidia.com/gpu on %s)", planned[0])
	out, err := s.Explain(ctx, "gang")
	must(t, err)
	must(t, stories.Contains(out, say))
	must(t, s.Eventually(ctx, "an event says it", func(ctx context.Context) (bool, string) {
		out, err := s.Kubectl(ctx, "get", "events", "-o", `jsonpath={range .items[?(@.reason=="BackingOff")]}{.message}{"\n"}{end}`)
		return err == nil && strings.Contains(out, "taken back: "+say), out
	}))
	_, err = s.Kubectl(ctx, "delete", "pod", "stranger", "--wait=false")
	must(t, err)
	ungate(t, ctx, s, "gang", 2)
	must(t, s.Running(ctx, "gang", 2))
}
