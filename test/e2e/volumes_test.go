//go:build plane

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const volumesPolicy = `holdshort:
  config:
    flavors:
      disks: {nodeLabels: {e2e: disks}}
    queues:
      disks:
        namespaces: {names: [disks]}
        flavors: [disks]
        quota: {disks: {nvidia.com/gpu: 1000}}
        placementTimeoutSeconds: 8
        backoff: {baseSeconds: 1, maxSeconds: 2}
`

// bound is a claim and the volume of a zone that it is bound to. Nobody binds them on the
// plane, nor sees to it that a claim outlives its pods.
func bound(t *testing.T, ctx context.Context, s *stories.Scene, name, zone, mode string) {
	t.Helper()
	volume := s.NS + "-" + name
	_, err := s.KubectlIn(ctx, cluster.Admin, fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [%[5]s]
  storageClassName: ""
  csi: {driver: csi.example.com, volumeHandle: %[1]s}
  claimRef: {namespace: %[2]s, name: %[3]s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [%[4]s]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[3]s, namespace: %[2]s, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {storageClassName: "", volumeName: %[1]s, accessModes: [%[5]s], resources: {requests: {storage: 1Gi}}}
`, volume, s.NS, name, zone, mode), "apply", "-f", "-")
	must(t, err)
	free := []byte(`{"metadata":{"finalizers":null}}`)
	_, err = s.Client.CoreV1().PersistentVolumeClaims(s.NS).Patch(ctx, name, types.MergePatchType, free, metav1.PatchOptions{})
	must(t, err)
	_, err = s.Client.CoreV1().PersistentVolumes().Patch(ctx, volume, types.MergePatchType, free, metav1.PatchOptions{})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Client.CoreV1().PersistentVolumes().Delete(context.Background(), volume, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func mounts(name, claim string, pods, gpus int) string {
	return job{name: name, queue: "disks", pods: pods, gpus: gpus,
		podSpec: fmt.Sprintf("      volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]\n", claim)}.yaml()
}

// startsAnew is a Job of pods that have all their containers restarted at once.
func startsAnew(name string, pods, gpus int) string {
	const container = "      - name: main\n"
	return strings.Replace(job{name: name, queue: "disks", pods: pods, gpus: gpus}.yaml(), container, container+
		"        restartPolicy: Never\n        restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]\n", 1)
}

// runsOn waits until all pods of a Job run, and holds them to some nodes.
func runsOn(t *testing.T, ctx context.Context, s *stories.Scene, name string, pods int, nodes ...string) {
	t.Helper()
	must(t, s.Running(ctx, name, pods))
	all, err := s.Pods(ctx, name)
	must(t, err)
	for i := range all {
		if !slices.Contains(nodes, all[i].Spec.NodeName) {
			t.Errorf("a pod of %s runs on %s, want one of %v", name, all[i].Spec.NodeName, nodes)
		}
	}
}

// TestVolumesPinAGang: four nodes in two zones. A gang whose volume is in one of them
// waits for room there, whatever is free in the other.
func TestVolumesPinAGang(t *testing.T) {
	ctx, s := scene(t, "disks", volumesPolicy)
	restarts := "RestartAllContainersOnContainerExits"
	node := func(name, zone string, features ...string) cluster.NodeSpec {
		return cluster.NodeSpec{Name: name, GPUs: 8, DeclaredFeatures: append([]string{"Other"}, features...), Labels: map[string]string{"e2e": "disks", "topology.kubernetes.io/zone": zone}}
	}
	addNodes(t, ctx, s, []cluster.NodeSpec{node("disk-a1", "a"), node("disk-a2", "a"), node("disk-b1", "b"), node("disk-b2", "b", restarts)})
	bound(t, ctx, s, "data", "a", "ReadWriteMany")
	bound(t, ctx, s, "one", "b", "ReadWriteOncePod")
	apply := func(manifest string) {
		t.Helper()
		_, err := s.Apply(ctx, manifest)
		must(t, err)
	}

	apply(stranger("disk-a1"))
	must(t, s.PodRuns(ctx, "on-disk-a1"))
	apply(mounts("train", "data", 2, 8))
	must(t, s.Waits(ctx, "train", "WaitingForMachines"))
	text, err := s.Explain(ctx, "train")
	must(t, err)
	must(t, stories.Contains(text, "16 nvidia.com/gpu asked, 8 free", "; volume claim data is bound to a volume of topology.kubernetes.io/zone=a",
		"not here: one of its claims is bound to a volume of topology.kubernetes.io/zone=a"))
	_, err = s.Kubectl(ctx, "-n", s.NS, "delete", "pod", "on-disk-a1")
	must(t, err)
	runsOn(t, ctx, s, "train", 2, "disk-a1", "disk-a2")

	// A claim for one pod at a time: one Job after the other, and none with two pods.
	apply(mounts("first", "one", 1, 1))
	runsOn(t, ctx, s, "first", 1, "disk-b1", "disk-b2")
	apply(mounts("second", "one", 1, 1) + mounts("both", "one", 2, 1) + mounts("late", "late", 1, 1))
	must(t, s.Waits(ctx, "second", "WaitingForVolumes"))
	must(t, s.Waits(ctx, "both", "BadRequest"))
	must(t, s.Waits(ctx, "late", "WaitingForVolumes"))
	text, err = s.Explain(ctx, "late")
	must(t, err)
	must(t, stories.Contains(text, "volume claim disks/late: not found"))
	bound(t, ctx, s, "late", "b", "ReadWriteOnce")
	runsOn(t, ctx, s, "late", 1, "disk-b1", "disk-b2")
	_, err = s.Kubectl(ctx, "-n", s.NS, "delete", "job", "first")
	must(t, err)
	runsOn(t, ctx, s, "second", 1, "disk-b1", "disk-b2")

	// Pods that need a feature go where it is declared.
	apply(startsAnew("again", 1, 1) + startsAnew("twice", 2, 5))
	runsOn(t, ctx, s, "again", 1, "disk-b2")
	must(t, s.Waits(ctx, "twice", "NeverFits"))
	text, err = s.Explain(ctx, "twice")
	must(t, err)
	must(t, stories.Contains(text, "its pods need nodes that declare "+restarts, "does not declare the feature "+restarts))
}
