package engine

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/policies"
)

// unsupported goes through what the contract has and the ledger does not do yet.
// What only makes Jobs wait longer than they would have to is warned of, once
// for each feature. What would let a Job start that the policy keeps back is
// refused: nobody finds out by reading that a limit is none.
func (v *validator) unsupported() {
	said := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(v.catalog.Queues)) {
		v.unsupportedLimits(name, v.catalog.Queues[name])
	}
	for _, name := range slices.Sorted(maps.Keys(v.catalog.Flavors)) {
		f, path := v.catalog.Flavors[name], fieldPath{"flavors", name}
		v.notYet(said, f.Placement == policies.PlacementExact, path.with("placement"), "the scheduler chooses the nodes")
	}
	v.unsupportedKinds()
}

// notYet warns of the first place of a feature: what comes last in its path but
// names.
func (v *validator) notYet(said map[string]bool, used bool, path fieldPath, instead string) {
	if !used {
		return
	}
	feature := path[0] + "." + path[len(path)-1]
	if said[feature] {
		return
	}
	said[feature] = true
	v.warn(path, "", "not enforced by this version: %s", instead)
}

// unsupportedLimits refuses limits that nobody would keep.
func (v *validator) unsupportedLimits(name string, q policies.Queue) {
	if len(q.Budget.Hours) > 0 {
		v.fail(fieldPath{"queues", name, "budget"},
			"custom.budgets."+name+" instead, with the rules of the bundle gpu-hour-budget: they bound what each Job may cost; or a quota",
			"not supported by this version: it does not count hours that were used, and Jobs would start beyond the budget")
	}
}

// unsupportedKinds: Jobs queue and nothing else does.
func (v *validator) unsupportedKinds() {
	for _, name := range slices.Sorted(maps.Keys(v.catalog.Kinds)) {
		path := fieldPath{"kinds", name, "managed"}
		switch managed := v.catalog.Kinds[name].Managed; {
		case name == "Job" && !managed:
			v.fail(path, "leave the label "+policies.LabelQueue+" out of the Jobs", "not supported by this version yet: Jobs with a queue always queue")
		case name != "Job" && managed:
			v.fail(path, "leave the kind out", "not supported by this version yet: %s would start at once", name)
		}
	}
}
