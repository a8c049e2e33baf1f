package engine

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// constantPath is the constant beginning of a ref, without its root.
func constantPath(ref ast.Ref) []string {
	var path []string
	for _, term := range ref[1:] {
		key, ok := term.Value.(ast.String)
		if !ok {
			break
		}
		path = append(path, string(key))
	}
	return path
}

// checkRead refuses a read of what is not granted, or not there. by is the rule of
// ours that reads it for one of the author's; empty if that does so itself.
func checkRead(f field, root string, path []string, by string) (message, try string) {
	if len(path) == 0 {
		return "", "" // all of it: what isn't granted simply isn't there
	}
	if root == "input" {
		return checkInputRead(f, path, by)
	}
	return checkDataRead(path)
}

func checkInputRead(f field, path []string, by string) (message, try string) {
	known := mayRead(f.group)
	if f.group == groupCatalog && slices.Contains(known, path[0]) {
		if f.name == "flavors" {
			return "catalog.flavors cannot depend on " + path[0] + ": machines are counted by flavor, and verdicts name them", "flavors from config alone"
		}
		return checkPath(reflect.TypeFor[policies.CatalogInput](), "input", path)
	}
	if slices.Contains(known, path[0]) {
		return checkPath(reflect.TypeFor[policies.Input](), "input", path)
	}
	part := "input." + path[0]
	if message, try = whyNot(f.group, path[0]); message != "" {
		if by != "" {
			message = by + " reads " + part + ", and " + message
		}
		if strings.HasPrefix(message, f.path()+" ") {
			return message, try
		}
		return f.path() + ": " + message, try
	}
	if slices.Contains(inputParts(), path[0]) {
		message = f.path() + " does not see " + part
		if by != "" {
			message = by + " reads " + part + ", which " + f.path() + " does not see"
		}
		if f.shape != shapeReasons { // what it gives, no other group can give
			return message, "one of input." + strings.Join(known, ", input.")
		}
		return message, "the same in " + seenBy(path[0])
	}
	return noSuch("input", path[0], known)
}

// seenBy are the groups that see a part of input; of those that are not about one
// workload nothing is said where others see it, too.
func seenBy(part string) string {
	var names []string
	for _, group := range groups() {
		if slices.Contains(mayRead(group), part) && group != groupCatalog && (group != groupProtect || len(names) == 0) {
			names = append(names, group)
		}
	}
	if len(names) == 1 {
		return names[0] + ", which sees it"
	}
	return strings.Join(names, " or ") + ", which see it"
}

// checkDataRead refuses references to data that no bundle can have.
func checkDataRead(path []string) (message, try string) {
	full := "data." + strings.Join(path, ".")
	switch {
	case path[0] != "holdshort":
		return "there is no " + full, "data.holdshort.config"
	case len(path) > 1 && path[1] != "config":
		return "there is no " + full + ", neither rule nor data", "data.holdshort.config, or a rule of that name"
	case len(path) > 2:
		return checkPath(reflect.TypeFor[policies.Config](), "data.holdshort.config", path[2:])
	}
	return "", ""
}

// checkPath follows a path through the contract's types: a misspelt name would
// be undefined for ever.
func checkPath(t reflect.Type, parent string, path []string) (message, try string) {
	for _, name := range path {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			if t == reflect.TypeFor[policies.Limit]() {
				return "", "" // may also be a bare amount
			}
			below, there := fieldNamed(t, name)
			if !there {
				_, known := structFields(t)
				return noSuch(parent, name, known)
			}
			t = below.Type
		default:
			return "", ""
		}
		parent = refText(parent, name)
	}
	return "", ""
}

func refText(parent, name string) string {
	if isPlain(name) && !strings.Contains(name, "-") {
		return parent + "." + name
	}
	return parent + "[" + strconv.Quote(name) + "]"
}

func noSuch(parent, name string, known []string) (message, try string) {
	message = "there is no " + refText(parent, name)
	if guess := nearest(name, known); guess != "" {
		return message, refText(parent, guess)
	}
	return message, "one of " + strings.Join(known, ", ")
}
