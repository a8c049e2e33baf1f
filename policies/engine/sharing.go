package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdshort/holdshort/policies"
)

// mostCount keeps products of counts far from where they overflow.
const mostCount = 1_000_000_000

// sharing checks cohorts, and what else queues share by.
func (v *validator) sharing() {
	for _, name := range slices.Sorted(maps.Keys(v.catalog.Cohorts)) {
		cohort, path := v.catalog.Cohorts[name], fieldPath{"cohorts", name}
		v.label(path, "cohort", name)
		if cohort.Parent != "" {
			v.knownCohort(path.with("parent"), cohort.Parent)
		}
		for _, flavor := range slices.Sorted(maps.Keys(cohort.Quota)) {
			if !v.isFlavor(flavor) {
				v.unknownFlavor(path.with("quota").with(flavor), flavor)
			}
			v.limits(path.with("quota"), flavor, cohort.Quota[flavor])
		}
		v.weighed(path, cohort.Weight)
		if cohort.Parent == "" {
			for _, at := range limited(path.with("quota"), cohort.Quota) {
				v.warn(at, "parent: NAME, or leave the limits out", "a cohort without a parent neither borrows nor lends")
			}
		}
	}
	v.cycles()
	for i, strategy := range v.catalog.FairSharing.Strategies {
		at := fieldPath{"fairSharing", "strategies"}
		oneOf(v, at, strconv.Itoa(i), strategy, policies.LessThanOrEqualToFinalShare, policies.LessThanInitialShare)
		once(v, at, i, v.catalog.FairSharing.Strategies)
	}
	for _, name := range slices.Sorted(maps.Keys(v.catalog.Kinds)) {
		if strings.ContainsAny(name, " \t") || name == "" {
			v.fail(fieldPath{"kinds", name}, "Job", "%q cannot be a kind", name)
		}
	}
}

// knownCohort warns of a cohort that is only named: it exists, but a misspelt
// name looks the same.
func (v *validator) knownCohort(path fieldPath, name string) {
	v.label(path, "cohort", name)
	if _, ok := v.catalog.Cohorts[name]; ok {
		return
	}
	try := name + ": {} under cohorts"
	if guess := nearest(name, slices.Sorted(maps.Keys(v.catalog.Cohorts))); guess != "" {
		try = guess
	}
	v.warn(path, try, "cohort %q is not under cohorts, so it has no quota of its own", name)
}

// cycles refuses cohorts that are their own ancestors: nobody knows what is left there.
func (v *validator) cycles() {
	for _, name := range slices.Sorted(maps.Keys(v.catalog.Cohorts)) {
		trail := []string{name}
		for at := v.catalog.Cohorts[name].Parent; at != "" && len(trail) <= len(v.catalog.Cohorts); at = v.catalog.Cohorts[at].Parent {
			trail = append(trail, at)
			if at == name {
				v.fail(fieldPath{"cohorts", name, "parent"}, "leave one parent out", "%s: a cohort cannot be inside of itself",
					strings.Join(trail, " → "))
				break
			}
		}
	}
}

// share checks how a queue shares with others.
func (v *validator) share(path fieldPath, q policies.Queue) {
	if q.Cohort != "" {
		v.knownCohort(path.with("cohort"), q.Cohort)
	}
	if q.MaxWorkloads != nil {
		v.atLeast(path.with("maxWorkloads"), *q.MaxWorkloads, 0)
	}
	v.groups(path.with("groups"), q)
	f, at := q.Fungibility, path.with("fungibility")
	oneOf(v, at, "whenCanBorrow", f.WhenCanBorrow, policies.MayStopSearch, policies.TryNextFlavor)
	oneOf(v, at, "whenCanPreempt", f.WhenCanPreempt, policies.MayStopSearch, policies.TryNextFlavor)
	oneOf(v, at, "preference", f.Preference, policies.BorrowingOverPreemption, policies.PreemptionOverBorrowing)
	p, at := q.Preemption, path.with("preemption")
	oneOf(v, at, "withinQueue", p.WithinQueue, policies.VictimsNever, policies.VictimsLowerPriority, policies.VictimsLowerOrNewerEqual)
	oneOf(v, at, "reclaimWithinCohort", p.ReclaimWithinCohort, policies.VictimsNever, policies.VictimsLowerPriority, policies.VictimsAny)
	oneOf(v, at.with("borrowWithinCohort"), "policy", p.BorrowWithinCohort.Policy, policies.VictimsNever, policies.VictimsLowerPriority)
	if q.Cohort == "" {
		v.alone(path, q)
	} else {
		v.idleRights(at, p)
	}
	v.weighed(path, q.Weight)
	if len(q.Budget.Hours) > 0 || q.Budget.Period != "" {
		v.budget(path.with("budget"), q.Budget)
	}
}

