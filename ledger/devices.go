package ledger

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/dra"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// DRA is what the API server serves of dynamic resource allocation, in version v1.
type DRA struct {
	Claims bool // slices, claims, their templates, and classes
	Rules  bool // DeviceTaintRules
	// Implied: containers may ask for devices of any class, by a name that is made of
	// the class's.
	Implied bool
}

// devices is what the loop knows of claims and of what they ask for.
type devices struct {
	state     *dra.State
	templates map[types.NamespacedName]*resourceapi.ResourceClaimTemplate
	claims    map[types.NamespacedName]*resourceapi.ResourceClaim
	classes   map[string]*resourceapi.DeviceClass

	extended map[string]extended           // by resource
	rows     map[types.UID]string          // that a Job or pod is counted in
	counted  map[string]map[types.UID]bool // the same, by row
	problems map[string]string             // of rows, as Jobs were read by them
	readers  map[types.UID][]types.NamespacedName
	named    map[types.NamespacedName]map[types.UID]bool // who names a claim
	all      map[types.UID]bool                          // who asks for all devices of a node
	pods     map[types.UID]*podSeen
	again    map[types.UID]bool // Jobs and pods to be read again
}

// podSeen is a pod with claims, and what these asked for: a ghost holds its devices when
// its claims are gone.
type podSeen struct {
	raw    *corev1.Pod
	read   *supply.Pod
	claims map[string]*resourceapi.ResourceClaim
}

func newDevices() devices {
	return devices{
		state:     dra.New(),
		templates: map[types.NamespacedName]*resourceapi.ResourceClaimTemplate{},
		claims:    map[types.NamespacedName]*resourceapi.ResourceClaim{},
		classes:   map[string]*resourceapi.DeviceClass{},
		extended:  map[string]extended{},
		rows:      map[types.UID]string{}, counted: map[string]map[types.UID]bool{}, problems: map[string]string{},
		readers: map[types.UID][]types.NamespacedName{}, named: map[types.NamespacedName]map[types.UID]bool{},
		all: map[types.UID]bool{}, pods: map[types.UID]*podSeen{}, again: map[types.UID]bool{},
	}
}

// claimChange is a claim's newest state, or its last one if it is gone.
type claimChange struct {
	claim *resourceapi.ResourceClaim
	gone  bool
}

// deviceNews is what changed of devices and of those who ask for them; a nil value
// means the object is gone.
type deviceNews struct {
	slices    map[string]*resourceapi.ResourceSlice
	classes   map[string]*resourceapi.DeviceClass
	rules     map[string]*resourceapi.DeviceTaintRule
	templates map[types.NamespacedName]*resourceapi.ResourceClaimTemplate
	claims    map[types.UID]claimChange
}

func newDeviceNews() deviceNews {
	return deviceNews{
		slices:    map[string]*resourceapi.ResourceSlice{},
		classes:   map[string]*resourceapi.DeviceClass{},
		rules:     map[string]*resourceapi.DeviceTaintRule{},
		templates: map[types.NamespacedName]*resourceapi.ResourceClaimTemplate{},
		claims:    map[types.UID]claimChange{},
	}
}

// observe brings in what changed, and notes whom that concerns.
func (d *devices) observe(news deviceNews) {
	each(news.slices, d.state.SetSlice, d.state.DeleteSlice)
	each(news.rules, d.state.SetTaintRule, d.state.DeleteTaintRule)
	each(news.classes, d.state.SetClass, d.state.DeleteClass)
	update(d.classes, news.classes)
	update(d.templates, news.templates)
	for uid, change := range news.claims {
		d.observeClaim(uid, change)
	}
	if len(news.templates)+len(news.classes) > 0 { // few, that seldom change
		for uid := range d.readers {
			d.again[uid] = true
		}
	}
	if len(news.slices) > 0 {
		maps.Copy(d.again, d.all)
	}
}

func each[V any](news map[string]*V, set func(*V), drop func(string)) {
	for name, value := range news {
		if value == nil {
			drop(name)
		} else {
			set(value)
		}
	}
}

