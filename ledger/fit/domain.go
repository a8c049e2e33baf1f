package fit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Domain is the nodes that have the same value of a label, and how many pods of a
// shape they have room for.
type Domain struct {
	Name  string
	Slots int64
}

// Holding is the domains of a level that have room for so many pods of a shape wherever
// the others land, as Left has it; the one first that has the least room beyond that,
// of equals the first by name: so big holes stay whole.
func (r *Room) Holding(s *Shape, key string, pods int64, others []Promise) []Domain {
	l := r.nodes.level(key)
	t, p := r.splitOf(s, l)
	if t.total < pods || pods <= 0 {
		return nil
	}
	others = r.near(s, others)
	var found []Domain
	for id, slots := range p.total {
		if slots < pods {
			continue
		}
		left := slots
		if len(others) > 0 {
			left = r.leftIn(s, t, l.rows[id], slots, others)
		}
		if left >= pods {
			found = append(found, Domain{l.names[id], left})
		}
	}
	slices.SortFunc(found, func(a, b Domain) int { return cmp.Or(cmp.Compare(a.Slots, b.Slots), strings.Compare(a.Name, b.Name)) })
	return found
}

// near are promises that could land where the shape may.
func (r *Room) near(s *Shape, others []Promise) []Promise {
	var near []Promise
	for _, o := range others {
		if o.Pods <= 0 {
			continue
		}
		if r.Slots(o.Shape); o.Shape == s || s.overlaps(o.Shape.where) {
			near = append(near, o)
		}
	}
	return near
}

// leftIn is Left for the rows of one domain.
func (r *Room) leftIn(s *Shape, t *slotTable, rows []int32, slots int64, others []Promise) int64 {
	var u survey
	u.begin(s)
	for _, i := range rows {
		if s.matches(i) {
			u.add(s, r.free[int(i)*r.nodes.stride:], t.rows[i])
		}
	}
	var here []Promise
	for _, o := range others {
		if slices.ContainsFunc(rows, func(i int32) bool { return s.matches(i) && o.Shape.matches(i) }) {
			here = append(here, o)
		}
	}
	scarce := u.scarce(s, here)
	for _, o := range here {
		slots = resource.Sub(slots, resource.Mul(loss(o.Shape, s, scarce, u.largest), o.Pods))
	}
	return slots
}

// Domains is how the room for a shape lies in the domains of a level.
type Domains struct {
	Count   int   // that have nodes which may run the shape
	Slots   int64 // in all of them
	Largest Domain
}

// Domains is how the room for a shape lies now.
func (r *Room) Domains(s *Shape, key string) Domains {
	l := r.nodes.level(key)
	_, p := r.splitOf(s, l)
	return l.lie(func(id int) (int64, bool) {
		slots := int64(0)
		if id < len(p.total) {
			slots = p.total[id]
		}
		return slots, slots > 0 || slices.ContainsFunc(l.rows[id], s.matches)
	})
}

// EmptyDomains is how it would if nothing ran and all nodes were in order, as Empty
// has it.
func (n *Nodes) EmptyDomains(s *Shape, key string) Domains {
	l := n.level(key)
	return l.lie(func(id int) (slots int64, matches bool) {
		for _, i := range l.rows[id] {
			if s.matchesEver(i) {
				slots, matches = slots+n.slotsOf(s, n.whole[int(i)*n.stride:]), true
			}
		}
		return slots, matches
	})
}

func (l *level) lie(of func(id int) (slots int64, matches bool)) Domains {
	var all Domains
	for id, name := range l.names {
		slots, matches := of(id)
		if !matches {
			continue
		}
		all.Count++
		all.Slots += slots
		if best := &all.Largest; best.Name == "" || slots > best.Slots || slots == best.Slots && name < best.Name {
			*best = Domain{name, slots}
		}
	}
	return all
}
