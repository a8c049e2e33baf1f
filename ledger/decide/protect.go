package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/quota"
)

// mayGo tells whether the policy lets a Job make room for another, as far as it
// was asked.
func (p *planner) mayGo(it *item, v *victim) bool {
	answer := p.Protects[Displacement{Victim: v.entry.UID(), By: it.job.UID}]
	if answer.Reason == nil {
		return true
	}
	p.wakeRoot(v.node, answer.Reason.Until)
	return false
}

// askProtect asks about those of an entry's victims that nobody asked about yet,
// and tells whether there are any.
func (p *planner) askProtect(e *entry) bool {
	if !p.AskProtect {
		return false
	}
	asked := len(p.res.AskProtect)
	for _, v := range e.victims {
		d := Displacement{Victim: v.entry.UID(), By: e.job.UID}
		if _, answered := p.Protects[d]; answered {
			continue
		}
		ask := ProtectAsk{Displacement: d, Admitted: v.admitted}
		for _, u := range v.uses {
			flavor := p.tree.PairOf(u.pair).Flavor
			if !slices.Contains(ask.Flavors, flavor) {
				ask.Flavors = append(ask.Flavors, flavor)
			}
			ask.Borrowing = ask.Borrowing || p.borrows(v.node, u.pair)
		}
		slices.Sort(ask.Flavors)
		p.res.AskProtect = append(p.res.AskProtect, ask)
	}
	return len(p.res.AskProtect) > asked
}

func (p *planner) borrows(n quota.NodeID, pair quota.PairID) bool {
	return p.tree.Borrowed(n, pair) > 0
}