// alone refuses what means nothing without a cohort: whoever wrote it forgot one.
func (v *validator) alone(path fieldPath, q policies.Queue) {
	const try = "cohort: NAME, or leave it out"
	for _, at := range limited(path.with("quota"), q.Quota) {
		v.fail(at, try, "a queue without a cohort neither borrows nor lends")
	}
	if q.Preemption.ReclaimWithinCohort != "" || q.Preemption.BorrowWithinCohort.Policy != "" {
		v.fail(path.with("preemption"), try, "a queue without a cohort has nothing to reclaim")
	}
}

// limited are the paths of the amounts that have a limit of borrowing or lending.
func limited(path fieldPath, quota map[string]map[string]policies.Limit) []fieldPath {
	var all []fieldPath
	for _, flavor := range slices.Sorted(maps.Keys(quota)) {
		for _, name := range sortedWhere(quota[flavor], func(_ string, limit policies.Limit) bool {
			return limit.BorrowingLimit != nil || limit.LendingLimit != nil
		}) {
			all = append(all, path.with(flavor).with(name))
		}
	}
	return all
}

// weighed warns of a weight that nothing is divided by.
func (v *validator) weighed(path fieldPath, weight *policies.Weight) {
	if weight != nil && !v.catalog.FairSharing.Enabled {
		v.warn(path.with("weight"), "fairSharing: {enabled: true}, or leave it out", "weights count only where sharing is fair")
	}
}

// idleRights warns of rights to displace others that lack what they rest on.
func (v *validator) idleRights(path fieldPath, p policies.Preemption) {
	borrows := p.BorrowWithinCohort
	given := func(v policies.Victims) bool { return v != "" && v != policies.VictimsNever }
	at := path.with("borrowWithinCohort")
	switch {
	case given(borrows.Policy) && v.catalog.FairSharing.Enabled:
		v.warn(at, "leave it out", "where sharing is fair, shares say who makes room for whom")
	case given(borrows.Policy) && !given(p.ReclaimWithinCohort):
		v.warn(at, "reclaimWithinCohort: LowerPriority beside it, or Any",
			"without reclaimWithinCohort nobody of another queue makes room")
	case borrows.MaxPriorityThreshold != nil && !given(borrows.Policy):
		v.warn(at.with("maxPriorityThreshold"), "policy: LowerPriority beside it", "without a policy nobody makes room")
	}
}

func (v *validator) budget(path fieldPath, b policies.Budget) {
	for _, name := range slices.Sorted(maps.Keys(b.Hours)) {
		v.resourceName(path.with("hours").with(name), name)
		v.atLeast(path.with("hours").with(name), b.Hours[name], 0)
	}
	oneOf(v, path, "period", b.Period, policies.Day, policies.Week, policies.Month)
	oneOf(v, path, "per", b.Per, policies.BudgetOfQueue, policies.BudgetOfUser)
}

// groups must divide the queue's quota: each resource in one group, and no quota
// for a resource on a flavor that its group does not list.
func (v *validator) groups(path fieldPath, q policies.Queue) {
	if len(q.Groups) == 0 {
		return
	}
	inGroup, flavorsOf := map[string]int{}, map[string][]string{}
	for i, group := range q.Groups {
		for j, name := range group.Resources {
			at := path.at(i).with("resources").at(j)
			v.resourceName(at, name)
			if v.isConverted(name) {
				v.neverCharged(at, name)
			}
			if other, again := inGroup[name]; again {
				v.fail(at, "name each resource in one group", "%s is also in groups[%d]", name, other)
			}
			inGroup[name], flavorsOf[name] = i, group.Flavors
		}
		for j, flavor := range group.Flavors {
			at := path.at(i).with("flavors").at(j)
			if !slices.Contains(q.Flavors, flavor) {
				v.fail(at, oneOfThese(flavor, q.Flavors), "%q is not a flavor of the queue", flavor)
			}
		}
		if len(group.Resources) == 0 || len(group.Flavors) == 0 {
			v.fail(path.at(i), "{resources: […], flavors: […]}", "a group needs resources and flavors")
		}
	}
	for _, flavor := range slices.Sorted(maps.Keys(q.Quota)) {
		for _, name := range slices.Sorted(maps.Keys(q.Quota[flavor])) {
			if !slices.Contains(flavorsOf[name], flavor) {
				v.fail(slices.Concat(path[:len(path)-1], fieldPath{"quota", flavor, name}), "add both to one group",
					"no group has both the resource %s and the flavor %s", name, flavor)
			}
		}
	}
}

func (v *validator) atLeast(path fieldPath, n, least int64) {
	switch {
	case n < 0:
		v.fail(path, fmt.Sprintf("%d or more", least), "%d is negative", n)
	case n < least:
		v.fail(path, fmt.Sprintf("%d or more", least), "%d is too little", n)
	case n > mostCount:
		v.fail(path, fmt.Sprintf("at most %d", mostCount), "%d is more than can be counted", n)
	}
}

// once refuses the i-th element of a list if it is there before.
func once[T comparable](v *validator, path fieldPath, i int, list []T) {
	if slices.Index(list, list[i]) < i {
		v.fail(path.at(i), "name each once", "%q is there twice", fmt.Sprint(list[i]))
	}
}
