package engine

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// encoder builds a policy's input straight from the Go values: a detour over
// JSON would cost more than the evaluation.
type encoder struct {
	fields map[reflect.Type][]seenField // all of them
	whole  *view                        // below maps and lists all is built
}

// seenField is a field of which a view sees something.
type seenField struct {
	inputField
	part *view
}

// inputField is one field of a struct of the contract. A field with omitempty
// is absent while it is zero; all others are always there, so that rules never
// meet null.
type inputField struct {
	name     string
	key      *ast.Term
	position int
	omit     bool
}

func newEncoder() *encoder {
	e := &encoder{fields: map[reflect.Type][]seenField{}, whole: &view{all: true}}
	e.learn(reflect.TypeFor[policies.Input]())
	e.learn(reflect.TypeFor[policies.CatalogInput]())
	return e
}

func (e *encoder) learn(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		e.learn(t.Elem())
	case reflect.Struct:
		if _, known := e.fields[t]; known {
			return
		}
		fields := make([]seenField, 0, t.NumField())
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			fields = append(fields, seenField{inputField{name, ast.StringTerm(name), i, strings.Contains(options, "omit")}, e.whole})
		}
		e.fields[t] = fields
		for i := range t.NumField() {
			e.learn(t.Field(i).Type)
		}
	}
}

// in are the fields of a struct that a view sees, in the order of the struct; nil
// for a struct that is not of the contract.
func (e *encoder) in(t reflect.Type, seen *view) []seenField {
	switch {
	case seen == nil:
		return []seenField{}
	case seen.all:
		return e.fields[t]
	case seen.of == t:
		return seen.fields
	case e.fields[t] == nil:
		return nil
	}
	some := make([]seenField, 0, len(seen.parts))
	for _, f := range e.fields[t] {
		if part := seen.parts[f.name]; part != nil {
			some = append(some, seenField{f.inputField, part})
		}
	}
	return some
}

// bind has a view know the fields of what it is of, so that they are not looked up
// for each document. It must not be changed afterwards.
func (e *encoder) bind(seen *view, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if seen == nil || seen.all || t.Kind() != reflect.Struct {
		return
	}
	seen.fields = e.in(t, seen)
	seen.of = t
	for _, f := range seen.fields {
		e.bind(f.part, t.Field(f.position).Type)
	}
}

// value is what the view sees of the document that a pointer leads to.
func (e *encoder) value(document any, seen *view) (ast.Value, error) {
	term, err := e.term(reflect.ValueOf(document).Elem(), seen)
	if err != nil {
		return nil, err
	}
	return term.Value, nil
}

func (e *encoder) term(v reflect.Value, seen *view) (*ast.Term, error) {
	switch v.Kind() {
	case reflect.Pointer:
		return e.term(v.Elem(), seen)
	case reflect.Struct:
		return e.object(v, seen)
	case reflect.Map:
		return e.mapping(v, seen)
	case reflect.Slice:
		return e.array(v)
	case reflect.String:
		return ast.InternedTerm(v.String()), nil
	case reflect.Int64:
		return ast.InternedTerm(int(v.Int())), nil
	case reflect.Bool:
		return ast.InternedTerm(v.Bool()), nil
	default:
		return nil, fmt.Errorf("the contract's input has a %s", v.Kind())
	}
}

func (e *encoder) object(v reflect.Value, seen *view) (*ast.Term, error) {
	fields := e.in(v.Type(), seen)
	object := ast.NewObjectWithCapacity(len(fields))
	for i := range fields {
		f := &fields[i]
		if f.omit && v.Field(f.position).IsZero() {
			continue
		}
		value, err := e.term(v.Field(f.position), f.part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		object.Insert(f.key, value)
	}
	return ast.NewTerm(object), nil
}

// mapping builds the keys that the view sees, or all.
func (e *encoder) mapping(v reflect.Value, seen *view) (*ast.Term, error) {
	// The common maps first: reflection over them is the greater part of the cost.
	switch m := v.Interface().(type) {
	case map[string]string:
		return mapTerm(m, seen, ast.StringTerm), nil
	case map[string]int64:
		return mapTerm(m, seen, func(n int64) *ast.Term { return ast.InternedTerm(int(n)) }), nil
	case map[string]any: // the raw Job
		value, err := ast.InterfaceToValue(pruned(m, seen))
		if err != nil {
			return nil, err
		}
		return ast.NewTerm(value), nil
	}
	object := ast.NewObjectWithCapacity(v.Len())
	for _, key := range v.MapKeys() {
		part := seen.part(key.String())
		if part == nil {
			continue
		}
		value, err := e.term(v.MapIndex(key), part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		object.Insert(ast.StringTerm(key.String()), value)
	}
	return ast.NewTerm(object), nil
}

func mapTerm[T any](m map[string]T, seen *view, term func(T) *ast.Term) *ast.Term {
	if seen.all {
		object := ast.NewObjectWithCapacity(len(m))
		for key, value := range m {
			object.Insert(ast.StringTerm(key), term(value))
		}
		return ast.NewTerm(object)
	}
	object := ast.NewObjectWithCapacity(min(len(m), len(seen.parts)))
	for key := range seen.parts {
		if value, there := m[key]; there {
			object.Insert(ast.StringTerm(key), term(value))
		}
	}
	return ast.NewTerm(object)
}

// pruned is what the view sees of a plain object.
func pruned(object map[string]any, seen *view) map[string]any {
	if seen.all {
		return object
	}
	some := make(map[string]any, len(seen.parts))
	for name, part := range seen.parts {
		value, there := object[name]
		if below, ok := value.(map[string]any); ok {
			value = pruned(below, part)
		}
		if there {
			some[name] = value
		}
	}
	return some
}

func (e *encoder) array(v reflect.Value) (*ast.Term, error) {
	if order, ok := v.Interface().([]policies.OrderKey); ok {
		return orderTerm(order), nil
	}
	terms := make([]*ast.Term, v.Len())
	for i := range terms {
		term, err := e.term(v.Index(i), e.whole)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		terms[i] = term
	}
	return ast.NewTerm(ast.NewArray(terms...)), nil
}

// orderTerm is an order as classify said it: numbers and strings.
func orderTerm(order []policies.OrderKey) *ast.Term {
	terms := make([]*ast.Term, len(order))
	for i, key := range order {
		terms[i] = ast.InternedTerm(int(key.Number))
		if key.IsText {
			terms[i] = ast.StringTerm(key.Text)
		}
	}
	return ast.NewTerm(ast.NewArray(terms...))
}
