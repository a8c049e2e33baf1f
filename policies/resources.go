package policies

import (
	"slices"
	"strings"
)

// ResourceClass is how a queue treats a resource.
type ResourceClass string

// The classes of resources. What is in none of the first three holds the Job.
const (
	Limited   ResourceClass = "limited"   // charged against quota, and checked for fit
	Unlimited ResourceClass = "unlimited" // checked for fit only
	Ignored   ResourceClass = "ignored"   // neither
	Unknown   ResourceClass = "unknown"
)

// defaultUnlimited are the resources that every node has.
func defaultUnlimited() []string {
	return []string{"cpu", "memory", "ephemeral-storage", "pods", "hugepages-*"}
}

// ResourceClass says how the queue treats a resource: that of what is charged for it,
// if that is something else, and of several the one that says most against it.
func (c *Catalog) ResourceClass(q Queue, resource string) ResourceClass {
	instead, converted := c.Resources.Conversions[resource]
	if !converted {
		return c.classOf(q, resource)
	}
	class := Ignored
	for name := range instead {
		if of := c.classOf(q, name); strictness(of) > strictness(class) {
			class = of
		}
	}
	return class
}

// strictness orders the classes by how much they say against a Job.
func strictness(class ResourceClass) int {
	return slices.Index([]ResourceClass{Ignored, Unlimited, Limited, Unknown}, class)
}

// classOf what is charged as itself. What a quota of the queue names is limited,
// whatever the lists say.
func (c *Catalog) classOf(q Queue, resource string) ResourceClass {
	if q.names(func(name string) bool { return name == resource }) {
		return Limited
	}
	if matchesAny(c.Resources.Ignored, resource) {
		return Ignored
	}
	unlimited := c.Resources.Unlimited
	if unlimited == nil {
		unlimited = defaultUnlimited()
	}
	for _, pattern := range unlimited {
		if !matches(pattern, resource) {
			continue
		}
		// A queue that limits one page size has not thought of the others: they
		// are not free of charge.
		if !q.names(func(name string) bool { return matches(pattern, name) }) {
			return Unlimited
		}
	}
	return Unknown
}

// names says whether any flavor's quota names a resource that satisfies.
func (q Queue) names(satisfies func(resource string) bool) bool {
	for _, limits := range q.Quota {
		for name := range limits {
			if satisfies(name) {
				return true
			}
		}
	}
	return false
}

func matchesAny(patterns []string, resource string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, resource) })
}

func matches(pattern, resource string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(resource, prefix)
	}
	return pattern == resource
}
