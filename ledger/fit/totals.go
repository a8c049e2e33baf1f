package fit

import "github.com/holdshort/holdshort/ledger/resource"

// Totals is what the nodes have of a resource, where a shape may run.
type Totals struct{ Allocatable, Held, Free, Largest int64 }

// Totals sums up some resources, counted as one, over the nodes that may run the
// shape.
func (r *Room) Totals(s *Shape, sources ...resource.Rate) Totals {
	r.table(s)
	t := Totals{}
	for i := range r.nodes.rows {
		if !s.matches(int32(i)) || r.nodes.rows[i].coming() {
			continue
		}
		here := int64(0)
		for _, source := range sources {
			res, ok := r.nodes.index[source.Resource]
			if !ok {
				continue
			}
			at := i*r.nodes.stride + int(res)
			t.Allocatable = resource.Add(t.Allocatable, resource.Mul(r.nodes.alloc[at], source.Each))
			t.Held = resource.Add(t.Held, resource.Mul(r.nodes.held[at], source.Each))
			here = resource.Add(here, resource.Mul(r.free[at], source.Each))
		}
		t.Free = resource.Add(t.Free, here)
		t.Largest = max(t.Largest, here)
	}
	return t
}
