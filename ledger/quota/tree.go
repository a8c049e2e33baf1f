package quota

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Key names a row.
type Key struct{ Queue, Flavor, Resource string }

// Row is what a queue may use of one resource of one flavor, and what it does.
type Row struct {
	Key
	Nominal int64
	Usage   int64
}

const noParent = int32(-1)

// Tree is all rows, in the order of their keys.
type Tree struct {
	rows    []Row
	parents []int32 // of each row: the row that stands above it
	index   map[Key]int32
}

// New makes a tree of rows; of two with the same key the last counts.
func New(rows []Row) *Tree {
	t := &Tree{rows: slices.Clone(rows), index: make(map[Key]int32, len(rows))}
	slices.SortStableFunc(t.rows, func(a, b Row) int { return CompareKeys(a.Key, b.Key) })
	for i := range t.rows {
		t.parents = append(t.parents, noParent)
		t.index[t.rows[i].Key] = int32(i)
	}
	return t
}

// CompareKeys orders keys by queue, flavor, resource.
func CompareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
}

// Row returns a row; without one, the queue has none of that resource there.
func (t *Tree) Row(k Key) Row {
	if i, ok := t.index[k]; ok {
		return t.rows[i]
	}
	return Row{Key: k}
}

// Rows returns all rows by key. Not to be changed.
func (t *Tree) Rows() []Row { return t.rows }

// Available is how much more may be used; negative when a quota was lowered
// below what is in use.
func (t *Tree) Available(k Key) int64 {
	r := t.Row(k)
	return resource.Sub(r.Nominal, r.Usage)
}

// Add changes the usage of a row and of what stands above it.
func (t *Tree) Add(k Key, amount int64) {
	i, ok := t.index[k]
	for ok && i != noParent {
		t.rows[i].Usage = resource.Add(t.rows[i].Usage, amount)
		i = t.parents[i]
	}
}
