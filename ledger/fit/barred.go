package fit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/supply"
)

// barredFor remembers what keeps a shape off the nodes of a flavor.
type barredFor struct {
	flavor  string
	changes uint64
	answer  reason.Barred
}

// Barred says what keeps a shape, which no node may run, off those that have the labels
// of a flavor; off the one that its pods name, if they do.
func (n *Nodes) Barred(s *Shape, flavor string, labels map[string]string, named string) reason.Barred {
	if s.barred != nil && s.barred.flavor == flavor && s.barred.changes == n.changes && maps.Equal(s.barred.answer.Labels, labels) {
		return s.barred.answer
	}
	b := reason.Barred{Flavor: flavor, Labels: labels, Node: named}
	keys := slices.Sorted(maps.Keys(s.place.NodeSelector))
	if i, there := n.byName[named]; there && n.rows[i].node != nil {
		bar := reason.Bar{Nodes: 1, Why: reason.NotOfThere(flavor)}
		if hasLabels(n.rows[i].node.Labels, labels) {
			bar.Why, bar.Try = closes(&s.place, keys, &n.rows[i])
		}
		b.Nodes, b.Bars = 1, []reason.Bar{bar}
	} else if named == "" {
		n.bars(s, keys, &b)
	}
	s.barred = &barredFor{flavor, n.changes, b}
	return b
}

func (n *Nodes) bars(s *Shape, keys []string, b *reason.Barred) {
	count := map[[2]string]int64{}
	for i := range n.rows {
		r := &n.rows[i]
		if r.node == nil || !hasLabels(r.node.Labels, b.Labels) {
			continue
		}
		b.Nodes++
		why, try := closes(&s.place, keys, r)
		count[[2]string{why, try}]++
	}
	for bar, nodes := range count {
		b.Bars = append(b.Bars, reason.Bar{Nodes: nodes, Why: bar[0], Try: bar[1]})
	}
	slices.SortFunc(b.Bars, func(a, b reason.Bar) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Try, b.Try))
	})
}

// closes says why a node takes no pod at a place, whatever is free on it, empty if it
// does; and what of the pods would have to be otherwise, empty if that is not of them.
// The keys are those of the place's selector, in order.
func closes(place *demand.Place, keys []string, row *row) (why, try string) {
	node := row.node
	for _, key := range keys {
		if got, there := node.Labels[key]; !there || got != place.NodeSelector[key] {
			return reason.LabelThere(key, place.NodeSelector[key]), reason.LabelTry(key, node.Coming)
		}
	}
	if place.Affinity != nil && !anyMatches(place.Affinity, node) {
		return affinityThere(place.Affinity, node), reason.AffinityTry
	}
	if pin := unmet(place.Pins, node); pin != nil {
		return reason.PinThere(pin.Is), ""
	}
	if name := lacking(place.Features, node); name != "" {
		return reason.FeatureThere(name), ""
	}
	if taint := untolerated(place, node); taint != nil {
		return reason.TaintThere(taint.Key, taint.Value, taint.Effect), reason.TaintTry(taint.Key)
	}
	switch {
	case cordoned(node):
		return reason.CordonedThere, ""
	case !node.Ready:
		return reason.NotReadyThere, ""
	case place.Existing && node.Coming:
		return reason.InVainThere, ""
	}
	return node.Closed, ""
}

// affinityThere names the first requirement that a node does not meet, if there is but
// one way to meet them all.
func affinityThere(terms []demand.NodeTerm, node *supply.Node) string {
	if len(terms) == 1 {
		for _, r := range terms[0].Labels {
			if value, there := node.Labels[r.Key]; !Meets(r, value, there) {
				return reason.WishThere(r.Key + " " + r.Wish())
			}
		}
	}
	return reason.AffinityThere
}
