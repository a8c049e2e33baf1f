package dra

import (
	"cmp"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
)

// kept is how many answers are remembered of one want before they are all forgotten.
const kept = 4096

// find counts one row of one node.
func (s *State) find(n *node, w *want) finding {
	v := s.viewOf(n)
	for _, r := range w.requests {
		if r.match.missing != "" {
			return finding{err: r.match.missing}
		}
	}
	if v.doubtful {
		if err := s.complaint(n, w, v); err != "" {
			return finding{err: err}
		}
		if !w.set || !v.plain {
			return finding{}
		}
	}
	if w.set && v.plain {
		if found, sure := s.tally(n, w.requests[0], v); sure || v.doubtful {
			return found
		}
	}
	// With nothing in use, an expression may fail on a device that the scheduler
	// does not come to as it is. That is no reason to hold anybody back.
	total, _ := s.slotsOf(n, w, v, nil)
	free, err := s.slotsOf(n, w, v, n.busy)
	found := finding{total: total, free: free}
	if err != nil {
		found.err = cmp.Or(s.failing(n, w, v), err.Error())
	}
	return found
}

func nobody(*device) bool { return false }

// busy devices are in use, or will be as soon as the claims of pods are seen.
func (n *node) busy(d *device) bool { return d.use.whole > 0 || n.virtual[d.use] }

// tally counts devices of one kind where nothing but their number matters. It is not
// sure of one that was for several once, and that claims still have parts of: such a
// one counts as in use.
func (s *State) tally(n *node, r *request, v *view) (found finding, sure bool) {
	sure = true
	for _, d := range v.devices {
		verdict := r.match.on(d.kind, s.expressions)
		switch {
		case verdict.err != "":
			if !n.busy(d) && found.err == "" {
				found.err = verdict.err
			}
		case verdict.yes && !keepsOff(d.spec, r.tolerations):
			found.total++
			switch {
			case n.busy(d):
			case len(d.use.shares) > 0:
				sure = false
			default:
				found.free++
			}
		}
	}
	return found, sure
}

// complaint is why the scheduler may give a pod up that it tries on a node with
// devices of doubtful pools.
func (s *State) complaint(n *node, w *want, v *view) string {
	if w.all {
		return fmt.Sprintf("all devices are asked for, and what node %s could have of a pool that several nodes share can't be counted", n.name)
	}
	return s.failing(n, w, v)
}

// failing is what an expression says that fails on a device that is not in use.
func (s *State) failing(n *node, w *want, v *view) string {
	for _, list := range [][]*device{v.devices, v.foreign} {
		for _, d := range list {
			for _, r := range w.requests {
				if verdict := r.match.on(d.kind, s.expressions); verdict.err != "" && !n.busy(d) {
					return verdict.err
				}
			}
		}
	}
	return ""
}

// slotsOf asks the allocator, unless it was asked before about a node that looks the
// same. Without busy it is asked as if nothing were in use.
func (s *State) slotsOf(n *node, w *want, v *view, busy func(*device) bool) (int64, error) {
	empty := busy == nil
	if empty {
		busy = nobody
	}
	limit := s.limit(w, v, busy)
	if limit == 0 {
		return 0, nil
	}
	key, known := s.key(w, v, busy)
	if slots, found := w.memo[key]; known && found {
		return slots, nil
	}
	at := s.siteOf(n, v, busy)
	if !empty {
		addShares(&at, n, v)
	}
	slots, err := s.slots(at, w.claims, limit)
	if known && err == nil {
		if len(w.memo) >= kept {
			clear(w.memo)
		}
		w.memo[key] = slots
	}
	return slots, err
}

// limit is how often claims can be met at the most, by the number of devices that
// each request could have. It spares the search that has to try everything before it
// says no. Where an expression fails or all devices are asked for, the
// search is not spared: it may end in an error.
func (s *State) limit(w *want, v *view, busy func(*device) bool) int64 {
	if w.all || w.sizes || v.many {
		return most
	}
	limit := int64(most)
	for _, r := range w.requests {
		usable := int64(0)
		for _, d := range v.devices {
			if busy(d) {
				continue
			}
			verdict := r.match.on(d.kind, s.expressions)
			if verdict.err != "" {
				return most
			}
			if verdict.yes && !keepsOff(d.spec, r.tolerations) {
				usable++
			}
		}
		if r.count > 0 {
			limit = min(limit, usable/r.count)
		}
	}
	return limit
}

// siteOf is the node with all slices of its pools: those of other nodes tell whether
// a pool is complete.
func (s *State) siteOf(n *node, v *view, busy func(*device) bool) site {
	at := site{node: n.object, state: nothingInUse()}
	for _, p := range v.parts {
		for _, l := range p.pool.slices {
			at.slices = append(at.slices, l.tainted)
		}
		for _, l := range p.slices {
			for i := range l.devices {
				if d := &l.devices[i]; busy(d) {
					at.state.AllocatedDevices.Insert(l.id(d))
				}
			}
		}
	}
	return at
}

// addShares adds what is in use of devices that several claims may have.
func addShares(at *site, n *node, v *view) {
	for _, d := range v.devices {
		for _, result := range d.use.shares {
			takeOne(&at.state, result)
		}
	}
	take(&at.state, n.standing)
}

// key is all that the allocator's answer depends on.
func (s *State) key(w *want, v *view, busy func(*device) bool) (string, bool) {
	if v.many || w.sizes {
		return "", false
	}
	var b []byte
	for i := range v.parts {
		p := &v.parts[i]
		b = append(b, 'P', mark(p.whole), mark(p.binds))
		if !p.whole {
			continue
		}
		for _, l := range p.slices {
			b = appendText(append(b, 'S'), l.offers)
			for j := range l.devices {
				d := &l.devices[j]
				if len(d.use.shares) > 0 { // of one that was for several once
					return "", false
				}
				b = append(appendText(append(b, 'D'), d.eats), mark(busy(d)))
				var fine bool
				if b, fine = s.appendMatches(b, w, d); !fine {
					return "", false
				}
			}
		}
	}
	return string(b), true
}

func (s *State) appendMatches(b []byte, w *want, d *device) ([]byte, bool) {
	for _, r := range w.requests {
		verdict := r.match.on(d.kind, s.expressions)
		if verdict.err != "" {
			return nil, false
		}
		b = append(b, mark(verdict.yes), mark(keepsOff(d.spec, r.tolerations)))
	}
	for _, name := range w.agree {
		value, found := attributeOf(d, name)
		b = append(b, mark(found))
		if found {
			b = appendAttribute(b, &value)
		}
	}
	return b, true
}

func mark(yes bool) byte {
	if yes {
		return '+'
	}
	return '-'
}

// claimsFor is what the allocator is asked to allocate.
func claimsFor(specs []resourceapi.ResourceClaimSpec) []*resourceapi.ResourceClaim {
	list := make([]*resourceapi.ResourceClaim, 0, len(specs))
	for i := range specs {
		list = append(list, &resourceapi.ResourceClaim{Spec: specs[i]})
	}
	return list
}
