package engine

import (
	"maps"
	"reflect"
	"slices"
)

// view is the part of a document that the rules of a group read: only that is
// built, and only that tells two documents apart. all means everything below.
// One with no parts means that somebody asks whether it is there.
type view struct {
	all   bool
	parts map[string]*view
	// of is the struct that the view is known to be of, and fields what it sees.
	of     reflect.Type
	fields []seenField
}

func newView() *view { return &view{parts: map[string]*view{}} }

// part is the view of a field; nil if nobody reads it. A nil view sees nothing.
func (v *view) part(name string) *view {
	switch {
	case v == nil:
		return nil
	case v.all:
		return v
	default:
		return v.parts[name]
	}
}

// touch makes a path visible, and nothing below it.
func (v *view) touch(path []string) *view {
	for _, name := range path {
		if v.all {
			return v
		}
		next, ok := v.parts[name]
		if !ok {
			next = newView()
			v.parts[name] = next
		}
		v = next
	}
	return v
}

// add makes a path visible with everything below it.
func (v *view) add(path []string) {
	v = v.touch(path)
	v.all, v.parts = true, nil
}

// restrict leaves only what the group may see.
func (v *view) restrict(granted []string) *view {
	seen := newView()
	for _, name := range granted {
		if part := v.part(name); part != nil {
			seen.parts[name] = part
		}
	}
	return seen
}

// paths are the deepest paths that the view has, sorted, as Rego writes them.
func (v *view) paths(root string) []string {
	if v == nil {
		return nil
	}
	if v.all || len(v.parts) == 0 {
		return []string{root}
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(v.parts)) {
		paths = append(paths, v.parts[name].paths(refText(root, name))...)
	}
	return paths
}

// keysIn are the keys of a map that the view sees, sorted.
func keysIn[T any](m map[string]T, seen *view) []string {
	if seen == nil {
		return nil
	}
	if seen.all {
		return slices.Sorted(maps.Keys(m))
	}
	keys := make([]string, 0, min(len(seen.parts), len(m)))
	for name := range seen.parts {
		if _, there := m[name]; there {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}
