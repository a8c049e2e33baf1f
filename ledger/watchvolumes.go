package ledger

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/intake"
)

// watchVolumes is the kinds that say where a volume ties a pod to.
func (l *Loop) watchVolumes() []watched {
	return []watched{
		{&corev1.PersistentVolumeClaim{}, l.markVolumeClaim},
		{&corev1.PersistentVolume{}, marker(l.inbox, func(b *batch, name string, o *corev1.PersistentVolume) { b.volumes.volumes[name] = o })},
		{&storagev1.StorageClass{}, marker(l.inbox, func(b *batch, name string, o *storagev1.StorageClass) { b.volumes.classes[name] = o })},
	}
}

func (l *Loop) markVolumeClaim(obj client.Object, gone bool) {
	claim, name := obj.(*corev1.PersistentVolumeClaim), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if gone {
		claim = nil
	}
	l.inbox.put(func(b *batch) { b.volumes.claims[name] = claim })
}

// slimVolumeClaim keeps what a claim is bound to, and who else may have it.
func slimVolumeClaim(obj any) (any, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return obj, nil
	}
	slimOwnerless(&claim.ObjectMeta, intake.ClaimAnnotation)
	claim.Labels = nil
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: claim.Spec.AccessModes, StorageClassName: claim.Spec.StorageClassName, VolumeName: claim.Spec.VolumeName,
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
	return claim, nil
}

// slimVolume keeps where a volume is.
func slimVolume(obj any) (any, error) {
	volume, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return obj, nil
	}
	slimOwnerless(&volume.ObjectMeta, func(string) bool { return false })
	maps.DeleteFunc(volume.Labels, func(key, _ string) bool {
		return !slices.ContainsFunc(intake.VolumeLabels(), func(read [2]string) bool { return read[0] == key })
	})
	volume.Spec = corev1.PersistentVolumeSpec{NodeAffinity: volume.Spec.NodeAffinity}
	volume.Status = corev1.PersistentVolumeStatus{}
	return volume, nil
}

// slimOwnerless is slimMeta for what no owner matters of.
func slimOwnerless(meta *metav1.ObjectMeta, reads func(annotation string) bool) {
	meta.OwnerReferences, meta.Finalizers = nil, nil
	slimMeta(meta, reads)
}
