package dra

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Gives is how much more of each row is free on its node once a bound pod is gone, and
// its own claims with it. known is false until all its claims are seen.
//
// Where only the number of devices matters, each of them counts for every row that it
// matches, so that this adds up over pods. Elsewhere what a pod leaves is known of the
// row alone that it was counted in itself: others may find more.
func (s *State) Gives(uid types.UID) (rows resource.List, known bool) {
	pod, bound := s.pods[uid]
	if !bound || len(s.reserved[uid]) < len(pod.Claims) {
		return nil, false
	}
	rows = resource.List{}
	n := s.node(pod.Node)
	v := s.viewOf(n)
	if v.doubtful {
		return rows, true
	}
	left := s.leaves(uid)
	if row, units, set := pod.inRow(); len(left) > 0 && !s.shares(uid) && (!set || !v.plain) {
		rows[row] = units
	}
	if v.plain {
		s.addMatching(rows, slices.DeleteFunc(slices.Clone(v.devices), func(d *device) bool { return !left[d.use] || d.use.whole != 1 }))
	}
	return rows, true
}

// addMatching counts devices for every row of devices that they match.
func (s *State) addMatching(rows resource.List, devices []*device) {
	for _, w := range s.inOrder {
		if !w.set {
			continue
		}
		r := w.requests[0]
		for _, d := range devices {
			if verdict := r.match.on(d.kind, s.expressions); verdict.yes && verdict.err == "" && !keepsOff(d.spec, r.tolerations) {
				rows[w.name]++
			}
		}
	}
}

// leaves is what is in use by claims that are reserved for a pod alone.
func (s *State) leaves(uid types.UID) map[*use]bool {
	left := map[*use]bool{}
	for claim := range s.reserved[uid] {
		if len(claim.Status.ReservedFor) > 1 {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			one := &claim.Status.Allocation.Devices.Results[i]
			if p := s.pools[poolID{one.Driver, one.Pool}]; p != nil && one.ShareID == nil && !deref(one.AdminAccess) {
				left[p.use(one.Device)] = true
			}
		}
	}
	return left
}

// shares tells whether others have a claim of the pod, too.
func (s *State) shares(uid types.UID) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.reserved[uid])), func(claim *resourceapi.ResourceClaim) bool {
		return len(claim.Status.ReservedFor) > 1
	})
}
