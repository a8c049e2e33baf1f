package fit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// groupsMax is how many groups of nodes are told apart for people.
const groupsMax = 8

// verdict is how many pods of a shape a node takes, and why no more: a text, or the
// resource of which there is too little.
type verdict struct {
	pods int64
	text string
	res  int32
	has  bool // any of it is built in
	lost bool // and some of that can't be given out now
	// coming: it is not there yet, so it has no name.
	coming bool
}

// alike is the nodes of one verdict.
type alike struct {
	verdict
	nodes             int64
	first             string
	free, total, lost reason.Range
}

func (g *alike) add(free, total, lost int64) {
	if g.nodes == 0 {
		g.free, g.total, g.lost = reason.Range{Least: free, Most: free}, reason.Range{Least: total, Most: total}, reason.Range{Least: lost, Most: lost}
	}
	g.nodes++
	g.free.Widen(free)
	g.total.Widen(total)
	g.lost.Widen(lost)
}

// Alike puts the nodes that have some labels into groups of which a shape has the same
// to expect. Those that take most come first; what is beyond groupsMax is one group.
func (r *Room) Alike(s *Shape, labels map[string]string) []reason.NodeGroup {
	t := r.table(s)
	groups, keys := map[verdict]*alike{}, slices.Sorted(maps.Keys(s.place.NodeSelector))
	for _, i := range r.nodes.inOrder() {
		node := r.nodes.rows[i].node
		if node == nil || !hasLabels(node.Labels, labels) {
			continue
		}
		v := r.verdict(s, keys, i, t.rows[i])
		v.coming = node.Coming
		g := groups[v]
		if g == nil {
			g = &alike{verdict: v}
			groups[v] = g
			if !node.Coming {
				g.first = node.Name
			}
		}
		at := int(i)*r.nodes.stride + int(v.res)
		g.add(r.free[at], r.nodes.whole[at], r.nodes.whole[at]-r.nodes.alloc[at])
	}
	return r.nodes.tell(slices.SortedFunc(maps.Values(groups), compareAlike))
}

func compareAlike(a, b *alike) int {
	return cmp.Or(cmp.Compare(b.pods, a.pods), cmp.Compare(b.nodes, a.nodes), cmp.Compare(a.first, b.first), cmp.Compare(a.text, b.text))
}

func (n *Nodes) tell(groups []*alike) []reason.NodeGroup {
	var told []reason.NodeGroup
	for i, g := range groups {
		if i >= groupsMax {
			rest := &told[groupsMax-1]
			rest.Nodes, rest.Pods, rest.Why = rest.Nodes+g.nodes, 0, reason.OthersThere
			continue
		}
		told = append(told, reason.NodeGroup{Nodes: g.nodes, Pods: g.pods, Node: g.first, Why: g.why(n)})
	}
	return told
}

func (g *alike) why(n *Nodes) string {
	if g.text != "" {
		return g.text
	}
	name := resource.Words(n.resources[g.res])
	switch {
	case resource.IsOnce(name) && g.pods > 0:
		return reason.PerNodeThere(g.pods)
	case resource.IsOnce(name):
		return reason.TakenThere(name)
	}
	return reason.FreeThere(name, g.free, g.total, g.lost)
}

// verdict of a row that has room for so many pods.
func (r *Room) verdict(s *Shape, keys []string, i int32, pods int64) verdict {
	row := &r.nodes.rows[i]
	if text, _ := closes(&s.place, keys, row); text != "" {
		return verdict{text: text}
	}
	if row.coming() {
		return verdict{pods: pods, text: reason.ComingThere}
	}
	for _, res := range s.clear {
		if r.free[int(i)*r.nodes.stride+int(res)] < resource.Whole {
			return verdict{text: reason.TakenThere(r.nodes.resources[res])}
		}
	}
	if s.perNode > 0 && pods == s.perNode {
		return verdict{pods: pods, text: reason.PerNodeThere(pods)}
	}
	worst, least := int32(-1), slotsMax
	for _, a := range s.req {
		fits := r.free[int(i)*r.nodes.stride+int(a.res)] / a.n
		if worst < 0 || fits < least || fits == least && before(r.nodes.resources[a.res], r.nodes.resources[worst]) {
			worst, least = a.res, fits
		}
	}
	if node := row.node; worst >= 0 && node.Unsure != "" && resource.IsDevice(r.nodes.resources[worst]) {
		return verdict{pods: pods, text: node.Unsure}
	}
	at := int(i)*r.nodes.stride + int(max(0, worst))
	whole := r.nodes.whole[at]
	return verdict{pods: pods, res: max(0, worst), has: whole > 0, lost: whole > r.nodes.alloc[at]}
}

// untolerated is the first taint that keeps pods away, besides those of a cordon and of
// not being ready.
func untolerated(place *demand.Place, node *supply.Node) *policies.Taint {
	for i, t := range node.Taints {
		if t.Key == taintUnschedulable || !node.Ready && passing(t) || t.Effect == "PreferNoSchedule" || demand.Tolerates(place.Tolerations, t) {
			continue
		}
		return &node.Taints[i]
	}
	return nil
}
