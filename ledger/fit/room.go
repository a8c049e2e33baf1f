package fit

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Room is free amounts on the nodes: those of right now, or a copy in which
// somebody tries things out.
type Room struct {
	nodes *Nodes
	free  []int64 // rows × stride
	// log has the rows that changed, in order; what lies before start is
	// forgotten, and a count that old is made again.
	log   []int32
	start uint64
	cache map[*Shape]*slotTable
	base  *Room             // what this is a copy of
	given map[int32][]int64 // of a copy: what was given back, by row
}

// slotTable is how many pods of one shape each row has room for.
type slotTable struct {
	at     uint64 // how much of the log it has seen
	rows   []int64
	total  int64
	splits []*split
	survey survey
	blocks []survey // that it is joined of
}

// set notes how many pods a row has room for.
func (t *slotTable) set(i int32, slots int64) {
	for int(i) >= len(t.rows) {
		t.rows = append(t.rows, 0)
	}
	was := t.rows[i]
	t.total += slots - was
	t.rows[i] = slots
	if t.survey.known = false; int(i/64) < len(t.blocks) {
		t.blocks[i/64].known = false
	}
	for _, p := range t.splits {
		p.set(i, was, slots)
	}
}

// Copy returns a room to try things out in. It is good until the nodes change or
// a resource is named for the first time.
func (r *Room) Copy() *Room { return r.CopyOver(nil) }

// CopyOver is Copy, in the memory of a copy that nobody needs any more, if there is one.
func (r *Room) CopyOver(old *Room) *Room {
	var free []int64
	if old != nil {
		free = old.free[:0]
	}
	return &Room{nodes: r.nodes, free: append(free, r.free...), cache: map[*Shape]*slotTable{}, base: r}
}

// Give takes a pod off a node of a copy, or puts it back with sign -1.
func (r *Room) Give(node string, v *Vector, sign int64) {
	i, ok := r.nodes.byName[node]
	if !ok {
		return
	}
	if r.given == nil {
		r.given = map[int32][]int64{}
	}
	back := r.given[i]
	if back == nil {
		back = make([]int64, r.nodes.stride)
		r.given[i] = back
	}
	give := func(res int32, n int64) {
		back[res] += sign * n
		if r.nodes.rows[i].open {
			k := int(i)*r.nodes.stride + int(res)
			r.free[k] = max(0, r.nodes.alloc[k]-r.nodes.held[k]+back[res])
		}
	}
	for _, a := range v.amounts {
		give(a.res, a.n)
		for res, lent := range r.nodes.rows[i].lent {
			if lent > 0 && r.nodes.extended[res] == a.res { // given out of what came back
				give(res, a.n)
			}
		}
	}
	r.mark(i)
}

func (r *Room) mark(i int32) {
	if len(r.log) >= 2*len(r.nodes.rows)+1024 {
		half := len(r.log) / 2
		r.log = append(r.log[:0], r.log[half:]...)
		r.start += uint64(half)
	}
	r.log = append(r.log, i)
}

func (r *Room) now() uint64 { return r.start + uint64(len(r.log)) }

// Slots is how many pods of the shape fit in all, one Job's worth beside
// another: the sum over nodes.
func (r *Room) Slots(s *Shape) int64 { return r.table(s).total }

// table is the up-to-date count for a shape.
func (r *Room) table(s *Shape) *slotTable {
	t := r.cache[s]
	switch {
	case t == nil:
		t = r.newTable(s)
		r.cache[s] = t
	case t.at < r.start:
		r.recount(s, t)
	}
	for _, i := range r.log[t.at-r.start:] {
		t.set(i, r.count(s, i))
	}
	t.at = r.now()
	return t
}

func (r *Room) newTable(s *Shape) *slotTable {
	if r.base == nil {
		t := &slotTable{}
		r.recount(s, t)
		return t
	}
	from := r.base.table(s)
	t := &slotTable{rows: slices.Clone(from.rows), total: from.total, at: r.start}
	return t
}

func (r *Room) recount(s *Shape, t *slotTable) {
	t.rows = slices.Grow(t.rows[:0], len(r.nodes.rows))[:len(r.nodes.rows)]
	clear(t.rows)
	t.total = 0
	for i := range r.nodes.mayRun(s) {
		t.rows[i] = r.count(s, i)
		t.total += t.rows[i]
	}
	for _, p := range t.splits {
		p.recount(t)
	}
	t.at = r.now()
	t.survey.known = false
	for b := range t.blocks {
		t.blocks[b].known = false
	}
}

// count is slots(node) = min over resources of floor(free/request), and at most
// what one node takes whatever its resources.
func (r *Room) count(s *Shape, i int32) int64 {
	if !s.matches(i) {
		return 0
	}
	most := slotsMax
	if s.perNode > 0 {
		most = min(most, s.perNode)
	}
	free := r.free[int(i)*r.nodes.stride:]
	for _, res := range s.clear {
		if free[res] < resource.Whole {
			return 0
		}
	}
	for _, a := range s.req { // before there is anything to divide
		if free[a.res] < a.n {
			return 0
		}
	}
	for _, a := range s.req {
		most = min(most, free[a.res]/a.n)
	}
	return most
}

// take uses up room for pods of a shape in a row.
func (r *Room) take(s *Shape, i int32, pods int64) {
	free := r.free[int(i)*r.nodes.stride:]
	for _, a := range s.req {
		free[a.res] = max(0, free[a.res]-pods*a.n)
		for _, cost := range r.nodes.costs[a.res] {
			free[cost.res] = max(0, resource.Sub(free[cost.res], resource.Mul(pods*a.n, cost.n)))
		}
	}
	r.mark(i)
}
