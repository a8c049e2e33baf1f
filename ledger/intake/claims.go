package intake

import (
	"cmp"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// Claimed is what the claims of one pod come to.
type Claimed struct {
	// Charged is by the names that quotas have.
	Charged amounts.List
	// Devices are the units of a row, see demand.Place.
	Devices amounts.List
	// Made is the claims that are made of templates, as ResourceQuotas count them.
	Made demand.Claims
	// Pins are where devices are that are allocated already.
	Pins []demand.Pin
	// Together: all pods of the Job share them, and nobody has them yet, so that they
	// are for all of these at once.
	Together bool
	// Problem is why they can't be counted.
	Problem *reason.Reason
}

// Claims is where claims are looked up. A function returns nil for what is not there.
type Claims struct {
	Template func(namespace, name string) *resourceapi.ResourceClaimTemplate
	Claim    func(namespace, name string) *resourceapi.ResourceClaim
	Class    func(name string) *resourceapi.DeviceClass
	// User is another Job that was let go, by namespace and name, and names a claim as well;
	// empty: none. A nil function finds nothing.
	User func(namespace, name string) string
	// Extended is the class of which a node gives devices to containers that ask for a
	// resource, if it has no device plugin for that.
	Extended func(name string) *resourceapi.DeviceClass
	// Most is how many devices of a kind the node has that has most of them; nil: nobody knows.
	Most func(kind *resourceapi.DeviceSubRequest) int64
	// Row is what devices for these claims are counted in, how many units of it one pod
	// takes, and why it is of no use if it is; nil: they are only charged.
	Row func(specs []resourceapi.ResourceClaimSpec) (name string, units int64, problem string)
	// Name is the same of a pod that has its devices, which nobody has to count for it.
	Name func(specs []resourceapi.ResourceClaimSpec) (name string, units int64)
}

// OfJob is what the claims of a Job's pods come to.
func (c *Claims) OfJob(job *batchv1.Job) Claimed {
	r := reading{Claims: c, namespace: job.Namespace}
	claims := job.Spec.Template.Spec.ResourceClaims
	for i := range claims {
		one := &claims[i]
		switch {
		case one.ResourceClaimTemplateName != nil:
			r.fromTemplate(one.Name, *one.ResourceClaimTemplateName)
		case one.ResourceClaimName != nil:
			r.fromClaim(one.Name, *one.ResourceClaimName, wantActive(job))
		default:
			r.problem(reason.UncountableClaim(one.Name, "it names neither a ResourceClaim nor a template of one"))
		}
	}
	if r.Together && len(r.own) > 0 {
		r.problem(reason.UncountableClaim(r.shared, "several pods of the Job share it, which is not allocated yet, and have devices of their own besides"))
	}
	r.row()
	r.Made = r.made.claims()
	return r.Claimed
}

// OfPod adds to a pod what its claims come to, and returns what they ask for as far as
// that is known. What is wrong with a live pod's claims changes nothing: it is there,
// and charged as much as can be counted. Of the pods that share a claim one is charged.
func (c *Claims) OfPod(to *supply.Pod, pod *corev1.Pod) []resourceapi.ResourceClaimSpec {
	r := reading{Claims: c, namespace: pod.Namespace}
	all := r.ofPod(pod)
	given := c.extended(to, pod, &all)
	to.Terms.Claims, to.Terms.Drawn = r.made.claims(), strings.Join(given.Names(), ",")
	for name, n := range r.Charged {
		to.Requests[name] = amounts.Add(to.Requests[name], n)
	}
	to.Place.Claimed = r.Charged
	if len(given) > 0 {
		to.Place.Claimed = given.Times(1)
		to.Place.Claimed.AddTo(r.Charged, 1)
	}
	if to.Node == "" {
		r.row()
		to.Place.Pins = r.Pins
	} else if r.Name != nil && len(r.own) > 0 {
		name, units := r.Name(r.own)
		r.Devices = amounts.List{name: units}
	}
	if to.Place.Devices = r.Devices; to.Node != "" && len(given) > 0 {
		to.Place.Devices = given
		to.Place.Devices.AddTo(r.Devices, 1)
	}
	return all
}

// extended is what a pod was given of extended resources by a claim that the scheduler
// made for it, which is added to its claims.
func (c *Claims) extended(to *supply.Pod, pod *corev1.Pod, all *[]resourceapi.ResourceClaimSpec) amounts.List {
	made := pod.Status.ExtendedResourceClaimStatus
	if made == nil {
		return nil
	}
	given := amounts.List{}
	for _, m := range made.RequestMappings {
		if n := to.Requests[m.ResourceName]; n > 0 {
			given[m.ResourceName] = n
		}
	}
	if claim := c.Claim(pod.Namespace, made.ResourceClaimName); claim != nil {
		*all = append(*all, claim.Spec)
		return given
	}
	var spec resourceapi.ResourceClaimSpec // as long as it is not seen
	for _, name := range given.Names() {
		if class := c.Extended(name); class != nil {
			spec.Devices.Requests = append(spec.Devices.Requests, resourceapi.DeviceRequest{
				Name:    fmt.Sprintf("container-%d", len(spec.Devices.Requests)),
				Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class.Name, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: given[name]},
			})
		}
	}
	if len(spec.Devices.Requests) > 0 {
		*all = append(*all, spec)
	}
	return given
}

