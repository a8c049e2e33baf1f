package fit

import "github.com/holdshort/holdshort/ledger/resource"

// onceMax is how many things that a node has once are told apart: each is one more
// amount in the row of every node, and some people name a new one for every Job.
const onceMax = 64

// once adds what pods take of things that a node has once. Of those beyond what is
// told apart it is known only that a node takes one such pod of a Job: perNode.
func (n *Nodes) once(amounts []amount, list resource.List) (_ []amount, perNode int64) {
	if len(list) == 0 {
		return amounts, 0
	}
	for _, name := range list.Names() {
		if _, known := n.index[name]; !known && n.onces == onceMax {
			if list[name] == resource.Whole {
				perNode = 1
			}
			continue
		} else if !known {
			n.onces++
		}
		amounts = append(amounts, amount{n.resource(name), list[name]})
	}
	return inOrder(amounts), perNode
}

// clear are the rows of things of which nobody else may have any. Those beyond what
// is told apart are not looked at.
func (n *Nodes) clear(names []string) []int32 {
	var rows []int32
	for _, name := range names {
		if amounts, _ := n.once(nil, resource.List{name: 1}); len(amounts) > 0 {
			rows = append(rows, amounts[0].res)
		}
	}
	return rows
}

// everywhere: every node has it, though none says so.
func (n *Nodes) everywhere(res int32) {
	for i := range n.rows {
		if n.rows[i].node != nil {
			at := i*n.stride + int(res)
			n.alloc[at], n.whole[at] = gives(n.rows[i].node, n.resources[res])
			n.touch(int32(i))
		}
	}
}
