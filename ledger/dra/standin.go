package dra

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is a bound pod with claims. Pods and claims are watched apart, so a pod may be
// seen on its node before the claim that was allocated for it: then its promise is
// gone, and its devices look free. Until an allocation of each of its claims is seen,
// what the allocator would give it stands in for them.
type Pod struct {
	UID    types.UID
	Node   string
	Claims []resourceapi.ResourceClaimSpec
	// Ghost: it was deleted by force. Its devices are free for all that the API says, and
	// the scheduler may give others any of them next, be there other ones or not.
	Ghost bool
}

// boundPod is a Pod, and how much of which row it takes, once somebody has asked.
type boundPod struct {
	Pod
	row   string
	units int64
	set   bool
}

func (p *boundPod) inRow() (name string, units int64, set bool) {
	if p.row == "" {
		own := newWant(p.Claims)
		p.row, p.units, p.set = own.name, own.units, own.set
	}
	return p.row, p.units, p.set
}

// SetPod is a new or changed bound pod with claims.
func (s *State) SetPod(pod Pod) {
	s.DeletePod(pod.UID)
	s.pods[pod.UID] = &boundPod{Pod: pod}
	n := s.node(pod.Node)
	n.pods[pod.UID] = true
	s.dirty[n] = true
}

// DeletePod forgets one that is gone or terminal. Its claims hold what they have.
func (s *State) DeletePod(uid types.UID) {
	old, known := s.pods[uid]
	if !known {
		return
	}
	delete(s.pods, uid)
	n := s.node(old.Node)
	delete(n.pods, uid)
	s.dirty[n] = true
}

// standIn takes for each pod whose claims are not all seen what the scheduler would
// have given it, from the state as it is seen, in the order of their UIDs.
func (s *State) standIn(n *node) {
	n.virtual, n.standing = nil, nil
	if len(n.pods) > 0 {
		n.virtual = map[*use]bool{}
	}
	for _, uid := range slices.Sorted(maps.Keys(n.pods)) {
		switch pod := s.pods[uid]; {
		case pod.Ghost:
			s.takeAny(n, s.viewOf(n), pod.Pod)
		case len(s.reserved[uid]) < len(pod.Claims):
			s.standInFor(n, pod.Pod)
		}
	}
}

func (s *State) standInFor(n *node, pod Pod) {
	v := s.viewOf(n)
	var results []resourceapi.AllocationResult
	if !v.doubtful {
		at := s.siteOf(n, v, n.busy)
		addShares(&at, n, v)
		if found, err := s.allocate(at, claimsFor(pod.Claims)); err == nil {
			results = found
		}
	}
	if results == nil {
		s.takeAny(n, v, pod)
		return
	}
	n.standing = append(n.standing, results...)
	for i := range results {
		for j := range results[i].Devices.Results {
			one := &results[i].Devices.Results[j]
			if one.ShareID == nil && !deref(one.AdminAccess) {
				n.virtual[s.pool(poolID{one.Driver, one.Pool}).use(one.Device)] = true
			}
		}
	}
}

// takeAny takes all that the pod could have: it is a ghost, or was given something that
// does not look free to us, so nobody knows which devices it has.
func (s *State) takeAny(n *node, v *view, pod Pod) {
	w := newWant(pod.Claims)
	w.resolve(s.allocator)
	defer w.release()
	for _, d := range v.devices {
		for _, r := range w.requests {
			if verdict := r.match.on(d.kind, s.expressions); !r.admin && (verdict.yes || verdict.err != "") {
				n.virtual[d.use] = true
			}
		}
	}
}
