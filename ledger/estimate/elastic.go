package estimate

import (
	"fmt"

	"github.com/holdshort/holdshort/ledger/supply"
)

// addFor adds the machine that an autoscaler would for a pod, and returns its name, or
// nowhere. It is there at once, as pods are that come up.
func (p *play) addFor(is *supply.Pod) string {
	for _, e := range p.elastic {
		count, has := int64(0), e.Has
		for _, n := range p.free.nodes {
			if e.Owns(n) {
				if count++; has == nil {
					has = n.Allocatable
				}
			}
		}
		if count >= e.Max || has == nil {
			continue
		}
		n := e.Machine(fmt.Sprintf("%s-play-%d", e.Flavor, count), has)
		if n.Coming = false; n.Takes(is, nil) {
			p.free.nodes = append(p.free.nodes, n)
			p.book.SetNode(n)
			return n.Name
		}
	}
	return nowhere
}
