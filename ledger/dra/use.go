package dra

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SetClaim is a new or changed ResourceClaim. It holds what its allocation says until
// that is gone, whoever it is reserved for, and whether it is being deleted or not.
func (s *State) SetClaim(claim *resourceapi.ResourceClaim) {
	old := s.claims[claim.UID]
	if old == claim {
		return
	}
	s.claims[claim.UID] = claim
	s.charge(claim, 1)
	if old != nil {
		s.charge(old, -1)
	}
}

// DeleteClaim forgets one. Claims are known by their UID: a name may be used again.
func (s *State) DeleteClaim(uid types.UID) {
	if old := s.claims[uid]; old != nil {
		delete(s.claims, uid)
		s.charge(old, -1)
	}
}

// charge adds what a claim holds to what is in use, or takes it away again.
func (s *State) charge(claim *resourceapi.ResourceClaim, by int) {
	if claim.Status.Allocation == nil {
		return
	}
	for i := range claim.Status.Allocation.Devices.Results {
		s.chargeOne(share{claim.UID, i}, &claim.Status.Allocation.Devices.Results[i], by)
	}
	for i := range claim.Status.ReservedFor {
		uid := claim.Status.ReservedFor[i].UID
		s.reserve(uid, claim, by > 0)
		if pod, bound := s.pods[uid]; bound { // nothing stands in for it any more
			s.dirty[s.node(pod.Node)] = true
		}
	}
}

func (s *State) reserve(pod types.UID, claim *resourceapi.ResourceClaim, yes bool) {
	claims := s.reserved[pod]
	switch {
	case !yes:
		if delete(claims, claim); len(claims) == 0 {
			delete(s.reserved, pod)
		}
	case claims == nil:
		s.reserved[pod] = map[*resourceapi.ResourceClaim]bool{claim: true}
	default:
		claims[claim] = true
	}
}

func (s *State) chargeOne(by share, result *resourceapi.DeviceRequestAllocationResult, n int) {
	if result.AdminAccess != nil && *result.AdminAccess {
		return
	}
	p := s.pool(poolID{result.Driver, result.Pool})
	u := p.use(result.Device)
	switch {
	case result.ShareID == nil:
		u.whole += n
	case n > 0:
		if u.shares == nil {
			u.shares = map[share]*resourceapi.DeviceRequestAllocationResult{}
		}
		u.shares[by] = result
	case u.shares[by] == result: // else a newer one is there already
		delete(u.shares, by)
	}
	if !p.used(s, result.Device) && u.none() {
		delete(p.uses, result.Device)
		p.tidy(s)
	}
}

// used has the nodes counted again that have the device, and tells whether there is
// one.
func (p *pool) used(s *State, name string) bool {
	found := false
	for _, l := range p.slices {
		for i := range l.devices {
			if l.devices[i].spec.Name != name {
				continue
			}
			found = true
			if l.node != "" { // those of no node count as nothing
				s.dirty[s.node(l.node)] = true
			}
		}
	}
	return found
}