// observeClaim takes a claim. A name may be used again, so which claim has it goes by
// the UID.
func (d *devices) observeClaim(uid types.UID, change claimChange) {
	name := types.NamespacedName{Namespace: change.claim.Namespace, Name: change.claim.Name}
	was := d.claims[name]
	if change.gone {
		d.state.DeleteClaim(uid)
		if was == nil || was.UID != uid {
			return
		}
		delete(d.claims, name)
	} else {
		d.state.SetClaim(change.claim)
		if was != nil && was.UID != uid && was.CreationTimestamp.After(change.claim.CreationTimestamp.Time) {
			return
		}
		d.claims[name] = change.claim
	}
	d.concerned(was, change)
}

// concerned has those read again to whom a claim means something else than before: who
// names it, and the pod that it was made for.
func (d *devices) concerned(was *resourceapi.ResourceClaim, change claimChange) {
	claim := change.claim
	if !change.gone && was != nil && was.UID == claim.UID &&
		(was.Status.Allocation == nil) == (claim.Status.Allocation == nil) && (was.DeletionTimestamp == nil) == (claim.DeletionTimestamp == nil) &&
		intake.FirstUser(was) == intake.FirstUser(claim) {
		return
	}
	for i := range claim.OwnerReferences {
		if uid := claim.OwnerReferences[i].UID; d.pods[uid] != nil {
			d.again[uid] = true
		}
	}
	maps.Copy(d.again, d.named[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}])
}

// lookup is how the claims of a Job or a pod are read.
func (d *devices) lookup(reader types.UID) *intake.Claims {
	return &intake.Claims{
		Template: func(namespace, name string) *resourceapi.ResourceClaimTemplate {
			return d.templates[types.NamespacedName{Namespace: namespace, Name: name}]
		},
		Claim: func(namespace, name string) *resourceapi.ResourceClaim {
			claim, pod := d.claims[types.NamespacedName{Namespace: namespace, Name: name}], d.pods[reader]
			if pod != nil && claim != nil {
				pod.claims[name] = &resourceapi.ResourceClaim{Spec: claim.Spec}
			} else if pod != nil {
				claim = pod.claims[name]
			}
			return claim
		},
		Class:    func(name string) *resourceapi.DeviceClass { return d.classes[name] },
		Extended: func(name string) *resourceapi.DeviceClass { return d.classes[d.extended[name].class] },
		Name:     dra.Row,
		Most: func(kind *resourceapi.DeviceSubRequest) int64 {
			d.all[reader] = true
			return d.state.Most(kind)
		},
		Row: func(specs []resourceapi.ResourceClaimSpec) (string, int64, string) {
			name, units := d.state.Want(specs)
			d.dropRow(reader)
			d.rows[reader] = name
			if d.counted[name] == nil {
				d.counted[name] = map[types.UID]bool{}
			}
			d.counted[name][reader] = true
			return name, units, d.problems[name]
		},
	}
}

func (d *devices) dropRow(reader types.UID) {
	row, counted := d.rows[reader]
	if !counted {
		return
	}
	d.state.Drop(row)
	delete(d.rows, reader)
	if delete(d.counted[row], reader); len(d.counted[row]) == 0 {
		delete(d.counted, row)
	}
}

// reads notes which claims a Job or a pod names.
func (d *devices) reads(reader types.UID, namespace string, claims []corev1.PodResourceClaim) {
	d.unread(reader)
	names := []types.NamespacedName{}
	for i := range claims {
		if name := claims[i].ResourceClaimName; name != nil {
			key := types.NamespacedName{Namespace: namespace, Name: *name}
			names = append(names, key)
			if d.named[key] == nil {
				d.named[key] = map[types.UID]bool{}
			}
			d.named[key][reader] = true
		}
	}
	d.readers[reader] = names
}

