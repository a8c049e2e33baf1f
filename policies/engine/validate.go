package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdshort/holdshort/policies"
)

// validator checks what the types of a catalog cannot say.
type validator struct {
	catalog  *policies.Catalog
	problems []fieldProblem
	warnings []fieldProblem
	name     *regexp.Regexp
	resource *regexp.Regexp
	// matched are names of resources that are right: every queue has the same few.
	matched map[string]bool
}

// mostSeconds keeps durations far from where nanoseconds overflow.
const mostSeconds = 10 * 365 * 24 * 3600

func validate(catalog *policies.Catalog) (problems, warnings []fieldProblem) {
	v := &validator{
		catalog:  catalog,
		matched:  map[string]bool{},
		name:     regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`),
		resource: regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`),
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Flavors)) {
		v.flavor(fieldPath{"flavors", name}, name, catalog.Flavors[name])
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Queues)) {
		v.queue(fieldPath{"queues", name}, name, catalog.Queues[name])
	}
	v.elasticCount()
	v.sharing()
	oneOf(v, nil, "unreserved", catalog.Unreserved, policies.UnreservedCharge, policies.UnreservedSuspend)
	v.patterns(fieldPath{"resources", "unlimited"}, catalog.Resources.Unlimited)
	v.patterns(fieldPath{"resources", "ignored"}, catalog.Resources.Ignored)
	v.conversions(fieldPath{"resources", "conversions"}, catalog.Resources.Conversions)
	v.perDevice(fieldPath{"resources", "perDevice"}, catalog.Resources.PerDevice)
	v.unsupported()
	return v.problems, v.warnings
}

func (v *validator) fail(path fieldPath, try, format string, args ...any) {
	v.problems = append(v.problems, fieldProblem{path, path.String() + ": " + fmt.Sprintf(format, args...), try})
}

func (v *validator) warn(path fieldPath, try, format string, args ...any) {
	v.warnings = append(v.warnings, fieldProblem{path, path.String() + ": " + fmt.Sprintf(format, args...), try})
}

func (v *validator) label(path fieldPath, what, name string) {
	if !v.name.MatchString(name) {
		v.fail(path, "lower-case letters, digits and -, at most 63", "%q cannot be the name of a %s", name, what)
	}
}

func (v *validator) queue(path fieldPath, name string, q policies.Queue) {
	v.label(path, "queue", name)
	if len(q.Flavors) == 0 {
		v.fail(path.with("flavors"), "the names of flavors, in order of preference", "a queue needs a flavor")
	}
	for i, flavor := range q.Flavors {
		if !v.isFlavor(flavor) {
			v.unknownFlavor(path.with("flavors").at(i), flavor)
		}
		if slices.Index(q.Flavors, flavor) < i {
			v.fail(path.with("flavors").at(i), "name each flavor once", "%s is there twice", strconv.Quote(flavor))
		}
	}
	quotas := path.with("quota")
	for _, flavor := range slices.Sorted(maps.Keys(q.Quota)) {
		v.quota(quotas, flavor, q)
	}
	oneOf(v, path, "strategy", q.Strategy, policies.BestEffortFIFO, policies.StrictFIFO, policies.Backfill)
	v.seconds(path, "placementTimeoutSeconds", q.PlacementTimeoutSeconds)
	v.seconds(path, "podsReadyTimeoutSeconds", q.PodsReadyTimeoutSeconds)
	v.seconds(path, "recoveryTimeoutSeconds", q.RecoveryTimeoutSeconds)
	backoff := path.with("backoff")
	v.seconds(backoff, "baseSeconds", q.Backoff.BaseSeconds)
	v.seconds(backoff, "maxSeconds", q.Backoff.MaxSeconds)
	if most := q.Backoff.LimitCount; most != nil && *most < 0 {
		v.fail(backoff.with("limitCount"), "how often it is tried again; leave it out for any number", "%d is negative", *most)
	}
	if most := q.Backoff.MaxSeconds; most > 0 && most < q.Backoff.BaseSeconds {
		v.fail(backoff, "", "maxSeconds %d is below baseSeconds %d", most, q.Backoff.BaseSeconds)
	}
	v.namespaces(path.with("namespaces"), q.Namespaces)
	v.share(path, q)
}

func (v *validator) namespaces(path fieldPath, rule policies.NamespaceRule) {
	if !rule.All && len(rule.Names) == 0 && len(rule.Labels) == 0 {
		v.warn(path, "{all: true}, {names: […]} or {labels: {…}}", "the queue takes no Job from anywhere")
	}
	for i, name := range rule.Names {
		v.label(path.with("names").at(i), "namespace", name)
	}
}

func (v *validator) isFlavor(name string) bool {
	_, ok := v.catalog.Flavors[name]
	return ok
}

func (v *validator) unknownFlavor(path fieldPath, flavor string) {
	known := slices.Sorted(maps.Keys(v.catalog.Flavors))
	if len(known) == 0 {
		v.fail(path, "add it under flavors", "there is no flavor %q", flavor)
		return
	}
	v.fail(path, oneOfThese(flavor, known), "there is no flavor %q", flavor)
}

// oneOfThese is the candidate that is nearest, or all of them.
func oneOfThese(word string, candidates []string) string {
	if guess := nearest(word, candidates); guess != "" {
		return guess
	}
	return "one of " + strings.Join(candidates, ", ")
}

