package engine

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// meaning is what is known of a term: a type of the contract or, below custom, of
// which the contract knows nothing, the values that the data has there.
type meaning struct {
	t      reflect.Type
	values []any
	path   string // of the values: custom.caps[…].gpus
}

// mostValues are looked at where a rule picks one of many.
const mostValues = 256

func typed[T any]() meaning { return meaning{t: reflect.TypeFor[T]()} }

func (m meaning) known() bool { return m.t != nil || len(m.values) > 0 }

// kinds are the forms that it has in a policy, each once; none if nothing is known.
func (m meaning) kinds() []string {
	var kinds []string
	if m.t != nil {
		kinds = append(kinds, kindOfType(m.t))
	}
	for _, value := range m.values {
		kinds = append(kinds, kindOfValue(value))
	}
	slices.Sort(kinds)
	return slices.DeleteFunc(slices.Compact(kinds), func(kind string) bool { return kind == "" })
}

// key is what the keys of its elements are.
func (m meaning) key() meaning {
	switch kinds := m.kinds(); {
	case len(kinds) != 1 || m.t != nil && m.t.Kind() == reflect.Struct:
	case kinds[0] == "an object":
		return typed[string]()
	case kinds[0] == "an array":
		return typed[int64]()
	}
	return meaning{}
}

// element is any element of it.
func (m meaning) element() meaning {
	if m.t == nil {
		return m.below("[…]", func(value any) []any {
			switch value := value.(type) {
			case []any:
				return value
			case map[string]any:
				var all []any
				for _, key := range slices.Sorted(maps.Keys(value)) {
					all = append(all, value[key])
				}
				return all
			}
			return nil
		})
	}
	if m.t.Kind() == reflect.Map || m.t.Kind() == reflect.Slice {
		return meaning{t: knownType(m.t.Elem())}
	}
	return meaning{}
}

func (m meaning) below(step string, of func(any) []any) meaning {
	next := meaning{path: m.path + step}
	for _, value := range m.values {
		next.values = append(next.values, of(value)...)
	}
	next.values = next.values[:min(len(next.values), mostValues)]
	return next
}

// step is what an element of m is.
func (i *inferences) step(m meaning, element *ast.Term) meaning {
	switch name, constant := element.Value.(ast.String); {
	case m.t == nil && constant:
		return m.below(refText("", string(name)), func(value any) []any {
			object, _ := value.(map[string]any)
			if below, there := object[string(name)]; there {
				return []any{below}
			}
			return nil
		})
	case m.t == nil || m.t.Kind() == reflect.Map, m.t.Kind() == reflect.Slice:
		return m.element()
	case m.t.Kind() != reflect.Struct || !constant:
	case m.t == reflect.TypeFor[policies.Config]() && name == "custom":
		return meaning{values: []any{i.custom}, path: "custom"}
	case m.t == reflect.TypeFor[policies.Input]() && name == "capacity":
		// What the catalog sees of the machines is not what hold sees.
	default:
		return meaning{t: fieldType(m.t, string(name))}
	}
	return meaning{}
}

func fieldType(t reflect.Type, name string) reflect.Type {
	for n := range t.NumField() {
		if tag := t.Field(n).Tag.Get("json"); tag == name || strings.HasPrefix(tag, name+",") {
			return knownType(t.Field(n).Type)
		}
	}
	return nil
}

// knownType leaves out what has another form in data than in Go.
func knownType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[policies.Amounts]() || t == reflect.TypeFor[policies.Limit]() || t == reflect.TypeFor[policies.OrderKey]() || t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// kindOfType is the form of a type in a policy.
func kindOfType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return ""
}

// kindOfValue is the form of a value of the data; nothing is known of null.
func kindOfValue(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case json.Number, int, int64, uint64, float64:
		return "a number"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return ""
}

// looksLikeNumbers: all texts of m are numbers that somebody has put in quotes.
func (m meaning) looksLikeNumbers() bool {
	return len(m.values) > 0 && !slices.ContainsFunc(m.values, func(value any) bool {
		text, isText := value.(string)
		_, err := strconv.ParseFloat(text, 64)
		return isText && err != nil
	})
}
