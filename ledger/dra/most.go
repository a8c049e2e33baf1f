package dra

import resourceapi "k8s.io/api/resource/v1"

// Most is how many devices of a kind the node has that has most of them, in use or
// not: what a request for all of them may come to.
func (s *State) Most(kind *resourceapi.DeviceSubRequest) int64 {
	r := &request{class: kind.DeviceClassName, selectors: kind.Selectors, tolerations: kind.Tolerations}
	r.match = newMatcher(s.classes[r.class], r, s.expressions)
	defer func() { r.match.gone = true }()
	most := int64(0)
	for _, n := range s.nodes {
		if !n.seen {
			continue
		}
		count := int64(0)
		for _, d := range s.viewOf(n).devices {
			if r.match.on(d.kind, s.expressions).yes {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}
