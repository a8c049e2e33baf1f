package ledger

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

func mounting(claim string) string {
	return fmt.Sprintf("{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}], volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]}", claim)
}

// volumeClaim of a name, bound to the volume of that name.
func (b *bench) volumeClaim(name, mode string) *corev1.PersistentVolumeClaim {
	claim := parsed[corev1.PersistentVolumeClaim](b.t, fmt.Sprintf(`
metadata: {name: %[1]s, namespace: a, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: %[1]s, accessModes: [%[2]s]}
status: {phase: Bound}`, name, mode))
	b.markVolumeClaim(claim, false)
	return claim
}

// volume that is on a node.
func (b *bench) volume(name, node string) {
	volume := parsed[corev1.PersistentVolume](b.t, fmt.Sprintf(`
metadata: {name: %s}
spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}}`, name, node))
	b.inbox.put(func(batch *batch) { batch.volumes.volumes[name] = volume })
}

func TestWhatIsMissingOfVolumesWakesWhoWaitsForIt(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.jobOf("late", mounting("late"))
	b.jobOf("unbound", mounting("unbound"))
	b.jobOf("scratch", "{containers: [{name: main}], volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}]}")
	b.says("late", "WaitingForVolumes", "volume claim a/late: not found")
	b.says("scratch", "WaitingForVolumes", "StorageClass fast not found")
	b.volumeClaim("late", "ReadWriteOnce")
	b.markVolumeClaim(parsed[corev1.PersistentVolumeClaim](t, "{metadata: {name: unbound, namespace: a}, spec: {storageClassName: fast}}"), false)
	b.says("late", "WaitingForVolumes", "bound to volume late, which is not there")
	b.says("unbound", "WaitingForVolumes", "not bound to a volume yet, and its StorageClass fast not found")

	b.volume("late", "n2")
	b.says("late", "NeverFits", "no node of gpu", "; volume claim late is bound to a volume of kubernetes.io/hostname=n2")
	b.volume("late", "n1")
	late := storagev1.VolumeBindingWaitForFirstConsumer
	b.inbox.put(func(batch *batch) {
		batch.volumes.classes["fast"] = &storagev1.StorageClass{Provisioner: "csi.example.com", VolumeBindingMode: &late}
		batch.volumes.classes["fast"].Name = "fast"
	})
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"late": true, "unbound": true, "scratch": true})
}

func TestAClaimForOnePodHasOneJobAtATime(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.volumeClaim("d", "ReadWriteOncePod")
	b.volume("d", "n1")
	b.jobOf("first", mounting("d"))
	b.step()
	b.now = b.now.Add(1)
	b.jobOf("third", mounting("d"))
	b.jobOf("second", mounting("d"))
	b.says("second", "WaitingForVolumes", "volume claim a/d: ReadWriteOncePod, and in use by Job a/first")
	b.wantAdmitted(map[string]bool{"first": true, "second": false, "third": false})

	b.pod("other", "d", "n1") // of nobody's queue
	b.deleteJob("first")
	b.says("second", "in use by pod a/other")
	b.pod("other", "d", "")
	b.step()
	b.step()
	if admitted := b.admitted("second"); admitted == b.admitted("third") {
		t.Errorf("second and third are both admitted: %v", admitted)
	}
}

// pod that mounts a claim on a node, or is gone from there.
func (b *bench) pod(name, claim, node string) {
	pod := &corev1.Pod{Spec: *parsed[corev1.PodSpec](b.t, mounting(claim))}
	pod.Name, pod.Namespace, pod.UID, pod.Spec.NodeName = name, "a", types.UID("uid-"+name), node
	b.inbox.put(func(batch *batch) { batch.pods[pod.UID] = podChange{pod, node == ""} })
}

func (b *bench) deleteJob(name string) {
	b.t.Helper()
	job, _ := b.get(name)
	if err := b.store.Delete(b.t.Context(), job); err != nil {
		b.t.Fatal(err)
	}
	b.markJob(job, true)
}

func TestTwoJobsOfOnePlanDoNotShareAClaimForOnePod(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.volumeClaim("d", "ReadWriteOncePod")
	b.volume("d", "n1")
	b.jobOf("first", mounting("d"))
	b.jobOf("second", mounting("d"))
	b.step()
	b.step()
	if admitted := b.admitted("second"); admitted == b.admitted("first") {
		t.Errorf("first and second are both admitted: %v", admitted)
	}
}

// Who is let go first has the volume made where its pod goes, and nobody knows yet where
// that is.
func TestAClaimThatWaitsForAPodHasOneJobUntilItIsBound(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.inbox.put(func(batch *batch) {
		batch.volumes.classes["fast"] = parsed[storagev1.StorageClass](t, "{metadata: {name: fast}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer}")
	})
	b.markVolumeClaim(parsed[corev1.PersistentVolumeClaim](t, "{metadata: {name: d, namespace: a}, spec: {storageClassName: fast}}"), false)
	b.jobOf("first", mounting("d"))
	b.step()
	b.now = b.now.Add(1)
	b.jobOf("second", mounting("d"))
	b.jobOf("third", mounting("d"))
	b.says("second", "WaitingForVolumes", "volume claim a/d: not bound to a volume yet; Job a/first is about to have that done")
	b.deleteJob("first")
	b.step()
	b.step()
	if admitted := b.admitted("second"); admitted == b.admitted("third") {
		t.Fatalf("second and third are both admitted: %v", admitted)
	}
	b.volumeClaim("d", "ReadWriteMany")
	b.volume("d", "n1")
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"second": true, "third": true})
}

func TestAVolumeOfSomebodyElseCostsNothing(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("plain", 1)
	b.step()
	b.step() // it has heard of its own start
	before := b.jobs["uid-plain"].job
	b.volumeClaim("d", "ReadWriteOnce")
	b.volume("d", "n1")
	b.step()
	if b.jobs["uid-plain"].job != before {
		t.Error("a Job without volumes was read again for a volume")
	}
	b.jobOf("mounts", mounting("d"))
	b.step()
	b.deleteJob("mounts")
	b.step()
	if v := b.volumes; len(v.readers)+len(v.reads)+len(v.starts)+len(v.runs)+len(v.mounts) > 0 {
		t.Errorf("what a Job was read by outlives it: %v", v)
	}
}
