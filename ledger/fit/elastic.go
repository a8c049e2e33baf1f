package fit

import (
	"fmt"
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// elastic is a flavor of which machines may be added, as rows of nodes that are not
// there: max less those that are.
type elastic struct {
	supply.Elastic
	nodes  int64 // there are
	coming int64 // rows of others
	has    resource.List
	stale  bool // the rows are to be made anew
}

// coming tells whether the node is not there, and an autoscaler would add it.
func (r *row) coming() bool { return r.node != nil && r.node.Coming }

// SetElastic says of which flavors machines may be added; no two have one name.
func (n *Nodes) SetElastic(all []supply.Elastic) {
	same := func(have elastic, want supply.Elastic) bool { return have.Equal(want) }
	if slices.EqualFunc(n.elastic, all, same) {
		return
	}
	for k := range n.elastic {
		n.remove(&n.elastic[k], 0)
	}
	n.elastic = make([]elastic, len(all))
	for k := range all {
		n.elastic[k] = elastic{Elastic: all[k], stale: true}
	}
	for i := range n.rows {
		r := &n.rows[i]
		if r.of = 0; r.node != nil {
			n.owned(r, r.node)
		}
	}
	n.Settle()
}

// owned counts a row whose node is new or another one, or gone, against the flavors
// that it is of.
func (n *Nodes) owned(r *row, node *supply.Node) {
	if len(n.elastic) == 0 || node != nil && node.Coming {
		return
	}
	was := r.of
	r.of = 0
	for k := range n.elastic {
		e, bit := &n.elastic[k], uint64(1)<<k
		if node != nil && e.Owns(node) {
			r.of |= bit
		}
		switch {
		case was&bit != 0 && r.of&bit == 0:
			e.nodes--
		case was&bit == 0 && r.of&bit != 0:
			e.nodes++
		default:
			continue
		}
		e.stale = true
	}
}

// resize has the machines of flavors measured again of which a node has other amounts.
func (n *Nodes) resize(of uint64) {
	for k := range n.elastic {
		if e := &n.elastic[k]; of&(1<<k) != 0 && e.Has == nil {
			e.stale = true
		}
	}
}

// Settle makes as many rows of machines that may be added as there are now.
func (n *Nodes) Settle() {
	for k := range n.elastic {
		e := &n.elastic[k]
		if !e.stale {
			continue
		}
		e.stale = false
		has := e.Has
		if has == nil {
			has = n.least(uint64(1) << k)
		}
		want := max(0, e.Max-e.nodes)
		if has == nil {
			want = 0
		}
		if !sameAmounts(has, e.has) {
			n.remove(e, 0)
			e.has = has
		}
		n.remove(e, want)
		for ; e.coming < want; e.coming++ {
			n.SetNode(e.Machine(e.row(e.coming), has))
		}
	}
}

// remove leaves no more than so many rows.
func (n *Nodes) remove(e *elastic, most int64) {
	for ; e.coming > most; e.coming-- {
		n.DeleteNode(e.row(e.coming - 1))
	}
}

// row names one. No node can have such a name.
func (e *elastic) row(i int64) string { return fmt.Sprintf("+%s/%04d", e.Flavor, i) }

// least is what every node of a flavor has that is open; nil if there is none.
func (n *Nodes) least(of uint64) resource.List {
	var least resource.List
	for i := range n.rows {
		r := &n.rows[i]
		if r.of&of == 0 || !r.open {
			continue
		}
		if least == nil {
			least = resource.List{}
			for res, name := range n.resources {
				if !n.forClaims[res] && !resource.IsOnce(name) {
					least[name] = n.alloc[i*n.stride+res]
				}
			}
			continue
		}
		for name := range least {
			least[name] = min(least[name], n.alloc[i*n.stride+int(n.index[name])])
		}
	}
	return least
}

func sameAmounts(a, b resource.List) bool {
	for _, lists := range [][2]resource.List{{a, b}, {b, a}} {
		for name, n := range lists[0] {
			if lists[1][name] != n {
				return false
			}
		}
	}
	return (a == nil) == (b == nil)
}

// Coming is how many machines that are not there yet may run the shape.
func (n *Nodes) Coming(s *Shape) int64 {
	count := int64(0)
	if len(n.elastic) == 0 {
		return 0
	}
	for i := range n.rows {
		if n.rows[i].coming() && s.matches(int32(i)) {
			count++
		}
	}
	return count
}

// IsComing tells whether a name is that of a machine that is not there yet.
func IsComing(name string) bool { return name != "" && name[0] == '+' }
