package intake

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
)

// What is written on claims and volumes by those who bind them.
const (
	annotationBound    = "pv.kubernetes.io/bind-completed"
	annotationSelected = "volume.kubernetes.io/selected-node"
	noProvisioner      = "kubernetes.io/no-provisioner"
)

// Mounted is where its volumes tie a pod to.
type Mounted struct {
	Pins []demand.Pin
	// Unverified are the volumes of which nobody knows before there is a pod.
	Unverified []string
	// Problem is why no pod that mounts them would find a node now.
	Problem *reason.Reason
}

// Volumes is where volumes are looked up. A function returns nil for what is not there.
type Volumes struct {
	Claim  func(namespace, name string) *corev1.PersistentVolumeClaim
	Volume func(name string) *corev1.PersistentVolume
	Class  func(name string) *storagev1.StorageClass
	// User is who has a claim, or is about to, other than the Job that asks; empty: nobody.
	// A nil function finds nobody.
	User func(namespace, name string) string
}

// ClaimAnnotation tells whether an annotation of a PersistentVolumeClaim is read.
func ClaimAnnotation(key string) bool {
	return key == annotationBound || key == annotationSelected || key == corev1.BetaStorageClassAnnotation
}

// VolumeLabels are the labels of a PersistentVolume that are read: where it is, as it was
// said before volumes had a node affinity. Beside each older one is the newer one by which
// nodes may say the same.
func VolumeLabels() [][2]string {
	return [][2]string{
		{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone}, {corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
		{corev1.LabelTopologyZone}, {corev1.LabelTopologyRegion},
	}
}

// Ties tells whether a volume may tie its pod to some nodes.
func Ties(v *corev1.Volume) bool {
	return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || inPlace(v)
}

// inPlace is a disk that the pod names itself, and that others on a node may have in use.
func inPlace(v *corev1.Volume) bool {
	return v.ISCSI != nil || v.RBD != nil || v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil
}

// tying is the names of the volumes that may tie a pod to some nodes.
func tying(spec *corev1.PodSpec) []string {
	var names []string
	for i := range spec.Volumes {
		if Ties(&spec.Volumes[i]) {
			names = append(names, spec.Volumes[i].Name)
		}
	}
	return names
}

// ClaimsOf is the PersistentVolumeClaims that a pod mounts by name.
func ClaimsOf(spec *corev1.PodSpec) []string {
	var names []string
	for i := range spec.Volumes {
		if claim := spec.Volumes[i].PersistentVolumeClaim; claim != nil && !slices.Contains(names, claim.ClaimName) {
			names = append(names, claim.ClaimName)
		}
	}
	return names
}

// AtOnePod tells whether one pod at a time may have a claim.
func AtOnePod(claim *corev1.PersistentVolumeClaim) bool {
	return claim != nil && slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
}

// OfJob is where the volumes of a Job's pods tie them to.
func (v *Volumes) OfJob(job *batchv1.Job) Mounted {
	m := mounting{Volumes: v, namespace: job.Namespace, pods: peak(job)}
	volumes := job.Spec.Template.Spec.Volumes
	for i := range volumes {
		one := &volumes[i]
		switch {
		case one.PersistentVolumeClaim != nil:
			m.claim(one.Name, one.PersistentVolumeClaim.ClaimName)
		case one.Ephemeral != nil:
			m.ephemeral(one.Name, one.Ephemeral.VolumeClaimTemplate)
		case inPlace(one):
			m.Unverified = append(m.Unverified, one.Name)
		}
	}
	return m.Mounted
}

// mounting goes over the volumes of one Job's pods.
type mounting struct {
	*Volumes
	Mounted
	namespace string
	pods      int64
}

func (m *mounting) problem(why reason.Reason) {
	if m.Problem == nil {
		m.Problem = &why
	}
}

func (m *mounting) waits(claim, why string) {
	m.problem(reason.NoVolume(m.namespace+"/"+claim, why))
}

func (m *mounting) userOf(claim string) string {
	if m.User == nil {
		return ""
	}
	return m.User(m.namespace, claim)
}

func (m *mounting) claim(as, name string) {
	claim := m.Claim(m.namespace, name)
	switch {
	case claim == nil:
		m.waits(name, "not found")
		return
	case claim.DeletionTimestamp != nil:
		m.waits(name, "being deleted")
		return
	case claim.Status.Phase == corev1.ClaimLost:
		m.waits(name, fmt.Sprintf("lost: the volume %s that it was bound to is gone", claim.Spec.VolumeName))
		return
	}
	if AtOnePod(claim) {
		if m.pods > 1 {
			m.problem(reason.VolumeForOnePod(as, name, m.pods))
		} else if user := m.userOf(name); user != "" {
			m.waits(name, "ReadWriteOncePod, and in use by "+user)
		}
	}
	switch _, bound := claim.Annotations[annotationBound]; {
	case claim.Spec.VolumeName == "":
		m.unbound(as, claim)
	case !bound:
		m.waits(name, "not bound to volume "+claim.Spec.VolumeName+" yet")
	default:
		m.bound(claim)
	}
}

// bound has to be where the volume is.
func (m *mounting) bound(claim *corev1.PersistentVolumeClaim) {
	volume := m.Volume(claim.Spec.VolumeName)
	if volume == nil {
		m.waits(claim.Name, "bound to volume "+claim.Spec.VolumeName+", which is not there")
		return
	}
	const to = "bound to a volume of "
	if a := volume.Spec.NodeAffinity; a != nil && a.Required != nil {
		if terms, anywhere := byLabels(a.Required.NodeSelectorTerms); !anywhere {
			m.pin(named(claim), to+where(terms), terms)
		}
	}
	for _, key := range VolumeLabels() {
		if value := volume.Labels[key[0]]; value != "" {
			is, terms := labelled(key, value)
			m.pin(named(claim), to+is, terms)
		}
	}
}

func (m *mounting) pin(name, is string, terms []demand.NodeTerm) {
	m.Pins = append(m.Pins, demand.Pin{Name: name, Is: is, Terms: terms})
}

func named(claim *corev1.PersistentVolumeClaim) string { return "volume claim " + claim.Name }

// byLabels is the terms as the scheduler reads them for volumes: nodes have no names
// there, and what is said of these is passed over. A term of nothing else is met anywhere.
func byLabels(from []corev1.NodeSelectorTerm) (terms []demand.NodeTerm, anywhere bool) {
	terms = nodeTerms(from)
	for i := range terms {
		terms[i].Fields = nil
		anywhere = anywhere || len(terms[i].Labels) == 0
	}
	return terms, anywhere
}

// labelled is where a volume is by one of its own labels, which may have several values. A
// node with none of these labels is in the only zone there is.
func labelled(key [2]string, value string) (string, []demand.NodeTerm) {
	in := demand.NodeRequirement{Key: key[0], Operator: string(corev1.NodeSelectorOpIn), Values: strings.Split(value, "__")}
	missing := func(key string) demand.NodeRequirement {
		return demand.NodeRequirement{Key: key, Operator: string(corev1.NodeSelectorOpDoesNotExist)}
	}
	var none demand.NodeTerm
	for _, k := range VolumeLabels() {
		none.Labels = append(none.Labels, missing(k[0]))
	}
	terms := []demand.NodeTerm{{Labels: []demand.NodeRequirement{in}}, none}
	if key[1] != "" {
		newer := in
		newer.Key = key[1]
		terms = append(terms, demand.NodeTerm{Labels: []demand.NodeRequirement{missing(key[0]), newer}})
	}
	return says(in), terms
}

// unbound is a claim for a volume that somebody is still to find or to make.
func (m *mounting) unbound(as string, claim *corev1.PersistentVolumeClaim) {
	name, set := claim.Annotations[corev1.BetaStorageClassAnnotation]
	if !set && claim.Spec.StorageClassName != nil {
		name = *claim.Spec.StorageClassName
	}
	if name == "" {
		m.waits(claim.Name, "not bound to a volume yet")
		return
	}
	class := m.Class(name)
	switch {
	case class == nil:
		m.waits(claim.Name, "not bound to a volume yet, and its StorageClass "+name+" not found")
	case !delayed(class):
		m.waits(claim.Name, "not bound to a volume yet")
	case m.userOf(claim.Name) != "": // where its pods go is where the volume will be
		m.waits(claim.Name, "not bound to a volume yet; "+m.userOf(claim.Name)+" is about to have that done")
	default:
		m.toCome(as, named(claim), class)
		if node := claim.Annotations[annotationSelected]; node != "" {
			there := demand.NodeRequirement{Key: metav1.ObjectNameField, Operator: string(corev1.NodeSelectorOpIn), Values: []string{node}}
			m.pin(named(claim), "getting a volume for node "+node, []demand.NodeTerm{{Fields: []demand.NodeRequirement{there}}})
		}
	}
}

func delayed(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// toCome is a volume that is found or made once there is a pod.
func (m *mounting) toCome(as, name string, class *storagev1.StorageClass) {
	m.Unverified = append(m.Unverified, as)
	if len(class.AllowedTopologies) == 0 || class.Provisioner == noProvisioner {
		return
	}
	terms := allowedBy(class)
	m.pin(name, "to get a volume of "+where(terms), terms)
}

// allowedBy is where volumes of a class may be made.
func allowedBy(class *storagev1.StorageClass) []demand.NodeTerm {
	terms := []demand.NodeTerm{}
	for _, t := range class.AllowedTopologies {
		var term demand.NodeTerm
		for _, r := range t.MatchLabelExpressions {
			term.Labels = append(term.Labels, demand.NodeRequirement{Key: r.Key, Operator: string(corev1.NodeSelectorOpIn), Values: r.Values})
		}
		if len(term.Labels) > 0 {
			terms = append(terms, term)
		}
	}
	return terms
}

// ephemeral is a volume that each pod gets for itself.
func (m *mounting) ephemeral(as string, template *corev1.PersistentVolumeClaimTemplate) {
	if template == nil || template.Spec.StorageClassName == nil || *template.Spec.StorageClassName == "" {
		m.Unverified = append(m.Unverified, as) // the default class, or a volume that is there
		return
	}
	name := *template.Spec.StorageClassName
	class := m.Class(name)
	if class == nil {
		m.problem(reason.NoStorageClass(as, name))
		return
	}
	m.toCome(as, "volume "+as, class)
}

// wheresMax is how many terms are written out.
const wheresMax = 3

// where terms mean, for people.
func where(terms []demand.NodeTerm) string {
	var places []string
	for i, t := range terms {
		if i == wheresMax {
			places = append(places, fmt.Sprintf("%d other places", len(terms)-i))
			break
		}
		var all []string
		for _, r := range slices.Concat(t.Labels, t.Fields) {
			all = append(all, says(r))
		}
		places = append(places, strings.Join(all, ","))
	}
	if places == nil {
		return "no node"
	}
	return strings.Join(places, " or ")
}