// FirstUser is the pod that is charged for a claim which pods may share.
func FirstUser(claim *resourceapi.ResourceClaim) types.UID {
	if claim.Status.Allocation == nil || len(claim.Status.ReservedFor) == 0 {
		return "nobody"
	}
	return claim.Status.ReservedFor[0].UID
}

// ClaimName is the claim that a pod has by one of its names for them; empty if it is
// not made yet.
func ClaimName(pod *corev1.Pod, one *corev1.PodResourceClaim) string {
	if one.ResourceClaimName != nil {
		return *one.ResourceClaimName
	}
	for _, made := range pod.Status.ResourceClaimStatuses {
		if made.Name == one.Name && made.ResourceClaimName != nil {
			return *made.ResourceClaimName
		}
	}
	return ""
}

// reading goes over the claims of one pod.
type reading struct {
	*Claims
	Claimed
	namespace string
	specs     []resourceapi.ResourceClaimSpec // of what is not allocated yet
	first     string                          // the name of the first of these
	own       []resourceapi.ResourceClaimSpec // that go with the pod
	made      made
	shared    string // the first that several pods share, by the pod's name for it
}

// ofPod goes over the claims of a pod that is there, and returns what they ask for.
func (r *reading) ofPod(pod *corev1.Pod) (all []resourceapi.ResourceClaimSpec) {
	for i := range pod.Spec.ResourceClaims {
		one := &pod.Spec.ResourceClaims[i]
		name := ClaimName(pod, one)
		claim := r.Claim(pod.Namespace, name)
		switch {
		case name != "" && claim != nil:
			all = append(all, claim.Spec)
			if one.ResourceClaimName == nil {
				r.own = append(r.own, claim.Spec)
				r.made.add(&claim.Spec)
			}
			if one.ResourceClaimName == nil || FirstUser(claim) == pod.UID {
				r.charge(one.Name, &claim.Spec)
			}
			r.wants(one.Name, claim)
		case one.ResourceClaimTemplateName != nil:
			if template := r.Template(pod.Namespace, *one.ResourceClaimTemplateName); template != nil {
				all = append(all, template.Spec.Spec)
				r.charge(one.Name, &template.Spec.Spec)
				r.own = append(r.own, template.Spec.Spec)
				r.made.add(&template.Spec.Spec)
				r.want(one.Name, template.Spec.Spec)
			}
		}
	}
	return all
}

func (r *reading) want(as string, spec resourceapi.ResourceClaimSpec) {
	if len(r.specs) == 0 {
		r.first = as
	}
	r.specs = append(r.specs, spec)
}

func (r *reading) problem(why reason.Reason) {
	if r.Problem == nil {
		r.Problem = &why
	}
}

func (r *reading) fromTemplate(as, name string) {
	template := r.Template(r.namespace, name)
	if template == nil {
		r.problem(reason.MissingClaimTemplate(as, name, r.namespace))
		return
	}
	r.charge(as, &template.Spec.Spec)
	r.made.add(&template.Spec.Spec)
	r.own = append(r.own, template.Spec.Spec)
	r.want(as, template.Spec.Spec)
}