func (v *validator) quota(parent fieldPath, flavor string, q policies.Queue) {
	if !slices.Contains(q.Flavors, flavor) {
		if !v.isFlavor(flavor) {
			v.unknownFlavor(parent.with(flavor), flavor)
			return
		}
		v.fail(parent.with(flavor), "add "+flavor+" to the queue's flavors", "a quota of a flavor that the queue does not list")
	}
	v.limits(parent, flavor, q.Quota[flavor])
	v.lendable(parent, flavor, q.Quota[flavor])
}

func (v *validator) limits(parent fieldPath, flavor string, limits map[string]policies.Limit) {
	for _, name := range sortedWhere(limits, func(name string, _ policies.Limit) bool { return !v.isResource(name) }) {
		v.notResource(parent.with(flavor).with(name), name)
	}
	for _, name := range sortedWhere(limits, func(name string, _ policies.Limit) bool { return v.isConverted(name) }) {
		v.neverCharged(parent.with(flavor).with(name), name)
	}
}

// lendable warns of a queue that lends more than it has. A cohort lends what is
// below it, too, which may be more than its own.
func (v *validator) lendable(parent fieldPath, flavor string, limits map[string]policies.Limit) {
	for _, name := range sortedWhere(limits, func(_ string, limit policies.Limit) bool {
		return limit.LendingLimit != nil && *limit.LendingLimit > limit.Nominal
	}) {
		v.warn(parent.with(flavor).with(name).with("lendingLimit"), "leave it out, or set less than nominal",
			"it is above nominal, and no more than that can be lent")
	}
}

// sortedWhere are the keys of what is to be told of: in most catalogs none, so
// that none are sorted.
func sortedWhere[T any](all map[string]T, wanted func(name string, value T) bool) []string {
	var some []string
	for name, value := range all {
		if wanted(name, value) {
			some = append(some, name)
		}
	}
	slices.Sort(some)
	return some
}

func (v *validator) isResource(name string) bool {
	if !v.matched[name] {
		v.matched[name] = v.resource.MatchString(name)
	}
	return v.matched[name]
}

func (v *validator) resourceName(path fieldPath, name string) {
	if !v.isResource(name) {
		v.notResource(path, name)
	}
}

func (v *validator) notResource(path fieldPath, name string) {
	v.fail(path, "", "%q cannot be the name of a resource", name)
}

func (v *validator) flavor(path fieldPath, name string, f policies.Flavor) {
	v.label(path, "flavor", name)
	for _, key := range slices.Sorted(maps.Keys(f.NodeLabels)) {
		if !v.resource.MatchString(key) {
			v.fail(path.with("nodeLabels").with(key), "", "%q cannot be a label", key)
		}
	}
	for i, taint := range f.Taints {
		at := path.with("taints").at(i)
		oneOf(v, at, "effect", taint.Effect, "NoSchedule", "PreferNoSchedule", "NoExecute")
		if !v.resource.MatchString(taint.Key) {
			v.fail(at.with("key"), "", "%q cannot be the key of a taint", taint.Key)
		}
	}
	for i, toleration := range f.Tolerations {
		v.toleration(path.with("tolerations").at(i), toleration)
	}
	oneOf(v, path, "verify", f.Verify, policies.VerifyNodes, policies.VerifyNone)
	oneOf(v, path, "placement", f.Placement, policies.PlacementPool, policies.PlacementExact)
	v.elastic(path.with("elastic"), f)
	for i, key := range f.Topology {
		if !v.resource.MatchString(key) {
			v.fail(path.with("topology").at(i), "", "%q cannot be a label", key)
		}
		once(v, path.with("topology"), i, f.Topology)
	}
}

func (v *validator) toleration(path fieldPath, t policies.Toleration) {
	oneOf(v, path, "operator", t.Operator, "Equal", "Exists")
	if t.Effect != "" {
		oneOf(v, path, "effect", t.Effect, "NoSchedule", "PreferNoSchedule", "NoExecute")
	}
	if t.Operator == "Exists" && t.Value != "" {
		v.fail(path.with("value"), "leave it out, or operator: Equal", "Exists takes no value")
	}
	if t.Key == "" && t.Operator != "Exists" {
		v.fail(path, "operator: Exists", "without a key only Exists means anything")
	}
	if t.TolerationSeconds != nil && t.Effect != "NoExecute" {
		v.fail(path.with("tolerationSeconds"), "effect: NoExecute", "only NoExecute ends after a time")
	}
}

func (v *validator) seconds(parent fieldPath, key string, n int64) {
	if n < 0 || n > mostSeconds {
		v.fail(parent.with(key), "0 (the default) or a number of seconds", "%d is no duration", n)
	}
}

func (v *validator) patterns(path fieldPath, patterns []string) {
	for i, pattern := range patterns {
		if name := strings.TrimSuffix(pattern, "*"); name == "" || strings.Contains(name, "*") {
			v.fail(path.at(i), "a name, or a beginning with * after it", "%q names no resource", pattern)
		}
	}
}

// oneOf checks an enumeration under a key; empty stands for the default where
// there is one.
func oneOf[T ~string](v *validator, parent fieldPath, key string, got T, allowed ...T) {
	if slices.Contains(allowed, got) || got == "" && key != "effect" {
		return
	}
	words := make([]string, len(allowed))
	for i, word := range allowed {
		words[i] = string(word)
	}
	v.fail(parent.with(key), oneOfThese(string(got), words), "unknown value %q", string(got))
}
