package quota

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/resource"
)

// Pair is a resource of a flavor.
type Pair struct{ Flavor, Resource string }

// Limit is the quota of a node for one pair; nil is no limit.
type Limit struct {
	Nominal int64
	Borrow  *int64 // beyond the node's own
	Lend    *int64 // of the node's own
}

// WholeWeight is the weight 1. Weights are in millionths.
const WholeWeight = 1_000_000

// Member is a queue or a cohort with its quotas.
type Member struct {
	Name   string
	Cohort string // that it belongs to; empty: it is a root
	Weight int64  // millionths
	Limits map[Pair]Limit
}

// NodeID is the place of a queue or cohort in a tree's tables.
type NodeID int32

// PairID is the place of a pair.
type PairID int32

// None is no node, or no pair.
const None = -1

// Limits is the quotas of all queues and cohorts, made ready to count with. It
// never changes, so that many trees share one.
type Limits struct {
	nodes     []node
	queues    map[string]NodeID
	pairs     []Pair // sorted by resource, then flavor
	pairIDs   map[Pair]PairID
	resources []string // sorted
	resource  []int32  // of each pair
	cells     []limit  // nodes × pairs
	lendable  []int64  // nodes × resources: what the node could get of its parent at best
}

type node struct {
	name     string
	parent   NodeID
	weight   int64
	queue    bool
	height   int // cohorts from it down to the deepest queue or empty cohort; 0 of these
	depth    int
	children []NodeID
}

// limit is what a node may use of a pair, worked out.
type limit struct {
	nominal   int64
	subtree   int64
	local     int64
	borrow    int64 // Boundless without a limit
	potential int64
}

// boundless is no limit. As an amount nothing compares as more.
const boundless = resource.Limit

// Compile makes Limits of queues and cohorts; both are taken in the order of
// their names. A cohort that is only named has no quota of its own. It refuses a
// cohort that is its own ancestor, with the names on the way round.
func Compile(queues, cohorts []Member) (*Limits, error) {
	l := &Limits{queues: make(map[string]NodeID, len(queues)), pairIDs: map[Pair]PairID{}}
	groups := map[string]NodeID{}
	cohorts = named(queues, cohorts)
	for _, m := range cohorts {
		groups[m.Name] = l.add(m, false)
	}
	queues = slices.SortedFunc(slices.Values(queues), byName)
	for _, m := range queues {
		l.queues[m.Name] = l.add(m, true)
	}
	members := slices.Concat(cohorts, queues)
	for i, m := range members {
		if m.Cohort != "" {
			parent := groups[m.Cohort]
			l.nodes[i].parent = parent
			l.nodes[parent].children = append(l.nodes[parent].children, NodeID(i))
		}
	}
	order, err := l.downward()
	if err != nil {
		return nil, err
	}
	l.addPairs(members)
	l.work(members, order)
	return l, nil
}

func byName(a, b Member) int { return cmp.Compare(a.Name, b.Name) }

// named is the cohorts and those that are only named, by name.
func named(queues, cohorts []Member) []Member {
	all := slices.Clone(cohorts)
	known := map[string]bool{"": true}
	for _, m := range cohorts {
		known[m.Name] = true
	}
	for _, m := range slices.Concat(cohorts, queues) {
		if !known[m.Cohort] {
			known[m.Cohort] = true
			all = append(all, Member{Name: m.Cohort, Weight: WholeWeight})
		}
	}
	slices.SortFunc(all, byName)
	return all
}

func (l *Limits) add(m Member, queue bool) NodeID {
	l.nodes = append(l.nodes, node{name: m.Name, parent: None, weight: m.Weight, queue: queue})
	return NodeID(len(l.nodes) - 1)
}

// downward is every node after its parent, with depths and heights filled in.
func (l *Limits) downward() ([]NodeID, error) {
	order := make([]NodeID, len(l.nodes))
	for i := range l.nodes {
		order[i] = NodeID(i)
		depth := 0
		for at := l.nodes[i].parent; at != None; at = l.nodes[at].parent {
			if depth++; depth > len(l.nodes) {
				return nil, l.cycle(NodeID(i))
			}
		}
		l.nodes[i].depth = depth
	}
	slices.SortStableFunc(order, func(a, b NodeID) int { return l.nodes[a].depth - l.nodes[b].depth })
	for _, id := range slices.Backward(order) {
		n := &l.nodes[id]
		if n.parent != None {
			p := &l.nodes[n.parent]
			p.height = max(p.height, n.height+1)
		}
	}
	return order, nil
}

func (l *Limits) cycle(at NodeID) error {
	seen := map[NodeID]bool{}
	for !seen[at] {
		seen[at] = true
		at = l.nodes[at].parent
	}
	trail := []string{l.nodes[at].name}
	for next := l.nodes[at].parent; next != at; next = l.nodes[next].parent {
		trail = append(trail, l.nodes[next].name)
	}
	slices.Sort(trail)
	return fmt.Errorf("cohorts are their own ancestors: %s. Try: leave out the parent of one of them", strings.Join(trail, ", "))
}

