package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/policies"
)

// conversions must be exact, and one step deep.
func (v *validator) conversions(path fieldPath, conversions map[string]map[string]int64) {
	for _, name := range slices.Sorted(maps.Keys(conversions)) {
		at := path.with(name)
		v.resourceName(at, name)
		if len(conversions[name]) == 0 {
			v.fail(at, "{NAME: amount}", "it is charged as nothing")
		}
		for _, charged := range slices.Sorted(maps.Keys(conversions[name])) {
			v.resourceName(at.with(charged), charged)
			v.atLeast(at.with(charged), conversions[name][charged], 1)
			if _, chain := conversions[charged]; chain {
				v.fail(at.with(charged), "the last of them", "%s is converted itself", charged)
			} else if !v.isCounted(charged) {
				v.warn(at.with(charged), oneOfThese(charged, v.limited()), "no quota and no list of resources has %s, so whoever asks for %s is held", charged, name)
			}
		}
	}
}

// isCounted tells whether some queue has a quota of a resource, or takes it as it comes.
func (v *validator) isCounted(name string) bool {
	for _, q := range v.catalog.Queues {
		if v.catalog.ResourceClass(q, name) != policies.Unknown {
			return true
		}
	}
	return len(v.catalog.Queues) == 0
}

// limited is what quotas of queues are of.
func (v *validator) limited() []string {
	names := map[string]bool{}
	for _, q := range v.catalog.Queues {
		for _, limits := range q.Quota {
			for name := range limits {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (v *validator) isConverted(name string) bool {
	_, converted := v.catalog.Resources.Conversions[name]
	return converted
}

// neverCharged refuses a limit of what is charged as something else: it would bound
// nothing.
func (v *validator) neverCharged(path fieldPath, name string) {
	instead := strings.Join(slices.Sorted(maps.Keys(v.catalog.Resources.Conversions[name])), ", ")
	v.fail(path, instead, "%s is charged as %s (resources.conversions), so nothing would ever count here", name, instead)
}

// perDevice must be one step deep, so that the order does not matter.
func (v *validator) perDevice(path fieldPath, units map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(units)) {
		at, count := path.with(name), units[name]
		v.resourceName(at, name)
		v.resourceName(at, count)
		if _, chain := units[count]; chain {
			v.fail(at, "the name that counts devices", "%s is counted for each device itself", count)
		} else if !v.isCounted(name) {
			v.warn(at, oneOfThese(name, v.limited()), "no quota and no list of resources has %s, so whoever asks for it is held", name)
		}
	}
}
