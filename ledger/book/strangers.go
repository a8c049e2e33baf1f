package book

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
)

// Stranger is a pod that nobody queued and that is on a node.
type Stranger struct {
	Namespace, Name, Node string
	Since                 int64       // it has been there, in unix nanoseconds
	Holds                 *fit.Vector // devices of claims, too
}

// Strangers is the pods that nobody queued and that came to a node at a moment or
// after it, those that came first before the others. Objects know whole seconds, so one
// that came in the same second counts.
func (s *Snapshot) Strangers(after int64) []Stranger {
	after = after / int64(time.Second) * int64(time.Second)
	all := []Stranger{}
	for uid, p := range s.b.pods {
		if p.node == "" || p.since < after || !p.isStranger() {
			continue
		}
		w := s.b.who[uid]
		all = append(all, Stranger{Namespace: w.namespace, Name: w.name, Node: p.node, Since: p.since, Holds: p.gives})
	}
	slices.SortFunc(all, func(a, b Stranger) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// isStranger: no admission made it, and it is of no Job of ours.
func (p *pod) isStranger() bool {
	return p.tag == nil && (p.entry == nil || p.entry.observed == nil && p.entry.assumed == nil)
}

// Amounts is what a vector has of each resource.
func (s *Snapshot) Amounts(v *fit.Vector) resource.List { return s.b.list(v) }