func (d *devices) unread(reader types.UID) {
	for _, name := range d.readers[reader] {
		if delete(d.named[name], reader); len(d.named[name]) == 0 {
			delete(d.named, name)
		}
	}
	delete(d.readers, reader)
	delete(d.all, reader)
	delete(d.again, reader)
}

// gives is what of rows a bound pod leaves.
func (d *devices) gives(pod string) (resource.List, bool) { return d.state.Gives(types.UID(pod)) }

// forget is that a Job or pod is gone, or over.
func (d *devices) forget(reader types.UID) {
	d.unread(reader)
	d.dropRow(reader)
	if d.pods[reader] != nil {
		delete(d.pods, reader)
		d.state.DeletePod(reader)
	}
}

// claimed is what the claims of a Job's pods come to.
func (l *Loop) claimed(job *batchv1.Job) intake.Claimed {
	if intake.Finished(job) {
		l.others(job.UID) // before it is forgotten which claims it names
	}
	look := l.devices.lookup(job.UID)
	look.User = func(namespace, name string) string { return l.allocates(job.UID, namespace, name) }
	return l.devices.ofJob(job, look)
}

// ofJob reads the claims of a Job's pods.
func (d *devices) ofJob(job *batchv1.Job, look *intake.Claims) intake.Claimed {
	if intake.Finished(job) {
		d.forget(job.UID)
		look.Row, look.Most = nil, nil
		return look.OfJob(job)
	}
	d.reads(job.UID, job.Namespace, job.Spec.Template.Spec.ResourceClaims)
	claimed := look.OfJob(job)
	if claimed.Devices == nil {
		d.dropRow(job.UID)
	}
	return claimed
}

// ofPod reads the claims of a pod that is there, or a ghost.
func (d *devices) ofPod(seen *supply.Pod, pod *corev1.Pod, ghost bool) {
	if len(pod.Spec.ResourceClaims) == 0 && pod.Status.ExtendedResourceClaimStatus == nil {
		return
	}
	if d.pods[pod.UID] == nil {
		d.pods[pod.UID] = &podSeen{claims: map[string]*resourceapi.ResourceClaim{}}
	}
	d.pods[pod.UID].raw, d.pods[pod.UID].read = pod, seen
	d.reads(pod.UID, pod.Namespace, pod.Spec.ResourceClaims)
	specs := d.lookup(pod.UID).OfPod(seen, pod)
	if seen.Place.Devices == nil || seen.Node != "" {
		d.dropRow(pod.UID)
	}
	if seen.Node != "" {
		d.state.SetPod(dra.Pod{UID: pod.UID, Node: seen.Node, Claims: specs, Ghost: ghost})
	}
}

// problemsChanged finds out which rows can't be counted, and notes whose that changes.
func (d *devices) problemsChanged() {
	for row, readers := range d.counted {
		if problem := d.state.Problem(row); problem != d.problems[row] {
			d.problems[row] = problem
			maps.Copy(d.again, readers)
		}
	}
	maps.DeleteFunc(d.problems, func(row, problem string) bool { return problem == "" || d.counted[row] == nil })
}

// observeDevices brings what changed of devices into the book, and reads those again
// who are concerned.
func (l *Loop) observeDevices() {
	l.readAgain()
	l.tellRows()
	l.devices.problemsChanged()
	if len(l.devices.again) > 0 {
		l.readAgain()
		l.tellRows() // of those who have other rows now
	}
}

func (l *Loop) tellRows() {
	for _, rows := range l.devices.state.Changed() {
		l.book.SetDevices(rows)
	}
	if costs, changed := l.devices.state.Costs(); changed {
		l.book.SetCosts(costs)
	}
}

func (l *Loop) readAgain() {
	again := l.devices.again
	l.devices.again = map[types.UID]bool{}
	for uid := range again {
		if pod := l.devices.pods[uid]; pod != nil {
			l.observePod(uid, podChange{pod: pod.raw}, nil)
		} else if t := l.jobs[uid]; t != nil {
			l.readJob(t)
		}
	}
}
