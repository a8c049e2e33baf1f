package dra

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/holdshort/holdshort/ledger/resource"
)

// want is one row that is counted on all nodes.
type want struct {
	name  string
	units int64 // that one pod takes
	refs  int

	claims   []*resourceapi.ResourceClaim // as the allocator is asked for one unit
	requests []*request
	agree    []resourceapi.FullyQualifiedName // attributes that constraints look at
	all      bool                             // asks for all devices of a kind
	sizes    bool                             // asks for so much of a device
	set      bool

	memo   map[string]int64  // by what a node looks like to it
	errors map[string]string // by node
}

// request is one request or one of its alternatives.
type request struct {
	class       string
	selectors   []resourceapi.DeviceSelector
	tolerations []resourceapi.DeviceToleration
	count       int64 // 0: not so many of them, or not surely
	admin       bool  // takes nothing from anybody
	match       *matcher
}

// newWant takes claims apart. Opaque configuration is nothing to the allocator.
func newWant(specs []resourceapi.ResourceClaimSpec) *want {
	w := &want{units: 1, errors: map[string]string{}}
	kept := make([]resourceapi.ResourceClaimSpec, len(specs))
	for i := range specs {
		kept[i] = *specs[i].DeepCopy()
		kept[i].Devices.Config = nil
	}
	if w.set = isSet(kept); w.set {
		one := kept[0].Devices.Requests[0].Exactly
		w.units, one.Count = one.Count, 1
		kept[0].Devices.Requests[0].Name = "set"
	}
	for i := range kept {
		w.claims = append(w.claims, &resourceapi.ResourceClaim{Spec: kept[i]})
		w.read(&kept[i].Devices)
	}
	slices.Sort(w.agree)
	w.agree = slices.Compact(w.agree)
	w.name = w.call(kept)
	return w
}

// call gives a row a name that people can be told, by its classes, and that is its own,
// by a digest of all that is asked for.
func (w *want) call(specs []resourceapi.ResourceClaimSpec) string {
	kind := resource.Kit
	if w.set {
		kind = resource.DeviceSet
	}
	var named []string
	for _, r := range w.requests {
		if !slices.Contains(named, r.class) {
			named = append(named, r.class)
		}
	}
	return kind + strings.Join(named, "+") + "/" + digestOfClaims(specs)
}

// isSet tells whether claims are no more than a number of devices of one kind.
func isSet(specs []resourceapi.ResourceClaimSpec) bool {
	if len(specs) != 1 || len(specs[0].Devices.Requests) != 1 || len(specs[0].Devices.Constraints) > 0 {
		return false
	}
	one := specs[0].Devices.Requests[0].Exactly
	return one != nil && one.AllocationMode == resourceapi.DeviceAllocationModeExactCount &&
		one.Count >= 1 && one.Count <= resourceapi.AllocationResultsMaxSize &&
		!deref(one.AdminAccess) && one.Capacity == nil && len(one.DerivedAttributes) == 0
}

// digestOfClaims is of what they ask for. JSON sorts the keys of maps.
func digestOfClaims(specs []resourceapi.ResourceClaimSpec) string {
	text, err := json.Marshal(specs)
	if err != nil { // plain data: it can always be written
		panic("write claims: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}

func (w *want) read(claim *resourceapi.DeviceClaim) {
	for i := range claim.Requests {
		r := &claim.Requests[i]
		if one := r.Exactly; one != nil {
			w.readOne(&resourceapi.DeviceSubRequest{
				DeviceClassName: one.DeviceClassName, Selectors: one.Selectors, Tolerations: one.Tolerations,
				AllocationMode: one.AllocationMode, Count: one.Count, Capacity: one.Capacity,
			}, !deref(one.AdminAccess))
			w.requests[len(w.requests)-1].admin = deref(one.AdminAccess)
		}
		for j := range r.FirstAvailable {
			w.readOne(&r.FirstAvailable[j], false)
		}
	}
	for _, c := range claim.Constraints {
		for _, name := range []*resourceapi.FullyQualifiedName{c.MatchAttribute, c.DistinctAttribute} {
			if name != nil {
				w.agree = append(w.agree, *name)
			}
		}
	}
}

// readOne keeps the count of a request that must be met with devices of its own.
func (w *want) readOne(r *resourceapi.DeviceSubRequest, sure bool) {
	made := &request{class: r.DeviceClassName, selectors: r.Selectors, tolerations: r.Tolerations}
	w.all = w.all || r.AllocationMode == resourceapi.DeviceAllocationModeAll
	w.sizes = w.sizes || r.Capacity != nil
	if sure && r.AllocationMode == resourceapi.DeviceAllocationModeExactCount && r.Count > 0 {
		made.count = r.Count
	}
	w.requests = append(w.requests, made)
}

func (w *want) mentions(class string) bool {
	return slices.ContainsFunc(w.requests, func(r *request) bool { return r.class == class })
}

// resolve looks the classes up, and forgets what was found with others.
func (w *want) resolve(a allocator) {
	w.memo = map[string]int64{}
	w.release()
	for _, r := range w.requests {
		r.match = newMatcher(a.classes[r.class], r, a.expressions)
	}
}

// release lets kinds forget what was said to this want.
func (w *want) release() {
	for _, r := range w.requests {
		if r.match != nil {
			r.match.gone = true
		}
	}
}
