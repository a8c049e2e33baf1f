package ledger

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/intake"
)

// volumes is what the loop knows of volumes, of the Jobs whose pods mount them, and of
// the pods that do; and of all Jobs that name claims, for devices too, who goes first.
type volumes struct {
	claims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass

	readers map[read]map[types.UID]bool // Jobs that were read by it
	reads   map[types.UID]map[read]bool // the same, by Job
	mounts  map[types.NamespacedName]map[types.UID]*corev1.Pod
	starts  map[types.UID]bool // Jobs whose admission is being written
	runs    map[types.UID]bool // Jobs that were admitted when they were read last
	again   map[types.UID]bool // Jobs to be read again
}

// read is an object that a Job was read by, whether it was there or not.
type read struct{ kind, namespace, name string }

const (
	readClaim  = "claim"
	readVolume = "volume"
	readClass  = "class"
)

func newVolumes() volumes {
	return volumes{
		claims:  map[types.NamespacedName]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
		readers: map[read]map[types.UID]bool{}, reads: map[types.UID]map[read]bool{},
		mounts: map[types.NamespacedName]map[types.UID]*corev1.Pod{},
		starts: map[types.UID]bool{}, runs: map[types.UID]bool{}, again: map[types.UID]bool{},
	}
}

// volumeNews is what changed of volumes; a nil value means the object is gone.
type volumeNews struct {
	claims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

func newVolumeNews() volumeNews {
	return volumeNews{
		claims:  map[types.NamespacedName]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
	}
}

// observe brings in what changed, and notes whose Jobs that concerns.
func (v *volumes) observe(news volumeNews) {
	update(v.claims, news.claims)
	update(v.volumes, news.volumes)
	update(v.classes, news.classes)
	for name := range news.claims {
		v.concern(readClaim, name.Namespace, name.Name)
	}
	for name := range news.volumes {
		v.concern(readVolume, "", name)
	}
	for name := range news.classes {
		v.concern(readClass, "", name)
	}
}

func (v *volumes) concern(kind, namespace, name string) {
	maps.Copy(v.again, v.readers[read{kind, namespace, name}])
}

// note that a Job is read by an object.
func (v *volumes) note(job types.UID, kind, namespace, name string) {
	of := read{kind, namespace, name}
	if v.readers[of] == nil {
		v.readers[of] = map[types.UID]bool{}
	}
	if v.reads[job] == nil {
		v.reads[job] = map[read]bool{}
	}
	v.readers[of][job], v.reads[job][of] = true, true
}

// unread: a Job is over, or about to be read anew.
func (v *volumes) unread(job types.UID) {
	for of := range v.reads[job] {
		if delete(v.readers[of], job); len(v.readers[of]) == 0 {
			delete(v.readers, of)
		}
	}
	delete(v.reads, job)
	delete(v.again, job)
}

// mountedBy notes which claims a pod has: one that is bound and not over.
func (v *volumes) mountedBy(pod *corev1.Pod, has bool) {
	for _, name := range intake.ClaimsOf(&pod.Spec) {
		key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
		pods := v.mounts[key]
		if has == (pods[pod.UID] != nil) {
			continue
		}
		switch {
		case !has:
			if delete(pods, pod.UID); len(pods) == 0 {
				delete(v.mounts, key)
			}
		case pods == nil:
			v.mounts[key] = map[types.UID]*corev1.Pod{pod.UID: pod}
		default:
			pods[pod.UID] = pod
		}
		if intake.AtOnePod(v.claims[key]) {
			v.concern(readClaim, key.Namespace, key.Name)
		}
	}
}

// others have those read again who name a claim that a Job names, and who may not have it,
// or not yet, while that one runs.
func (l *Loop) others(job types.UID) {
	v := &l.volumes
	add := func(names map[types.UID]bool) {
		for other := range names {
			if other != job {
				v.again[other] = true
			}
		}
	}
	for of := range v.reads[job] {
		claim := v.claims[types.NamespacedName{Namespace: of.namespace, Name: of.name}]
		if of.kind == readClaim && claim != nil && (intake.AtOnePod(claim) || claim.Spec.VolumeName == "") {
			add(v.readers[of])
		}
	}
	for _, name := range l.devices.readers[job] {
		if claim := l.devices.claims[name]; claim != nil && claim.Status.Allocation == nil {
			add(l.devices.named[name])
		}
	}
}

// names tells whether a Job was read by claims that others may name.
func (l *Loop) names(job types.UID) bool {
	return l.volumes.reads[job] != nil || len(l.devices.readers[job]) > 0
}

// mounted is where the volumes of a Job's pods tie them to.
func (l *Loop) mounted(job *batchv1.Job) intake.Mounted {
	v, uid := &l.volumes, job.UID
	v.unread(uid)
	look := intake.Volumes{
		Claim: func(namespace, name string) *corev1.PersistentVolumeClaim {
			v.note(uid, readClaim, namespace, name)
			return v.claims[types.NamespacedName{Namespace: namespace, Name: name}]
		},
		Volume: func(name string) *corev1.PersistentVolume {
			v.note(uid, readVolume, "", name)
			return v.volumes[name]
		},
		Class: func(name string) *storagev1.StorageClass {
			v.note(uid, readClass, "", name)
			return v.classes[name]
		},
		User: func(namespace, name string) string { return l.userOf(uid, namespace, name) },
	}
	return look.OfJob(job)
}

// userOf a claim, other than a Job that asks: a pod that has it, or a Job whose pods do or
// are about to. Of several, the first by name.
func (l *Loop) userOf(asks types.UID, namespace, name string) string {
	first := ""
	add := func(user string) {
		if first == "" || user < first {
			first = user
		}
	}
	for _, pod := range l.volumes.mounts[types.NamespacedName{Namespace: namespace, Name: name}] {
		if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || owner.UID != asks {
			add("pod " + pod.Namespace + "/" + pod.Name)
		}
	}
	for uid := range l.volumes.readers[read{readClaim, namespace, name}] {
		if uid != asks && l.hasStarted(uid) {
			add("Job " + l.jobs[uid].job.Key())
		}
	}
	return first
}

// hasStarted tells whether pods of a Job may be there, or come.
func (l *Loop) hasStarted(uid types.UID) bool {
	t := l.jobs[uid]
	return t != nil && t.job != nil && (t.job.Admitted() || l.volumes.starts[uid])
}

// allocates is the Job, other than one that asks, whose pods are about to have a claim for
// devices allocated. Of several, the first by name.
func (l *Loop) allocates(asks types.UID, namespace, name string) string {
	first := ""
	for uid := range l.devices.named[types.NamespacedName{Namespace: namespace, Name: name}] {
		if uid != asks && l.hasStarted(uid) && (first == "" || l.jobs[uid].job.Key() < first) {
			first = l.jobs[uid].job.Key()
		}
	}
	return first
}

// settleVolumes has those read again to whom volumes mean something else by now, until
// that is nobody.
func (l *Loop) settleVolumes() {
	v := &l.volumes
	for len(v.again) > 0 {
		again := v.again
		v.again = map[types.UID]bool{}
		for uid := range again {
			if t := l.jobs[uid]; t != nil {
				l.readJob(t)
			}
		}
	}
}

// runsNow notes whether a Job that was read is admitted: others may wait for its claim.
func (l *Loop) runsNow(t *tracked) {
	v, uid := &l.volumes, t.raw.UID
	if !l.names(uid) && !v.runs[uid] {
		return
	}
	is := l.hasStarted(uid)
	if is == v.runs[uid] {
		return
	}
	if v.runs[uid] = true; !is {
		delete(v.runs, uid)
	}
	l.others(uid)
}

// starting is that the admission of a Job is being written: nobody else may have its
// claim, even in the same plan.
func (l *Loop) starting(t *tracked, yes bool) {
	v, uid := &l.volumes, t.raw.UID
	if yes && l.names(uid) {
		v.starts[uid] = true
	} else {
		delete(v.starts, uid)
	}
	l.runsNow(t)
	l.settleVolumes()
}

// forgetClaims: a Job is gone, or no longer ours.
func (l *Loop) forgetClaims(uid types.UID) {
	l.others(uid)
	l.devices.forget(uid)
	l.volumes.unread(uid)
	delete(l.volumes.starts, uid)
	delete(l.volumes.runs, uid)
}
