package resource

import (
	"math"
	"slices"
	"strings"
)

// Names that the ledger itself treats in a special way.
const (
	CPU  = "cpu"
	Pods = "pods" // each pod takes one slot of its node
)

// IsDevice tells whether a resource is devices: the names of what every machine has, such
// as cpu or memory, have no domain.
func IsDevice(name string) bool { return strings.Contains(name, "/") || ForClaims(name) }

// What is counted for claims has names of its own. No resource's name has a colon, so
// nobody can ask for it in a pod, and no node can offer it in its status.
const (
	DeviceSet = "devices:"
	Kit       = "kit:"
)

// Words are how an amount is named to people: of what is counted for claims the
// classes, after the colon and up to the slash.
func Words(name string) string {
	kind, rest, _ := strings.Cut(name, ":")
	of, _, _ := strings.Cut(rest, "/")
	switch kind + ":" {
	case DeviceSet:
		return "devices of class " + of
	case Kit:
		return "sets of devices of " + strings.ReplaceAll(of, "+", ", ")
	}
	return name
}

// ForClaims tells whether an amount is one of devices that are counted for claims.
func ForClaims(name string) bool {
	return strings.HasPrefix(name, DeviceSet) || strings.HasPrefix(name, Kit)
}

// List is an amount for each named resource; a missing name is 0.
type List map[string]int64

// Add returns a+b, held at the limits of int64.
func Add(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// Sub returns a-b, held at the limits of int64.
func Sub(a, b int64) int64 {
	if b == math.MinInt64 {
		return Add(Add(a, math.MaxInt64), 1)
	}
	return Add(a, -b)
}

// Mul returns a*b for b ≥ 0, held at the limits of int64.
func Mul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if product := a * b; product/b == a {
		return product
	}
	if a < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// AddTo adds other, times n, to the list.
func (l List) AddTo(other List, n int64) {
	for name, amount := range other {
		l[name] = Add(l[name], Mul(amount, n))
	}
}

// Times returns the list, each amount n times.
func (l List) Times(n int64) List {
	product := make(List, len(l))
	product.AddTo(l, n)
	return product
}

// Over returns the list that n times is this one.
func (l List) Over(n int64) List {
	part := make(List, len(l))
	for name, amount := range l {
		part[name] = amount / n
	}
	return part
}

// Max returns the larger amount of each resource.
func Max(a, b List) List {
	larger := make(List, len(a))
	for name, amount := range a {
		larger[name] = max(amount, b[name])
	}
	for name, amount := range b {
		larger[name] = max(amount, a[name])
	}
	return larger
}

// Names returns the names in the list, sorted.
func (l List) Names() []string {
	names := make([]string, 0, len(l))
	for name := range l {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Limit is what an amount that cannot be counted is held at: more than any
// quota or node has.
const Limit int64 = math.MaxInt64

// FlavorOf is the flavor of the first of some names of a resource that has one, else
// where the pods are.
func FlavorOf(flavors map[string]string, names ...string) string {
	for _, name := range names {
		if flavor, ok := flavors[name]; ok {
			return flavor
		}
	}
	return flavors[Pods]
}
