package dra

import (
	"context"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// kind is what expressions can see of a device. Ten thousand equal cards are one
// kind, and an expression is tried on it once.
type kind struct {
	digest digest
	refs   int
	seen   cel.Device
	known  []answer
}

// answer is what a matcher said of a kind.
type answer struct {
	of      *matcher
	verdict verdict
}

func (s *State) kindOf(driver string, spec *resourceapi.Device) *kind {
	d := digestOf(driver, spec)
	k := s.kinds[d]
	if k == nil {
		k = &kind{digest: d, seen: cel.Device{
			Driver: driver, AllowMultipleAllocations: spec.AllowMultipleAllocations, Attributes: spec.Attributes, Capacity: spec.Capacity,
		}}
		s.kinds[d] = k
	}
	k.refs++
	return k
}

func (s *State) drop(k *kind) {
	if k.refs--; k.refs > 0 {
		return
	}
	delete(s.kinds, k.digest)
}

// verdict on a kind. An error is one for which the scheduler gives a pod up.
type verdict struct {
	yes bool
	err string
}

// matcher tells which devices a request may have: the selectors of its class, then its
// own, in this order, up to the first that says no.
type matcher struct {
	missing string
	tests   []test
	// reads is all that the tests look at; nil if they may look at anything.
	reads *reads
	// said is by what they read: cards that differ by their ids alone are alike.
	said map[string]verdict
	gone bool // nobody asks it any more
}

type test struct{ where, expression string }

func newMatcher(class *resourceapi.DeviceClass, r *request, expressions *cel.Cache) *matcher {
	m := &matcher{said: map[string]verdict{}, reads: &reads{}}
	if class == nil {
		m.missing = fmt.Sprintf("there is no DeviceClass %q", r.class)
		return m
	}
	for i, one := range class.Spec.Selectors {
		m.add(fmt.Sprintf("selector %d of DeviceClass %s", i+1, r.class), one, expressions)
	}
	for i, one := range r.selectors {
		m.add(fmt.Sprintf("selector %d of the claim", i+1), one, expressions)
	}
	if m.reads != nil {
		m.reads.tidy()
	}
	return m
}

func (m *matcher) add(where string, one resourceapi.DeviceSelector, expressions *cel.Cache) {
	expression := ""
	if one.CEL != nil { // else it is of a kind that does not exist yet, and can't be read
		expression = one.CEL.Expression
	}
	m.tests = append(m.tests, test{where, expression})
	compiled := expressions.GetOrCompile(expression)
	if m.reads != nil && (compiled.Error != nil || !m.reads.find(compiled)) {
		m.reads = nil
	}
}

func (m *matcher) on(k *kind, expressions *cel.Cache) verdict {
	for i := range k.known {
		if k.known[i].of == m {
			return k.known[i].verdict
		}
	}
	k.known = slices.DeleteFunc(k.known, func(a answer) bool { return a.of.gone })
	v := m.ask(k, expressions)
	k.known = append(k.known, answer{m, v})
	return v
}

func (m *matcher) ask(k *kind, expressions *cel.Cache) verdict {
	if m.reads == nil {
		return m.try(k, expressions)
	}
	var room [256]byte
	key := m.reads.of(room[:0], &k.seen)
	v, known := m.said[string(key)]
	if !known {
		v = m.try(k, expressions)
		m.said[string(key)] = v
	}
	return v
}

func (m *matcher) try(k *kind, expressions *cel.Cache) verdict {
	if m.missing != "" {
		return verdict{err: m.missing}
	}
	for _, t := range m.tests {
		compiled := expressions.GetOrCompile(t.expression)
		if compiled.Error != nil {
			return verdict{err: fmt.Sprintf("%s can't be compiled: %v", t.where, compiled.Error)}
		}
		yes, _, err := compiled.DeviceMatches(context.Background(), k.seen)
		if err != nil {
			return verdict{err: fmt.Sprintf("%s fails on a device of driver %s: %v", t.where, k.seen.Driver, err)}
		}
		if !yes {
			return verdict{}
		}
	}
	return verdict{yes: true}
}
