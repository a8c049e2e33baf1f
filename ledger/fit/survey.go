package fit

import (
	"math"
	"math/bits"

	"github.com/holdshort/holdshort/ledger/resource"
)

// survey is how what a shape asks for lies on the nodes that may run it, or on some of
// them; made when somebody asks, and kept until something changes there.
type survey struct {
	known   bool
	largest int64 // slots of the best node
	lies    []lie // of each resource of the shape
}

// lie is one resource of a shape.
type lie struct {
	free    int64 // on all nodes
	nodes   int   // on which any is free
	largest int64 // free on one node
	fits    int64 // pods that it is enough for
	// spare is the least that a node with slots has beyond what they need: so
	// much may be used by others without costing a slot anywhere.
	spare int64
}

// surveyOf joins what blocks of rows come to, one for each word of where.now. Only those
// are looked at again in which something has changed.
func (r *Room) surveyOf(s *Shape) *survey {
	t := r.table(s)
	u := &t.survey
	if u.known {
		return u
	}
	u.begin(s)
	if more := len(s.now) - len(t.blocks); more > 0 {
		t.blocks = append(t.blocks, make([]survey, more)...)
	}
	for b, word := range s.now {
		part := &t.blocks[b]
		if !part.known {
			part.begin(s)
			for ; word != 0; word &= word - 1 {
				if i := b*64 + bits.TrailingZeros64(word); i < len(t.rows) {
					part.add(s, r.free[i*r.nodes.stride:], t.rows[i])
				}
			}
		}
		u.join(part)
	}
	return u
}

func (u *survey) begin(s *Shape) {
	u.known, u.largest = true, 0
	if u.lies == nil {
		u.lies = make([]lie, len(s.req))
	}
	for k := range u.lies {
		u.lies[k] = lie{spare: math.MaxInt64}
	}
}

// add counts one more row.
func (u *survey) add(s *Shape, free []int64, slots int64) {
	u.largest = max(u.largest, slots)
	for k, a := range s.req {
		l, n := &u.lies[k], free[a.res]
		if n == 0 {
			continue
		}
		l.free += n
		l.nodes++
		l.largest = max(l.largest, n)
		if n >= a.n {
			l.fits += n / a.n
		}
		if slots > 0 {
			l.spare = min(l.spare, n-slots*a.n)
		}
	}
}

// join counts the rows of another one.
func (u *survey) join(other *survey) {
	u.largest = max(u.largest, other.largest)
	for k := range u.lies {
		l, o := &u.lies[k], &other.lies[k]
		l.free += o.free
		l.nodes += o.nodes
		l.largest = max(l.largest, o.largest)
		l.fits += o.fits
		l.spare = min(l.spare, o.spare)
	}
}

// Shortage says of which resource there is not enough, and how it lies.
type Shortage struct {
	Resource string
	// Free on all nodes that may run the shape, and what the pods need there.
	Free, Need int64
	// Nodes on which any of it is free, and the most that one of them has.
	Nodes   int
	Largest int64
	// Total is true if there is too little of it in all; otherwise there is
	// enough, but not in pieces that are big enough.
	Total bool
}

// Short finds what so many pods of a shape lack. If several resources are
// short, it names one of which there is too little in all; of several, the one
// that is enough for the fewest pods; devices before cpu and memory, then by
// name.
func (r *Room) Short(s *Shape, pods int64) Shortage {
	u := r.surveyOf(s)
	var worst Shortage
	worstFits := int64(0)
	for k, a := range s.req {
		l := u.lies[k]
		sh := Shortage{
			Resource: r.nodes.resources[a.res], Need: resource.Mul(a.n, pods),
			Free: l.free, Nodes: l.nodes, Largest: l.largest,
		}
		if resource.IsOnce(sh.Resource) { // there is one on a node, or none
			sh.Need, sh.Free, sh.Largest = pods, l.fits, min(1, l.largest/a.n)
		}
		sh.Total = sh.Free < sh.Need
		if k == 0 || worse(sh, worst, l.fits, worstFits) {
			worst, worstFits = sh, l.fits
		}
	}
	return worst
}

func worse(a, b Shortage, fitsA, fitsB int64) bool {
	switch {
	case a.Total != b.Total:
		return a.Total
	case fitsA != fitsB:
		return fitsA < fitsB
	}
	return before(a.Resource, b.Resource)
}