// fromClaim reads a claim that exists by itself, and may be shared. Who has its devices
// already has been charged for them. If nobody has, it is where the first pod goes that
// all others have to go.
func (r *reading) fromClaim(as, name string, pods int64) {
	claim := r.Claim(r.namespace, name)
	switch {
	case claim == nil:
		r.problem(reason.MissingClaim(as, name, r.namespace))
		return
	case claim.DeletionTimestamp != nil:
		r.problem(reason.UncountableClaim(as, "ResourceClaim "+name+" is being deleted"))
		return
	}
	if claim.Status.Allocation == nil {
		r.charge(as, &claim.Spec)
		if pods > 1 && !r.Together {
			r.Together, r.shared = true, as
		}
		if user := r.userOf(name); user != "" {
			r.problem(reason.ClaimOfOther(name, user)) // where its devices will be is where these pods have to go
		}
	}
	r.wants(as, claim)
}

func (r *reading) userOf(claim string) string {
	if r.User == nil {
		return ""
	}
	return r.User(r.namespace, claim)
}

// wants is where the devices of a claim are, or that they have to be found.
func (r *reading) wants(as string, claim *resourceapi.ResourceClaim) {
	at := claim.Status.Allocation
	if at == nil {
		r.want(as, claim.Spec)
	} else if at.NodeSelector != nil {
		terms := nodeTerms(at.NodeSelector.NodeSelectorTerms)
		r.Pins = append(r.Pins, demand.Pin{Name: "resource claim " + as, Is: "allocated on " + where(terms), Terms: terms})
	}
}

func (r *reading) row() {
	if r.Problem != nil || len(r.specs) == 0 || r.Row == nil {
		return
	}
	name, units, problem := r.Row(r.specs)
	r.Devices = amounts.List{name: units}
	if problem != "" {
		r.problem(reason.UncountableClaim(r.first, problem))
	}
}

// charge adds what a claim is charged as.
func (r *reading) charge(as string, spec *resourceapi.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		request := &spec.Devices.Requests[i]
		worst := amounts.List{}
		if one := request.Exactly; one != nil {
			if one.AdminAccess != nil && *one.AdminAccess {
				continue // holds nothing
			}
			worst = r.chargeOne(as, &resourceapi.DeviceSubRequest{
				Name: request.Name, DeviceClassName: one.DeviceClassName, Selectors: one.Selectors, AllocationMode: one.AllocationMode,
				Count: one.Count, Tolerations: one.Tolerations, Capacity: one.Capacity,
			})
		}
		for k := range request.FirstAvailable { // which of them it will be is not known before
			worst = amounts.Max(worst, r.chargeOne(as, &request.FirstAvailable[k]))
		}
		if r.Charged == nil && len(worst) > 0 {
			r.Charged = amounts.List{}
		}
		for name, n := range worst {
			r.Charged[name] = amounts.Add(r.Charged[name], n)
		}
	}
}

func (r *reading) chargeOne(as string, one *resourceapi.DeviceSubRequest) amounts.List {
	class := r.Class(one.DeviceClassName)
	if class == nil {
		r.problem(reason.MissingDeviceClass(as, one.DeviceClassName))
		return nil
	}
	if one.Capacity != nil && len(one.Capacity.Requests) > 0 {
		r.problem(reason.UncountableClaim(as, "request "+one.Name+" asks for a part of a device's capacity"))
	}
	n := one.Count
	switch mode := cmp.Or(one.AllocationMode, resourceapi.DeviceAllocationModeExactCount); {
	case mode == resourceapi.DeviceAllocationModeAll && r.Most != nil:
		n = r.Most(one)
	case mode == resourceapi.DeviceAllocationModeAll:
		n = 0
	case mode != resourceapi.DeviceAllocationModeExactCount:
		r.problem(reason.UncountableClaim(as, "request "+one.Name+" has an allocation mode that is not known: "+string(mode)))
	}
	if n <= 0 {
		return nil
	}
	return amounts.List{ChargedAs(class): n}
}

// ChargedAs is the name by which quotas know the devices of a class: the one by which
// containers may ask for them, too.
func ChargedAs(class *resourceapi.DeviceClass) string {
	if extended := class.Spec.ExtendedResourceName; extended != nil && *extended != "" {
		return *extended
	}
	return resourceapi.ResourceDeviceClassPrefix + class.Name
}
