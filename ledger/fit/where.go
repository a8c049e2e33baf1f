package fit

import (
	"math/bits"

	"github.com/holdshort/holdshort/ledger/demand"
)

// where is the nodes that pods may run on, kept once for all shapes that may run on
// the same.
type where struct {
	nodes   *Nodes
	at      demand.Place
	id      string
	shapes  int      // that have it
	classes []uint32 // the class of each row when it was last judged
	now     []uint64 // bit i: row i may run them
	ever    []uint64 // or may when its node is in order
}

// where returns the one of a place, to be given back by let.
func (n *Nodes) where(place demand.Place) *where {
	n.key = appendWhere(n.key[:0], place)
	w := n.wheres[string(n.key)]
	if w == nil {
		w = &where{nodes: n, at: place, id: string(n.key)}
		n.wheres[w.id] = w
	}
	w.shapes++
	return w
}

func (w *where) let() {
	if w.shapes--; w.shapes == 0 {
		delete(w.nodes.wheres, w.id)
	}
}

// matches tells whether pods may run in a row, as it is now.
func (w *where) matches(i int32) bool {
	w.judge(i)
	return w.now[i/64]&(1<<(i%64)) != 0
}

// matchesEver tells the same of a row whose node is in order, whatever state it is in.
func (w *where) matchesEver(i int32) bool {
	w.judge(i)
	return w.ever[i/64]&(1<<(i%64)) != 0
}

// judge looks at a row if it is another one than when it was last judged.
func (w *where) judge(i int32) {
	if int(i) >= len(w.classes) {
		rows, words := len(w.nodes.rows), (len(w.nodes.rows)+63)/64
		w.classes = append(w.classes, make([]uint32, rows-len(w.classes))...)
		w.now = append(w.now, make([]uint64, words-len(w.now))...)
		w.ever = append(w.ever, make([]uint64, words-len(w.ever))...)
	}
	r := &w.nodes.rows[i]
	if w.classes[i] == r.class {
		return
	}
	w.classes[i] = r.class
	word, bit := i/64, uint64(1)<<(i%64)
	w.now[word], w.ever[word] = w.now[word]&^bit, w.ever[word]&^bit
	if r.node == nil || !allows(w.at, r.node, passing) {
		return
	}
	w.ever[word] |= bit
	if r.open && allows(w.at, r.node, nil) {
		w.now[word] |= bit
	}
}

// rejudge looks again at the rows that could run them when they were last judged.
func (w *where) rejudge() {
	for k := range w.ever {
		for word := w.ever[k]; word != 0; word &= word - 1 {
			w.judge(int32(k*64 + bits.TrailingZeros64(word)))
		}
	}
}

// overlaps tells whether some node may run both. Both have been counted, so
// their bits are up to date.
func (w *where) overlaps(other *where) bool {
	for k := range min(len(w.now), len(other.now)) {
		if w.now[k]&other.now[k] != 0 {
			return true
		}
	}
	return false
}
