package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/holdshort/holdshort/ledger/intake"
)

// TestAllThatIsReadOfAVolumeSurvives: a claim and its volume mean the same, whatever they
// have, whether they came through the cache or not.
func TestAllThatIsReadOfAVolumeSurvives(t *testing.T) {
	job := &batchv1.Job{}
	job.Spec.Template.Spec = *parsed[corev1.PodSpec](t, mounting("d"))
	pinned, waiting := 0, 0
	for i := range 1000 {
		claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
		random := randomPods(int64(i))
		random.Fill(claim)
		random.Fill(volume)
		claim.Name, claim.Namespace, claim.DeletionTimestamp = "d", "", nil
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes", "other": "x"}
		if i%2 == 0 {
			claim.Spec.VolumeName, claim.Annotations = "", map[string]string{"volume.beta.kubernetes.io/storage-class": "beta", "volume.kubernetes.io/selected-node": "n1"}
		}
		if i%3 == 0 {
			claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		}
		volume.Labels = map[string]string{"app": "x"}
		for _, key := range intake.VolumeLabels()[:i%3] {
			volume.Labels[key[0]] = "a"
		}
		want := meant(t, job, claim.DeepCopy(), volume.DeepCopy())
		slimClaim, _ := slimVolumeClaim(claim)
		slimmed, _ := slimVolume(volume)
		if diff := cmp.Diff(want, meant(t, job, slimClaim.(*corev1.PersistentVolumeClaim), slimmed.(*corev1.PersistentVolume))); diff != "" {
			t.Fatalf("%d is read otherwise when it is slim (-whole +slim):\n%s", i, diff)
		}
		if len(want.Pins) > 0 {
			pinned++
		}
		if want.Problem != nil {
			waiting++
		}
	}
	if pinned < 100 || waiting < 100 {
		t.Errorf("only %d tie their pods and %d are waited for; the random volumes are too poor to tell", pinned, waiting)
	}
}

func meant(t *testing.T, job *batchv1.Job, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) intake.Mounted {
	look := intake.Volumes{
		Claim:  func(string, string) *corev1.PersistentVolumeClaim { return claim },
		Volume: func(string) *corev1.PersistentVolume { return volume },
		Class: func(name string) *storagev1.StorageClass {
			if name != "beta" {
				return nil
			}
			return parsed[storagev1.StorageClass](t, "{volumeBindingMode: WaitForFirstConsumer}")
		},
		User: func(string, string) string { return "" },
	}
	if intake.AtOnePod(claim) {
		look.User = func(string, string) string { return "pod x" }
	}
	return look.OfJob(job)
}