func (l *Limits) addPairs(members []Member) {
	for _, m := range members {
		for pair := range m.Limits {
			if _, known := l.pairIDs[pair]; !known {
				l.pairIDs[pair] = 0
				l.pairs = append(l.pairs, pair)
			}
		}
	}
	slices.SortFunc(l.pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Flavor, b.Flavor))
	})
	for i, pair := range l.pairs {
		l.pairIDs[pair] = PairID(i)
		if n := len(l.resources); n == 0 || l.resources[n-1] != pair.Resource {
			l.resources = append(l.resources, pair.Resource)
		}
		l.resource = append(l.resource, int32(len(l.resources)-1))
	}
}

// work fills in the limits: subtrees from the leaves up, potentials from the
// roots down.
func (l *Limits) work(members []Member, order []NodeID) {
	l.cells = make([]limit, len(l.nodes)*len(l.pairs))
	for i := range l.cells {
		l.cells[i].borrow = boundless
	}
	lend := make(map[int]int64)
	for i, m := range members {
		for pair, own := range m.Limits {
			at := l.at(NodeID(i), l.pairIDs[pair])
			c := &l.cells[at]
			c.nominal, c.subtree = own.Nominal, own.Nominal
			if own.Borrow != nil {
				c.borrow = *own.Borrow
			}
			if own.Lend != nil {
				lend[at] = *own.Lend
			}
		}
	}
	for _, id := range slices.Backward(order) {
		for pair := range l.pairs {
			at := l.at(id, PairID(pair))
			c := &l.cells[at]
			if limit, limited := lend[at]; limited {
				c.local = max(0, resource.Sub(c.subtree, limit))
			}
			if parent := l.nodes[id].parent; parent != None {
				up := &l.cells[l.at(parent, PairID(pair))]
				up.subtree = resource.Add(up.subtree, resource.Sub(c.subtree, c.local))
			}
		}
	}
	l.lendable = make([]int64, len(l.nodes)*len(l.resources))
	for _, id := range order {
		for pair := range l.pairs {
			c := &l.cells[l.at(id, PairID(pair))]
			c.potential = c.subtree
			if parent := l.nodes[id].parent; parent != None {
				up := l.cells[l.at(parent, PairID(pair))].potential
				c.potential = resource.Add(c.local, up)
				if c.borrow != boundless {
					c.potential = min(c.potential, resource.Add(c.subtree, c.borrow))
				}
				sum := &l.lendable[int(id)*len(l.resources)+int(l.resource[pair])]
				*sum = resource.Add(*sum, up)
			}
		}
	}
}

func (l *Limits) at(n NodeID, p PairID) int { return int(n)*len(l.pairs) + int(p) }

// Queue is the node of a queue, None if there is none.
func (l *Limits) Queue(name string) NodeID {
	if id, ok := l.queues[name]; ok {
		return id
	}
	return None
}

// Pair is the place of a pair, None if nobody has a quota of it.
func (l *Limits) Pair(flavor, resourceName string) PairID {
	if id, ok := l.pairIDs[Pair{flavor, resourceName}]; ok {
		return id
	}
	return None
}

// PairOf is the pair at a place.
func (l *Limits) PairOf(p PairID) Pair { return l.pairs[p] }

// Name of a node.
func (l *Limits) Name(n NodeID) string { return l.nodes[n].name }

// Parent of a node, None of a root.
func (l *Limits) Parent(n NodeID) NodeID { return l.nodes[n].parent }

// Root of the tree that a node is in.
func (l *Limits) Root(n NodeID) NodeID {
	for l.nodes[n].parent != None {
		n = l.nodes[n].parent
	}
	return n
}

// Below tells whether n is the node above or lies somewhere below it.
func (l *Limits) Below(n, above NodeID) bool {
	for n != None && n != above {
		n = l.nodes[n].parent
	}
	return n == above
}

// Potential is the most that a node could ever use of a pair.
func (l *Limits) Potential(n NodeID, p PairID) int64 { return l.cells[l.at(n, p)].potential }

// Nominal is a node's own quota of a pair.
func (l *Limits) Nominal(n NodeID, p PairID) int64 { return l.cells[l.at(n, p)].nominal }

// Subtree is what a node and all below it bring in that their parents see.
func (l *Limits) Subtree(n NodeID, p PairID) int64 { return l.cells[l.at(n, p)].subtree }

// MayBorrow is how much more than its own a node may use; false: no limit.
func (l *Limits) MayBorrow(n NodeID, p PairID) (int64, bool) {
	b := l.cells[l.at(n, p)].borrow
	return b, b != boundless
}

// Children of a node: cohorts by name, then queues by name.
func (l *Limits) Children(n NodeID) []NodeID { return l.nodes[n].children }

// IsQueue tells a queue from a cohort.
func (l *Limits) IsQueue(n NodeID) bool { return l.nodes[n].queue }

// QueuesBelow is the queues of the tree below a node, or the node itself.
func (l *Limits) QueuesBelow(n NodeID) []NodeID {
	if l.nodes[n].queue {
		return []NodeID{n}
	}
	var queues []NodeID
	for _, child := range l.nodes[n].children {
		queues = append(queues, l.QueuesBelow(child)...)
	}
	return queues
}
