package fit

// Stock is what the nodes have of a resource where a shape may run, whatever
// state they are in.
type Stock struct {
	Allocatable int64 // on nodes that are ready and open
	Unhealthy   int64 // on others, and devices out of order
	Held        int64
}

// Stock sums up one resource over the nodes that may run the shape, now or when
// they are back.
func (n *Nodes) Stock(s *Shape, name string) Stock {
	var t Stock
	res, ok := n.index[name]
	if !ok {
		return t
	}
	for i := range n.rows {
		r := &n.rows[i]
		if !s.matchesEver(int32(i)) || r.coming() {
			continue
		}
		at := i*n.stride + int(res)
		now := n.alloc[at]
		if !s.matches(int32(i)) {
			now = 0
		}
		t.Allocatable += now
		t.Unhealthy += n.whole[at] - now
		t.Held += n.held[at]
	}
	return t
}
